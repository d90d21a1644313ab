/* MLA decode. H heads share one cache kv [T][DK]: s_j = scale q . kv_j over the rows in use,
 * p = softmax(s), o = sum_j p_j kv_j[0:DV], lse = log sum_j exp(s_j).
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mla-decode.h"

#define KEYS 32
#define ROWS 6
#define LANES 2
#define PANEL 64
#define DEPTH 192
#define SLACK 8
#define PARTS 4
#define AHEAD 1

#define LOWEST -1e30F /* a score that weighs nothing, and no infinity to subtract from another */

#if VECTORS || FASTEXP
/* One vector register of floats, as wide as the machine has them. */
#if defined(__AVX512F__)
#define W 16
#elif defined(__AVX__)
#define W 8
#else
#define W 4
#endif
typedef float vf __attribute__((vector_size(4 * W), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * W), may_alias));

#endif
#if TILES
#define INLINE static inline __attribute__((always_inline))

/* Columns of a register tile, and what the number of heads is rounded up to. */
#if VECTORS
#define NV (LANES * W <= KEYS ? LANES : KEYS / W)
#define NB (NV * W)
#else
#define NB 16
#endif

#if BASE2
/* Scores in base 2: q takes scale / ln 2, and lse its ln 2 back. */
#define FACTOR (scale * 1.44269504F)
#define BACK 0.693147181F
#define EXP exp2f
#define LOG log2f
#else
#define FACTOR scale
#define BACK 1.0F
#define EXP expf
#define LOG logf
#endif

#if FASTEXP
#define NEAREST 12582912.0F /* 1.5 x 2^23: adding it leaves no fraction */

#if BASE2
/* y = 2^x for n values x <= 80, n a multiple of W; relative error below 2e-7; 0 below -126. */
#else
/* y = exp(x) for n values x <= 80, n a multiple of W: 2^i times a polynomial, relative error below
 * 2e-7; 0 below -87. */
#endif
static void exp_row(float *y, const float *x, int n)
{
#pragma GCC unroll 2
    for (int c = 0; c < n; c += W) {
        vf a = *(const vf *)(x + c);
#if BASE2
        vi large = a > -126.0F;
        a = (vf)((vi)a & large);
        vf f = a + NEAREST - NEAREST, r = a - f;
        vf p = r * 1.535336188e-4F + 1.339887440e-3F;
        p = p * r + 9.618437358e-3F;
        p = p * r + 5.550332471e-2F;
        p = p * r + 2.402264791e-1F;
        p = p * r + 6.931472029e-1F;
        p = p * r + 1.0F;
#else
        vi large = a > -87.0F;
        a = (vf)((vi)a & large);
        vf f = a * 1.44269504F + NEAREST - NEAREST;
        vf r = a - f * 0.693359375F + f * 2.12194440e-4F;
        vf p = r * 1.9875691500e-4F + 1.3981999507e-3F;
        p = p * r + 8.3334519073e-3F;
        p = p * r + 4.1665795894e-2F;
        p = p * r + 1.6666665459e-1F;
        p = p * r + 5.0000001201e-1F;
        p = p * (r * r) + r + 1.0F;
#endif
        p *= (vf)((__builtin_convertvector(f, vi) + 127) << 23);
        *(vf *)(y + c) = (vf)((vi)p & large);
    }
}
#else
static void exp_row(float *y, const float *x, int n)
{
    for (int c = 0; c < n; c++)
        y[c] = EXP(x[c]);
}
#endif

/* What one sequence needs, for hp heads (H rounded up); lies in the workspace. */
struct work {
    int hp;
    float *q;          /* scaled queries: [hp][DK], or turned so that heads lie side by side */
#if TWOPASS
    float *s;          /* scores, then their exponentials, of all rows */
#else
    float *s;          /* scores, then their exponentials, of a tile */
#endif
    float *o;          /* sums of rows */
    float *max, *sum;  /* what exponents relate to, and the sum of exponentials */
    float *top, *keep; /* a tile's largest scores; by what earlier sums shrink */
    float *rows;       /* the last tile, filled up with zeros */
#if KEYLANES
    float *turned;     /* a tile [DK][KEYS]: keys lie side by side */
#endif
};

#if VECTORS
/* C [rows][NB] = keep C + A B, B [depth][NB]; A's element (r, d) is A[r * ra + d * da]. The tile of
 * C stays in registers; keep NULL: 1. */
