/* KDA forward. Per head, with a state S [K][V] and for every token
 *     S = diag(exp g) S,   r = v - k^T S,   S += beta k (x) r,   o = scale q^T S.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kda.h"

#define CHUNK 12
#define VBLOCK 16
#define ROWS 6
#define LANES 2
#define AHEAD 1

#define ALIGNED __attribute__((aligned(64)))
#define INLINE static inline __attribute__((always_inline))

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

/* The state is kept as panels of NB columns, each contiguous: one fits the first-level cache. */
#define NB VBLOCK
/* Vectors of a register tile: as asked for, as far as a panel has them. */
#define NV (LANES * W <= NB ? LANES : NB / W)

/* y = exp(x) for K values x <= 0: 2^n times a polynomial, relative error below 2e-7; 0 below -87. */
static void exp_row(float *y, const float *x)
{
    for (int c = 0; c < K; c += W) {
        vf a = *(const vf *)(x + c);
        vi n = __builtin_convertvector(a * 1.44269504F - 0.5F, vi);
        vf f = __builtin_convertvector(n, vf);
        vf r = a - f * 0.693359375F + f * 2.12194440e-4F;
        vf p = r * 1.9875691500e-4F + 1.3981999507e-3F;
        p = p * r + 8.3334519073e-3F;
        p = p * r + 4.1665795894e-2F;
        p = p * r + 1.6666665459e-1F;
        p = p * r + 5.0000001201e-1F;
        p = p * (r * r) + r + 1.0F;
        p *= (vf)((n + 127) << 23);
        *(vf *)(y + c) = (vf)((vi)p & (a > -87.0F));
    }
}

static void load_state(float *S, const float *S0)
{
    for (int p = 0; p < V / NB; p++)
        for (int i = 0; i < K; i++)
            memcpy(S + (p * K + i) * NB, S0 + i * V + p * NB, sizeof(float) * NB);
}

static void store_state(float *ST, const float *S)
{
    for (int p = 0; p < V / NB; p++)
        for (int i = 0; i < K; i++)
            memcpy(ST + i * V + p * NB, S + (p * K + i) * NB, sizeof(float) * NB);
}

/* What a chunk of tokens is to the state, without the state itself. With G the running sum of g
 * from the chunk's start and G' its last row: */
struct chunk {
    float e[CHUNK][K];         /* exp(g) */
    float kq[2 * CHUNK][K];    /* -k exp(G), then scale q exp(G) */
    float kr[CHUNK][K];        /* k exp(G' - G) */
    float keep[K];             /* exp(G') */
    float L[CHUNK][CHUNK];     /* beta_i k_i k_j exp(G_i - G_j), j < i */
    float A[CHUNK][CHUNK];     /* scale q_i k_j exp(G_i - G_j), j <= i */
    float beta[CHUNK];
} ALIGNED;

/* The rows of a chunk; those past the end of the sequence are zeros. */
struct rows {
    const float *q[CHUNK], *k[CHUNK], *v[CHUNK], *g[CHUNK];
    const float *soon[5 * CHUNK]; /* rows of a later chunk, to be asked for */
    int nsoon;
};

static const float zeros[K > V ? K : V] ALIGNED;

/* C [rows][cols] = keep C + A B, B [depth][cols]; A's element (r, d) is A[r * ra + d * da]. The
 * tile of C stays in registers; keep NULL: 1. */
INLINE void tile(const int rows, const int depth, const float *A, size_t ra, size_t da,
                 const float *B, size_t ldb, float *C, size_t ldc, const float *keep)
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

/* Tiles of ROWS rows; where few would be left over, which leave the multipliers idle, the last two
 * tiles share. */
