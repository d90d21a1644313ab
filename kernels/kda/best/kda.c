/* KDA forward. Per head, with a state S [K][V] and for every token
 *     S = diag(exp g) S,   r = v - k^T S,   S += beta k (x) r,   o = scale q^T S.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kda.h"

#define CHUNK 16
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

INLINE void product(const int rows, const int depth, const float *A, size_t ra, size_t da,
                    const float *B, size_t ldb, float *C, size_t ldc, const int cols,
                    const float *keep)
{
    for (int j = 0; j < cols; j += NV * W) {
        int r = 0;
        for (; r + ROWS <= rows; r += ROWS)
            tile(ROWS, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
                 keep ? keep + r : keep);
        if (rows % ROWS)
            tile(rows % ROWS, depth, A + r * ra, ra, da, B + j, ldb, C + r * ldc + j, ldc,
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

/* exp(G_i - G_j) by products of exp(g), which are never above 1. Tokens in blocks of four: inside
 * one the products run step by step; between two they meet at the start of the later one, so that
 * a pair costs a multiplication and an addition, and earlier keys decay once a block. */
#define AT(p, a) (*(const vf *)((p) + (a)))
#define PUT(p, a) (*(vf *)((p) + (a)))
#define HALF (W == 16 ? 4 : 2)

/* out[i][0..3] = factor_i * x_i . y_0..3 for four rows x and four rows y */
INLINE void block_dots(const float *x, const float *y, float *out, const float *factor, float scale)
{
    for (int i0 = 0; i0 < 4; i0 += HALF) {
        vf acc[HALF][4];
#pragma GCC unroll 4
        for (int i = 0; i < HALF; i++)
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++)
                acc[i][j] = (vf){0};
        for (int a = 0; a < K; a += W) {
            vf b[4];
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++)
                b[j] = AT(y + j * K, a);
#pragma GCC unroll 4
            for (int i = 0; i < HALF; i++) {
                vf r = AT(x + (i0 + i) * K, a);
#pragma GCC unroll 4
                for (int j = 0; j < 4; j++)
                    acc[i][j] += r * b[j];
            }
        }
#pragma GCC unroll 4
        for (int i = 0; i < HALF; i++)
            *(v4 *)(out + (i0 + i) * CHUNK) = sum4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]) *
                                              (factor ? factor[i0 + i] : scale);
    }
}

/* Four tokens from i on: their pairs, their keys and queries decayed from the block's start (kb, qb)
 * and from the chunk's, and the block's own decay, for those before it. */
INLINE void block(struct chunk *c, const struct rows *in, int i, float scale, float kb[4][K],
                  float qb[4][K], float *past)
{
    const float *k0 = in->k[i], *k1 = in->k[i + 1], *k2 = in->k[i + 2], *k3 = in->k[i + 3];
    const float *q0 = in->q[i], *q1 = in->q[i + 1], *q2 = in->q[i + 2], *q3 = in->q[i + 3];
    vf d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0}, m10 = {0}, m20 = {0}, m21 = {0}, m30 = {0},
       m31 = {0}, m32 = {0}, n10 = {0}, n20 = {0}, n21 = {0}, n30 = {0}, n31 = {0}, n32 = {0};
    for (int a = 0; a < K; a += W) {
        vf e0 = AT(c->e[i], a), e1 = AT(c->e[i + 1], a), e2 = AT(c->e[i + 2], a),
           e3 = AT(c->e[i + 3], a);
        vf t0 = AT(k0, a), t1, t2, b = t0 * e0, P = AT(c->keep, a), p = e0;
        PUT(kb[0], a) = b;
        PUT(c->kq[i], a) = -b * P;
        b = AT(q0, a);
        d0 += b * t0;
        b *= p;
        PUT(qb[0], a) = b;
        PUT(c->kq[CHUNK + i], a) = b * P * scale;

        t0 *= e1, t1 = AT(k1, a), p *= e1;
        m10 += t1 * t0;
        b = t1 * p;
        PUT(kb[1], a) = b;
        PUT(c->kq[i + 1], a) = -b * P;
        b = AT(q1, a);
        n10 += b * t0, d1 += b * t1;
        b *= p;
        PUT(qb[1], a) = b;
        PUT(c->kq[CHUNK + i + 1], a) = b * P * scale;

        t0 *= e2, t1 *= e2, t2 = AT(k2, a), p *= e2;
        m20 += t2 * t0, m21 += t2 * t1;
        b = t2 * p;
        PUT(kb[2], a) = b;
        PUT(c->kq[i + 2], a) = -b * P;
        b = AT(q2, a);
        n20 += b * t0, n21 += b * t1, d2 += b * t2;
        b *= p;
        PUT(qb[2], a) = b;
        PUT(c->kq[CHUNK + i + 2], a) = b * P * scale;

        t0 *= e3, t1 *= e3, t2 *= e3, p *= e3;
        vf t3 = AT(k3, a);
        PUT(c->kr[i], a) = t0;
        PUT(c->kr[i + 1], a) = t1;
        PUT(c->kr[i + 2], a) = t2;
        PUT(c->kr[i + 3], a) = t3;
        m30 += t3 * t0, m31 += t3 * t1, m32 += t3 * t2;
        b = t3 * p;
        PUT(kb[3], a) = b;
        PUT(c->kq[i + 3], a) = -b * P;
        b = AT(q3, a);
        n30 += b * t0, n31 += b * t1, n32 += b * t2, d3 += b * t3;
        b *= p;
        PUT(qb[3], a) = b;
        PUT(c->kq[CHUNK + i + 3], a) = b * P * scale;
        PUT(c->keep, a) = P * p;
        PUT(past, a) = p;
    }
    v4 s = sum4(m10, m20, m21, m30), t = sum4(m31, m32, d0, d1), u = sum4(d2, d3, n10, n20),
       w = sum4(n21, n30, n31, n32);
    float *L = &c->L[i][i], *A = &c->A[i][i];
    const float *beta = c->beta + i;
    L[CHUNK] = beta[1] * s[0];
    L[2 * CHUNK] = beta[2] * s[1], L[2 * CHUNK + 1] = beta[2] * s[2];
    L[3 * CHUNK] = beta[3] * s[3], L[3 * CHUNK + 1] = beta[3] * t[0];
    L[3 * CHUNK + 2] = beta[3] * t[1];
    A[0] = scale * t[2], A[CHUNK + 1] = scale * t[3];
    A[2 * CHUNK + 2] = scale * u[0], A[3 * CHUNK + 3] = scale * u[1];
    A[CHUNK] = scale * u[2];
    A[2 * CHUNK] = scale * u[3], A[2 * CHUNK + 1] = scale * w[0];
    A[3 * CHUNK] = scale * w[1], A[3 * CHUNK + 1] = scale * w[2], A[3 * CHUNK + 2] = scale * w[3];
}

