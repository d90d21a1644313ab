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
#define SLACK 8

#define LOWEST -1e30F /* a score that weighs nothing, and no infinity to subtract from another */

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

#define INLINE static inline __attribute__((always_inline))

/* Columns of a register tile, and what the number of heads is rounded up to. */
#define NV (LANES * W <= KEYS ? LANES : KEYS / W)
#define NB (NV * W)

#define FACTOR scale
#define BACK 1.0F
#define EXP expf
#define LOG logf

#define NEAREST 12582912.0F /* 1.5 x 2^23: adding it leaves no fraction */

/* y = exp(x) for n values x <= 80, n a multiple of W: 2^i times a polynomial, relative error below
 * 2e-7; 0 below -87. */
static void exp_row(float *y, const float *x, int n)
{
#pragma GCC unroll 2
    for (int c = 0; c < n; c += W) {
        vf a = *(const vf *)(x + c);
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
        p *= (vf)((__builtin_convertvector(f, vi) + 127) << 23);
        *(vf *)(y + c) = (vf)((vi)p & large);
    }
}

/* What one sequence needs, for hp heads (H rounded up); lies in the workspace. */
struct work {
    int hp;
    float *q;          /* scaled queries: [hp][DK], or turned so that heads lie side by side */
    float *s;          /* scores, then their exponentials, of a tile */
    float *o;          /* sums of rows */
    float *max, *sum;  /* what exponents relate to, and the sum of exponentials */
    float *top, *keep; /* a tile's largest scores; by what earlier sums shrink */
    float *rows;       /* the last tile, filled up with zeros */
};

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

#define STEP DK

/* ---- scores [KEYS][hp]: heads in the lanes, elements of the cache broadcast as they lie */

static void take_queries(struct work *w, const float *q, int H, float factor)
{
    for (int h = 0; h < w->hp; h++)
        for (int c = 0; c < DK; c++) {
            size_t at = ((size_t)(h / NB) * DK + c) * NB + h % NB;
            w->q[at] = h < H ? factor * q[(size_t)h * DK + c] : 0;
        }
}

static void scores(struct work *w, const float *rows, float *s)
{
    memset(s, 0, sizeof(float) * KEYS * w->hp);
    for (int j = 0; j < w->hp; j += NB)
        for (int d = 0; d < DK; d += STEP)
            product(KEYS, STEP, rows + d, DK, 1, w->q + (size_t)j * DK + d * NB, NB, s + j, w->hp,
                    NB, NULL);
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

/* New maxima; true when sums so far have to shrink, by keep. */
static int raise(struct work *w)
{
    /* An old maximum serves until exponentials grow beyond exp(SLACK). */
    int rose = 0;
    for (int h = 0; h < w->hp; h++)
        rose |= w->top[h] > w->max[h] + SLACK;
    if (!rose)
        return 0;
    for (int h = 0; h < w->hp; h++)
        w->top[h] = w->top[h] > w->max[h] + SLACK ? w->top[h] : w->max[h];
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

/* Where head h has its channels from c on: rows of DV, or panels of PANEL. */
#define COLS PANEL
#define OUT(h, c) (((size_t)((c) / PANEL) * w->hp + (h)) * PANEL + (c) % PANEL)

/* o = keep o + p rows, n of them; keep NULL: 1. */
static void gather(struct work *w, const float *s, const float *rows, int n, const float *keep)
{
    if (keep)
        for (int c = 0; c < DV; c += COLS)
            for (int h = 0; h < w->hp; h++)
                for (int x = 0; x < COLS; x++)
                    w->o[OUT(h, c) + x] *= keep[h];
    keep = NULL;
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
    for (int j = from; j < to; j += KEYS) {
        int n = to - j < KEYS ? to - j : KEYS;
        const float *rows = kv + (size_t)j * DK;
        scores(w, take_rows(w, rows, n), w->s);
        largest(w, w->s, n);
        const float *keep = raise(w) ? w->keep : NULL;
        soften(w, w->s);
        gather(w, w->s, rows, n, keep);
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
    w->o = carve(&at, hp * DV);
    w->s = at;
    for (int b = 0; b < B; b++) {
        int n = T - (int)(unused[b] * (float)T);
        const float *rows = kv + (size_t)b * T * DK;
        take_queries(w, q + (size_t)b * H * DK, H, FACTOR);
        attend(w, rows, 0, n);
        const float *sums = w->o, *max = w->max, *sum = w->sum;
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