INLINE void tile(const int rows, int depth, const float *A, size_t ra, size_t da, const float *B,
                 size_t ldb, float *C, size_t ldc, const float *keep)
{
    vf acc[ROWS][NV];
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int x = 0; x < NV; x++) {
            acc[r][x] = *(const vf *)(C + r * ldc + x * W);
            if (keep)
                acc[r][x] *= keep[r];
        }
    for (int d = 0; d < depth; d++) {
        vf b[NV];
#pragma GCC unroll 8
        for (int x = 0; x < NV; x++)
            b[x] = *(const vf *)(B + d * ldb + x * W);
#pragma GCC unroll 16
        for (int r = 0; r < rows; r++) {
            float a = A[r * ra + d * da];
#pragma GCC unroll 8
            for (int x = 0; x < NV; x++)
                acc[r][x] += a * b[x];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int x = 0; x < NV; x++)
            *(vf *)(C + r * ldc + x * W) = acc[r][x];
}

/* The same for any even number of rows and cols, a multiple of NB. */
INLINE void product(int rows, int depth, const float *A, size_t ra, size_t da, const float *B,
                    size_t ldb, float *C, size_t ldc, int cols, const float *keep)
{
    for (int j = 0; j < cols; j += NB) {
        int r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            tile(ROWS, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
        for (; r < rows; r += 2)
            tile(2, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
    }
}
#else
/* C [rows][cols] = keep C + A B, B [depth][cols]; A's element (r, d) is A[r * ra + d * da]. The
 * outer loop runs over the longer side, so that the other two stay near; keep NULL: 1. */
INLINE void product(int rows, int depth, const float *A, size_t ra, size_t da,
                    const float *restrict B, size_t ldb, float *restrict C, size_t ldc, int cols,
                    const float *keep)
{
    if (keep)
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < cols; j++)
                C[r * ldc + j] *= keep[r];
    if (depth > rows) {
        for (int d = 0; d < depth; d++)
            for (int r = 0; r < rows; r++) {
                float a = A[r * ra + d * da];
                for (int j = 0; j < cols; j++)
                    C[r * ldc + j] += a * B[d * ldb + j];
            }
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int d = 0; d < depth; d++) {
            float a = A[r * ra + d * da];
            for (int j = 0; j < cols; j++)
                C[r * ldc + j] += a * B[d * ldb + j];
        }
}
#endif

#if LATENT
#define STEP DEPTH
#else
#define STEP DK
#endif

#if HEADLANES
/* ---- scores [KEYS][hp]: heads in the lanes, elements of the cache broadcast as they lie */

static void take_queries(struct work *w, const float *q, int H, float factor)
{
    for (int h = 0; h < w->hp; h++)
        for (int c = 0; c < DK; c++) {
#if PANELS
            size_t at = ((size_t)(h / NB) * DK + c) * NB + h % NB;
#else
            size_t at = (size_t)c * w->hp + h;
#endif
            w->q[at] = h < H ? factor * q[(size_t)h * DK + c] : 0;
        }
}

static void scores(struct work *w, const float *rows, float *s)
{
    memset(s, 0, sizeof(float) * KEYS * w->hp);
#if PANELS
    for (int j = 0; j < w->hp; j += NB)
        for (int d = 0; d < DK; d += STEP)
            product(KEYS, STEP, rows + d, DK, 1, w->q + (size_t)j * DK + d * NB, NB, s + j, w->hp,
                    NB, NULL);
#else
    for (int d = 0; d < DK; d += STEP)
        product(KEYS, STEP, rows + d, DK, 1, w->q + (size_t)d * w->hp, w->hp, s, w->hp, w->hp,
                NULL);
#endif
}

/* Score (h, j) is s[h * HSTEP + j * JSTEP]. */
#define HSTEP 1
#define JSTEP w->hp

static void largest(struct work *w, float *s, int n)
{
    for (int h = 0; h < w->hp; h++)
        w->top[h] = LOWEST;
    for (int j = 0; j < n; j++)
        for (int h = 0; h < w->hp; h++) {
            float x = s[j * w->hp + h];
            w->top[h] = x > w->top[h] ? x : w->top[h];
        }
    for (int j = n * w->hp; j < KEYS * w->hp; j++)
        s[j] = LOWEST;
}

/* Scores become exponentials, and are added up. */
static void soften(struct work *w, float *restrict s)
{
    const float *restrict max = w->max;
    float *restrict sum = w->sum;
    for (int j = 0; j < KEYS; j++, s += w->hp) {
        for (int h = 0; h < w->hp; h++)
            s[h] -= max[h];
        exp_row(s, s, w->hp);
        for (int h = 0; h < w->hp; h++)
            sum[h] += s[h];
    }
}
#else
/* ---- scores [hp][KEYS] */

static void take_queries(struct work *w, const float *q, int H, float factor)
{
    for (int h = 0; h < w->hp; h++)
        for (int c = 0; c < DK; c++)
            w->q[(size_t)h * DK + c] = h < H ? factor * q[(size_t)h * DK + c] : 0;
}

#if KEYLANES
static void scores(struct work *w, const float *rows, float *s)
{
    for (int j0 = 0; j0 < KEYS; j0 += 16) /* whole cache lines are written */
        for (int c = 0; c < DK; c++)
            for (int j = j0; j < j0 + 16; j++)
                w->turned[c * KEYS + j] = rows[(size_t)j * DK + c];
    memset(s, 0, sizeof(float) * KEYS * w->hp);
    for (int d = 0; d < DK; d += STEP)
        product(w->hp, STEP, w->q + d, DK, 1, w->turned + d * KEYS, KEYS, s, KEYS, KEYS, NULL);
}
#elif VECTORS
/* Two heads by four keys: eight sums, added over their lanes at the end. */
static void scores(struct work *w, const float *rows, float *s)
{
    memset(s, 0, sizeof(float) * KEYS * w->hp);
    for (int d = 0; d < DK; d += STEP)
        for (int h = 0; h < w->hp; h += 2)
            for (int j = 0; j < KEYS; j += 4) {
                const float *a = w->q + (size_t)h * DK + d, *b = rows + (size_t)j * DK + d;
                vf acc[2][4] = {{{0}}};
                for (int c = 0; c < STEP; c += W)
#pragma GCC unroll 4
                    for (int y = 0; y < 4; y++)
#pragma GCC unroll 2
                        for (int x = 0; x < 2; x++)
                            acc[x][y] +=
                                *(const vf *)(a + x * DK + c) * *(const vf *)(b + y * DK + c);
                for (int x = 0; x < 2; x++)
                    for (int y = 0; y < 4; y++)
                        for (int l = 0; l < W; l++)
                            s[(h + x) * KEYS + j + y] += acc[x][y][l];
            }
}
#else
static void scores(struct work *w, const float *rows, float *s)
{
    memset(s, 0, sizeof(float) * KEYS * w->hp);
    for (int d = 0; d < DK; d += STEP)
        for (int h = 0; h < w->hp; h++)
            for (int j = 0; j < KEYS; j++) {
                const float *a = w->q + (size_t)h * DK + d, *b = rows + (size_t)j * DK + d;
                float acc[32] = {0};
                for (int c = 0; c < STEP; c += 32)
                    for (int l = 0; l < 32; l++)
                        acc[l] += a[c + l] * b[c + l];
                for (int l = 0; l < 32; l++)
                    s[h * KEYS + j] += acc[l];
            }
}
#endif

/* Score (h, j) is s[h * HSTEP + j * JSTEP]. */
#define HSTEP KEYS
#define JSTEP 1

static void largest(struct work *w, float *s, int n)
{
    for (int h = 0; h < w->hp; h++, s += KEYS) {
        float top = LOWEST;
        for (int j = 0; j < n; j++)
            top = s[j] > top ? s[j] : top;
        for (int j = n; j < KEYS; j++)
            s[j] = LOWEST;
        w->top[h] = top;
    }
}

/* Scores become exponentials, and are added up. */
static void soften(struct work *w, float *s)
{
    for (int h = 0; h < w->hp; h++, s += KEYS) {
        float part[16] = {0};
        for (int j = 0; j < KEYS; j++)
            s[j] -= w->max[h];
        exp_row(s, s, KEYS);
        for (int j = 0; j < KEYS; j += 16)
            for (int l = 0; l < 16; l++)
                part[l] += s[j + l];
        for (int l = 0; l < 16; l++)
            w->sum[h] += part[l];
    }
}
#endif

#if !TWOPASS
/* New maxima; true when sums so far have to shrink, by keep. */
static int raise(struct work *w)
{
#if LAZY
    /* An old maximum serves until exponentials grow beyond exp(SLACK). */
    int rose = 0;
    for (int h = 0; h < w->hp; h++)
        rose |= w->top[h] > w->max[h] + SLACK;
    if (!rose)
        return 0;
    for (int h = 0; h < w->hp; h++)
        w->top[h] = w->top[h] > w->max[h] + SLACK ? w->top[h] : w->max[h];
#endif
    for (int h = 0; h < w->hp; h++) {
        float m = w->top[h] > w->max[h] ? w->top[h] : w->max[h];
        w->keep[h] = w->max[h] - m;
        w->max[h] = m;
    }
    exp_row(w->keep, w->keep, w->hp);
    for (int h = 0; h < w->hp; h++)
        w->sum[h] *= w->keep[h];
    return 1;
}
#endif

/* Where head h has its channels from c on: rows of DV, or panels of PANEL. */
#if PANELS
#define COLS PANEL
#define OUT(h, c) (((size_t)((c) / PANEL) * w->hp + (h)) * PANEL + (c) % PANEL)
#else
#define COLS DV
#define OUT(h, c) ((size_t)(h)*DV + (c))
#endif

/* o = keep o + p rows, n of them; keep NULL: 1. */
static void gather(struct work *w, const float *s, const float *rows, int n, const float *keep)
{
#if !FOLD
    if (keep)
        for (int c = 0; c < DV; c += COLS)
            for (int h = 0; h < w->hp; h++)
                for (int x = 0; x < COLS; x++)
                    w->o[OUT(h, c) + x] *= keep[h];
    keep = NULL;
#endif
    for (int c = 0; c < DV; c += COLS)
        product(w->hp, n, s, HSTEP, JSTEP, rows + c, DK, w->o + OUT(0, c), COLS, COLS, keep);
}

/* A tile's rows: where they lie, or, past the end of the cache, a copy filled up with zeros. */
static const float *take_rows(struct work *w, const float *kv, int n)
{
    if (n == KEYS)
        return kv;
    memset(w->rows, 0, sizeof(float) * KEYS * DK);
    memcpy(w->rows, kv, sizeof(float) * (size_t)n * DK);
    return w->rows;
}

/* Rows from .. to - 1 of the cache. */
static void attend(struct work *w, const float *kv, int from, int to)
{
    memset(w->o, 0, sizeof(float) * (size_t)w->hp * DV);
    for (int h = 0; h < w->hp; h++)
        w->max[h] = LOWEST, w->sum[h] = 0;
#if TWOPASS
    for (int j = from; j < to; j += KEYS) {
        int n = to - j < KEYS ? to - j : KEYS;
        float *s = w->s + (size_t)(j - from) * w->hp;
        scores(w, take_rows(w, kv + (size_t)j * DK, n), s);
        largest(w, s, n);
        for (int h = 0; h < w->hp; h++)
            w->max[h] = w->top[h] > w->max[h] ? w->top[h] : w->max[h];
    }
#endif
    for (int j = from; j < to; j += KEYS) {
        int n = to - j < KEYS ? to - j : KEYS;
        const float *rows = kv + (size_t)j * DK;
#if TWOPASS
        float *s = w->s + (size_t)(j - from) * w->hp;
        soften(w, s);
        gather(w, s, rows, n, NULL);
#else
        scores(w, take_rows(w, rows, n), w->s);
#if PREFETCH
        for (int i = j + AHEAD * KEYS; i < j + (AHEAD + 1) * KEYS && i < to; i++)
            for (int c = 0; c < DK; c += 16)
                __builtin_prefetch(kv + (size_t)i * DK + c, 0, 2);
#endif
        largest(w, w->s, n);
        const float *keep = raise(w) ? w->keep : NULL;
        soften(w, w->s);
        gather(w, w->s, rows, n, keep);
#endif
    }
}

static float *carve(float **at, size_t n)
{
    float *p = *at;
    *at += (n + 15) / 16 * 16;
    return p;
}

void mla_decode(int B, int T, int H, const float *q, const float *kv, const float *unused,
                float scale, float *o, float *lse, void *ws)
{
    float *at = ws;
    struct work work = {.hp = (H + NB - 1) / NB * NB}, *w = &work;
    size_t hp = (size_t)w->hp;
    w->q = carve(&at, hp * DK);
    w->max = carve(&at, hp);
    w->sum = carve(&at, hp);
    w->top = carve(&at, hp);
    w->keep = carve(&at, hp);
    w->rows = carve(&at, KEYS * DK);
#if KEYLANES
    w->turned = carve(&at, KEYS * DK);
#endif
    w->o = carve(&at, hp * DV);
#if SPLITKV
    float *total = carve(&at, hp * DV), *most = carve(&at, hp), *all = carve(&at, hp);
#endif
    w->s = at;
    for (int b = 0; b < B; b++) {
        int n = T - (int)(unused[b] * (float)T);
        const float *rows = kv + (size_t)b * T * DK;
        take_queries(w, q + (size_t)b * H * DK, H, FACTOR);
#if SPLITKV
        int part = (n / PARTS + KEYS) / KEYS * KEYS;
        memset(total, 0, sizeof(float) * hp * DV);
        for (int h = 0; h < w->hp; h++)
            most[h] = LOWEST, all[h] = 0;
        for (int from = 0; from < n; from += part) {
            attend(w, rows, from, n - from < part ? n : from + part);
            for (int h = 0; h < w->hp; h++) {
                float m = w->max[h] > most[h] ? w->max[h] : most[h];
                float x = EXP(most[h] - m), y = EXP(w->max[h] - m);
                all[h] = x * all[h] + y * w->sum[h];
                most[h] = m;
                for (int c = 0; c < DV; c += COLS)
                    for (int i = 0; i < COLS; i++)
                        total[OUT(h, c) + i] = x * total[OUT(h, c) + i] + y * w->o[OUT(h, c) + i];
            }
        }
        const float *sums = total, *max = most, *sum = all;
#else
        attend(w, rows, 0, n);
        const float *sums = w->o, *max = w->max, *sum = w->sum;
#endif
        for (int h = 0; h < H; h++) {
            float inverse = n > 0 ? 1 / sum[h] : 0;
            float *out = o + ((size_t)b * H + h) * DV;
            for (int c = 0; c < DV; c += COLS)
                for (int i = 0; i < COLS; i++)
                    out[c + i] = inverse * sums[OUT(h, c) + i];
            lse[(size_t)b * H + h] = n > 0 ? BACK * (max[h] + LOG(sum[h])) : 0;
        }
    }
}
#else
/* A sum of products; the compiler may not reorder one sum, so there are several. */
static float dot(const float *restrict a, const float *restrict b)
{
#if VECTORS
    vf s[4] = {{0}};
    float sum = 0;
    for (int c = 0; c < DK; c += 4 * W)
#pragma GCC unroll 4
        for (int x = 0; x < 4; x++)
            s[x] += *(const vf *)(a + c + x * W) * *(const vf *)(b + c + x * W);
    s[0] = (s[0] + s[1]) + (s[2] + s[3]);
    for (int l = 0; l < W; l++)
        sum += s[0][l];
    return sum;
#else
    float s[32] = {0}, sum = 0;
    for (int c = 0; c < DK; c += 32)
        for (int l = 0; l < 32; l++)
            s[l] += a[c + l] * b[c + l];
    for (int l = 0; l < 32; l++)
        sum += s[l];
    return sum;
#endif
}

/* One head over n rows, online softmax row by row. */
static void head(const float *restrict q, const float *restrict kv, int n, float scale,
                 float *restrict o, float *lse)
{
    float max = LOWEST, sum = 0;
    memset(o, 0, sizeof(float) * DV);
    for (int j = 0; j < n; j++) {
        const float *row = kv + (size_t)j * DK;
#if PREFETCH
        if (j + AHEAD < n)
            for (int c = 0; c < DK; c += 16)
                __builtin_prefetch(row + AHEAD * DK + c, 0, 3);
#endif
        float s = scale * dot(q, row);
#if LAZY
        /* An old maximum serves until exponentials grow beyond exp(SLACK). */
        if (s > max + SLACK) {
            float a = expf(max - s);
            for (int c = 0; c < DV; c++)
                o[c] *= a;
            sum *= a;
            max = s;
        }
        float p = expf(s - max);
        sum += p;
        for (int c = 0; c < DV; c++)
            o[c] += p * row[c];
#else
        float m = s > max ? s : max, a = expf(max - m), p = expf(s - m);
        sum = a * sum + p;
        for (int c = 0; c < DV; c++)
            o[c] = a * o[c] + p * row[c];
        max = m;
#endif
    }
    for (int c = 0; c < DV && n > 0; c++)
        o[c] /= sum;
    *lse = n > 0 ? max + logf(sum) : 0;
}

void mla_decode(int B, int T, int H, const float *q, const float *kv, const float *unused,
                float scale, float *o, float *lse, void *ws)
{
    (void)ws;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * H + h;
            head(q + at * DK, kv + (size_t)b * T * DK, T - (int)(unused[b] * (float)T), scale,
                 o + at * DV, lse + at);
        }
}
#endif