static void pairs(struct chunk *c, const struct rows *in, float scale)
{
    float kb[4][K] ALIGNED, qb[4][K] ALIGNED, past[K] ALIGNED;
    for (int i = 0; i < CHUNK; i++)
        exp_row(c->e[i], in->g[i]);
    for (int a = 0; a < K; a++)
        c->keep[a] = 1;
    for (int i = 0; i < CHUNK; i += 4) {
        block(c, in, i, scale, kb, qb, past);
        for (int j = 0; j < i; j += 4) {
            block_dots(kb[0], c->kr[j], &c->L[i][j], c->beta + i, 0);
            block_dots(qb[0], c->kr[j], &c->A[i][j], NULL, scale);
        }
        for (int j = 0; j < i; j++)
            for (int a = 0; a < K; a++)
                c->kr[j][a] *= past[a];
    }
}

/* All that does not depend on the state. */
static void prepare(struct chunk *c, const struct rows *in, float scale)
{
    memset(c->L, 0, sizeof c->L);
    memset(c->A, 0, sizeof c->A);
    pairs(c, in, scale);
}

/* Ask for the next few rows that are due, into the second-level cache: a few at a time, so that
 * requests never pile up before the loads of the products. */
static void ask(struct rows *in)
{
    enum { CALLS = V / NB * (K / 8), EACH = (5 * CHUNK + CALLS - 1) / CALLS };
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
    product(2 * CHUNK, K, c->kq[0], K, 1, S, NB, R[0], NB, NB, NULL);
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
    for (int i = 0; i < K; i += 8) {
        ask(in);
        product(8, CHUNK, c->kr[0] + i, 1, K, u, NB, S + i * NB, NB, NB, c->keep + i);
    }
}

static void head(int T, const float *q, const float *k, const float *v, const float *g,
                 const float *beta, int H, float scale, float *S, float *o)
{
    struct chunk c;
    struct rows in;
    size_t step = (size_t)H * K, vstep = (size_t)H * V;
    for (int t = 0; t < T; t += CHUNK) {
        int n = T - t < CHUNK ? T - t : CHUNK;
        for (int i = 0; i < CHUNK; i++) {
            size_t at = (size_t)(t + i);
            in.q[i] = i < n ? q + at * step : zeros;
            in.k[i] = i < n ? k + at * step : zeros;
            in.v[i] = i < n ? v + at * vstep : zeros;
            in.g[i] = i < n ? g + at * step : zeros;
            c.beta[i] = i < n ? beta[at * (size_t)H] : 0;
        }
        prepare(&c, &in, scale);
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
            scan(&c, S + p * K * NB, &in, (size_t)p * NB, n, o + (size_t)t * vstep, vstep);
    }
}

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * T * H + h, state = ((size_t)b * H + h) * K * V;
            load_state(ws, S0 + state);
            head(T, q + at * K, k + at * K, v + at * V, g + at * K, beta + at, H, scale, ws,
                 o + at * V);
            store_state(ST + state, ws);
        }
}