INLINE void product(const int rows, const int depth, const float *A, size_t ra, size_t da,
                    const float *B, size_t ldb, float *C, size_t ldc, const int cols,
                    const float *keep)
{
    const int over = rows % ROWS;
    const int full = rows - over - (rows > ROWS && over && over <= ROWS / 2 ? ROWS : 0);
    const int left = rows - full, first = left > ROWS ? (left + 1) / 2 : left;
    for (int j = 0; j < cols; j += NV * W) {
        int r = 0;
        for (; r < full; r += ROWS)
            tile(ROWS, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
        if (left)
            tile(first, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
        r += first;
        if (left > first)
            tile(left - first, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
    }
}

/* C += M B with M lower triangular, zeros above. */
INLINE void lower(const float *M, const float *B, size_t ldb, float *C, size_t ldc, const int cols)
{
    for (int j = 0; j < cols; j += NV * W)
#pragma GCC unroll 8
        for (int i = 0; i < CHUNK; i += 4)
            tile(4, i + 4, M + i * CHUNK, CHUNK, 1, B + j, ldb, C + i * ldc + j, ldc, NULL);
}

#define PICK __builtin_shufflevector
typedef float v4 __attribute__((vector_size(16), may_alias));
typedef float v8 __attribute__((vector_size(32), may_alias));

/* The four sums over the lanes of a, b, c and d. */
INLINE v4 sum4(vf a, vf b, vf c, vf d)
{
#if W == 16
    vf s = PICK(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
           PICK(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    vf t = PICK(c, d, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29) +
           PICK(c, d, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    vf u = PICK(s, t, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
           PICK(s, t, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    v8 h = PICK(u, u, 0, 1, 2, 3, 4, 5, 6, 7) + PICK(u, u, 8, 9, 10, 11, 12, 13, 14, 15);
    return PICK(h, h, 0, 1, 2, 3) + PICK(h, h, 4, 5, 6, 7);
#elif W == 8
    vf s = PICK(a, b, 0, 8, 1, 9, 4, 12, 5, 13) + PICK(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
    vf t = PICK(c, d, 0, 8, 1, 9, 4, 12, 5, 13) + PICK(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
    vf u = PICK(s, t, 0, 1, 8, 9, 4, 5, 12, 13) + PICK(s, t, 2, 3, 10, 11, 6, 7, 14, 15);
    return PICK(u, u, 0, 1, 2, 3) + PICK(u, u, 4, 5, 6, 7);
#else
    vf s = PICK(a, b, 0, 4, 1, 5) + PICK(a, b, 2, 6, 3, 7);
    vf t = PICK(c, d, 0, 4, 1, 5) + PICK(c, d, 2, 6, 3, 7);
    return PICK(s, t, 0, 1, 4, 5) + PICK(s, t, 2, 3, 6, 7);
#endif
}

/* exp(G_i - G_j) as the running product of exp(g), which is never above 1: right for any gate. */
static void pairs(struct chunk *c, const struct rows *in, float scale)
{
    for (int i = 0; i < CHUNK; i++)
        exp_row(c->e[i], in->g[i]);
    for (int a = 0; a < K; a++)
        c->keep[a] = 1;
    memset(c->kr, 0, sizeof c->kr);
    for (int i = 0; i < CHUNK; i++) {
        const float *q = in->q[i], *k = in->k[i], *e = c->e[i];
        for (int a = 0; a < K; a++) {
            c->keep[a] *= e[a];
            c->kq[i][a] = -k[a] * c->keep[a];
            c->kq[CHUNK + i][a] = scale * q[a] * c->keep[a];
        }
        for (int j = 0; j < i; j += 4) { /* rows from i on are zeros still */
            vf m[4], n[4];
#pragma GCC unroll 4
            for (int x = 0; x < 4; x++)
                m[x] = n[x] = (vf){0};
            for (int a = 0; a < K; a += W) {
                vf ea = *(const vf *)(e + a), ka = *(const vf *)(k + a), qa = *(const vf *)(q + a);
#pragma GCC unroll 4
                for (int x = 0; x < 4; x++) {
                    vf t = *(const vf *)(c->kr[j + x] + a) * ea;
                    *(vf *)(c->kr[j + x] + a) = t;
                    m[x] += t * ka;
                    n[x] += t * qa;
                }
            }
            *(v4 *)&c->L[i][j] = sum4(m[0], m[1], m[2], m[3]) * c->beta[i];
            *(v4 *)&c->A[i][j] = sum4(n[0], n[1], n[2], n[3]) * scale;
        }
        vf d = {0};
        for (int a = 0; a < K; a += W) {
            *(vf *)(c->kr[i] + a) = *(const vf *)(k + a);
            d += *(const vf *)(k + a) * *(const vf *)(q + a);
        }
        c->A[i][i] = scale * sum4(d, d, d, d)[0];
    }
}

/* All that does not depend on the state. */
static void prepare(struct chunk *c, const struct rows *in, float scale)
{
    memset(c->L, 0, sizeof c->L);
    memset(c->A, 0, sizeof c->A);
    pairs(c, in, scale);
}

#define GROUP (4 * ROWS) /* rows of the state between two requests */
/* Ask for the next few rows that are due, into the second-level cache: a few at a time, so that
 * requests never pile up before the loads of the products. */
static void ask(struct rows *in)
{
    enum { CALLS = V / NB * ((K + GROUP - 1) / GROUP), EACH = (5 * CHUNK + CALLS - 1) / CALLS };
    for (int i = 0; i < EACH && in->nsoon > 0; i++) {
        const float *row = in->soon[--in->nsoon];
        for (int a = 0; a < K; a += 16)
            __builtin_prefetch(row + a, 0, 2);
    }
}

/* One chunk on NB columns: S [K][NB] is read and written, n rows of o are written. */
static void scan(const struct chunk *c, float *S, struct rows *in, size_t column, int n, float *o,
                 size_t step)
{
    float R[2 * CHUNK][NB] ALIGNED; /* residuals, then outputs */
    for (int i = 0; i < CHUNK; i++)
        memcpy(R[i], in->v[i] + column, sizeof R[i]);
    memset(R[CHUNK], 0, sizeof(float) * CHUNK * NB);
    product(CHUNK, K, c->kq[0], K, 1, S, NB, R[0], NB, NB, NULL);
    product(CHUNK, K, c->kq[CHUNK], K, 1, S, NB, R[CHUNK], NB, NB, NULL);
    for (int i = 0; i < CHUNK; i++) { /* (I + L) U = diag(beta) R, in place */
        for (int j = 0; j < NB; j += W) {
            vf x = *(const vf *)(R[i] + j) * c->beta[i];
            for (int d = 0; d < i; d++)
                x -= c->L[i][d] * *(const vf *)(R[d] + j);
            *(vf *)(R[i] + j) = x;
        }
    }
    const float *u = R[0];
    lower(c->A[0], u, NB, R[CHUNK], NB, NB);
    for (int i = 0; i < n; i++)
        memcpy(o + i * step + column, R[CHUNK + i], sizeof R[0]);
    enum { WHOLE = K / GROUP * GROUP };
    for (int i = 0; i < WHOLE; i += GROUP) {
        ask(in);
        product(GROUP, CHUNK, c->kr[0] + i, 1, K, u, NB, S + i * NB, NB, NB, c->keep + i);
    }
    if (WHOLE < K) {
        ask(in);
        product(K - WHOLE, CHUNK, c->kr[0] + WHOLE, 1, K, u, NB, S + WHOLE * NB, NB, NB,
                c->keep + WHOLE);
    }
}

/* The next span tokens of one head; T are left of its sequence. */
static void head(int span, int T, const float *q, const float *k, const float *v, const float *g,
                 const float *beta, int H, float scale, float *S, float *o, void *ws)
{
    struct chunk *c = ws; /* not on the stack: there it may lie across the state in the cache */
    struct rows in;
    size_t step = (size_t)H * K, vstep = (size_t)H * V;
    for (int t = 0; t < span; t += CHUNK) {
        int n = span - t < CHUNK ? span - t : CHUNK;
        for (int i = 0; i < CHUNK; i++) {
            size_t at = (size_t)(t + i);
            in.q[i] = i < n ? q + at * step : zeros;
            in.k[i] = i < n ? k + at * step : zeros;
            in.v[i] = i < n ? v + at * vstep : zeros;
            in.g[i] = i < n ? g + at * step : zeros;
            c->beta[i] = i < n ? beta[at * (size_t)H] : 0;
        }
        prepare(c, &in, scale);
        int later = t + AHEAD * CHUNK, m = T - later < CHUNK ? T - later : CHUNK;
        in.nsoon = 0; /* taken from the end: what is needed first stands last */
        for (int i = 0; i < m; i++)
            in.soon[in.nsoon++] = o + (size_t)(later + i) * vstep;
        for (int i = 0; i < m; i++)
            in.soon[in.nsoon++] = v + (size_t)(later + i) * vstep;
        for (int i = 0; i < m; i++) {
            in.soon[in.nsoon++] = q + (size_t)(later + i) * step;
            in.soon[in.nsoon++] = k + (size_t)(later + i) * step;
        }
        for (int i = 0; i < m; i++)
            in.soon[in.nsoon++] = g + (size_t)(later + i) * step;
        for (int p = 0; p < V / NB; p++)
            scan(c, S + p * K * NB, &in, (size_t)p * NB, n, o + (size_t)t * vstep, vstep);
    }
}

#define STATES ((float *)((struct chunk *)ws + 1))

#define TURN CHUNK /* tokens of one head before it is the next one's turn */

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
    /* All heads of a sequence advance in turns: what lies side by side in memory is read together,
     * and their states stay in the second-level cache. */
    for (int b = 0; b < B; b++) {
        size_t state = (size_t)b * H * K * V;
        float *S = STATES; /* there is room for 250 heads */
        for (int h = 0; h < H; h++)
            load_state(S + h * K * V, S0 + state + h * K * V);
        for (int t = 0; t < T; t += TURN)
            for (int h = 0; h < H; h++) {
                size_t at = ((size_t)b * T + t) * H + h;
                head(T - t < TURN ? T - t : TURN, T - t, q + at * K, k + at * K, v + at * V,
                     g + at * K, beta + at, H, scale, S + h * K * V, o + at * V, ws);
            }
        for (int h = 0; h < H; h++)
            store_state(ST + state + h * K * V, S + h * K * V);
    }
}
