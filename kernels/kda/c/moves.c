/* KDA forward. Per head, with a state S [K][V] and for every token
 *     S = diag(exp g) S,   r = v - k^T S,   S += beta k (x) r,   o = scale q^T S.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kda.h"

#define CHUNK 12
#define VBLOCK 32
#define ROWS 6
#define LANES 2
#define AHEAD 1

#define ALIGNED __attribute__((aligned(64)))
#define INLINE static inline __attribute__((always_inline))

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
#if PANELS
/* The state is kept as panels of NB columns, each contiguous: one fits the first-level cache. */
#define NB VBLOCK
#else
#define NB V
#endif
#if VECTORS
/* Vectors of a register tile: as asked for, as far as a panel has them. */
#define NV (LANES * W <= NB ? LANES : NB / W)
#endif

#if FASTEXP
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
#else
static void exp_row(float *y, const float *x)
{
    for (int c = 0; c < K; c++)
        y[c] = expf(x[c]);
}
#endif

#if PANELS
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
#endif

#if CHUNKWISE
/* What a chunk of tokens is to the state, without the state itself. With G the running sum of g
 * from the chunk's start and G' its last row: */
struct chunk {
#if !PAIRWISE
    float e[CHUNK][K];         /* exp(g) */
#endif
    float kq[2 * CHUNK][K];    /* -k exp(G), then scale q exp(G) */
    float kr[CHUNK][K];        /* k exp(G' - G) */
    float keep[K];             /* exp(G') */
    float L[CHUNK][CHUNK];     /* beta_i k_i k_j exp(G_i - G_j), j < i */
    float A[CHUNK][CHUNK];     /* scale q_i k_j exp(G_i - G_j), j <= i */
    float beta[CHUNK];
#if !RESIDUAL || INVERSE
    float X[CHUNK][CHUNK];     /* (I + L)^-1 diag(beta) */
#endif
} ALIGNED;

/* The rows of a chunk; those past the end of the sequence are zeros. */
struct rows {
    const float *q[CHUNK], *k[CHUNK], *v[CHUNK], *g[CHUNK];
#if PREFETCH
    const float *soon[5 * CHUNK]; /* rows of a later chunk, to be asked for */
    int nsoon;
#endif
};

static const float zeros[K > V ? K : V] ALIGNED;

#if VECTORS
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
#else
/* C [rows][cols] = keep C + A B, B [depth][cols]; A's element (r, d) is A[r * ra + d * da]. The
 * outer loop runs over the longer side, so that the other two stay in the first-level cache;
 * keep NULL: 1. */
INLINE void product(const int rows, const int depth, const float *A, size_t ra, size_t da,
                    const float *restrict B, size_t ldb, float *restrict C, size_t ldc,
                    const int cols, const float *keep)
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

/* C += M B with M lower triangular. */
INLINE void lower(const float *M, const float *restrict B, size_t ldb, float *restrict C,
                  size_t ldc, const int cols)
{
    for (int i = 0; i < CHUNK; i++)
        for (int d = 0; d <= i; d++) {
            float a = M[i * CHUNK + d];
            for (int j = 0; j < cols; j++)
                C[i * ldc + j] += a * B[d * ldb + j];
        }
}
#endif

#if VECTORS
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
#else
static float dot(const float *a, const float *b)
{
    float s[8] = {0};
    for (int c = 0; c < K; c += 8)
        for (int l = 0; l < 8; l++)
            s[l] += a[c + l] * b[c + l];
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
#endif

#if PAIRWISE
/* Every exponent G_i - G_j on its own: never positive, right for any gate. It is summed from g_j+1 on:
 * after a reset G is so large that a difference would have lost its last digits. */
static void pairs(struct chunk *c, const struct rows *in, float scale)
{
    float G[K] ALIGNED = {0}, x[K] ALIGNED, t[K] ALIGNED;
    for (int i = 0; i < CHUNK; i++) {
        for (int a = 0; a < K; a++)
            G[a] += in->g[i][a];
        exp_row(t, G);
        for (int a = 0; a < K; a++) {
            c->kq[i][a] = -in->k[i][a] * t[a];
            c->kq[CHUNK + i][a] = scale * in->q[i][a] * t[a];
        }
    }
    memcpy(c->keep, t, sizeof t);
    for (int j = 0; j < CHUNK; j++) {
        memset(x, 0, sizeof x);
        for (int i = j; i < CHUNK; i++) {
            for (int a = 0; a < K && i > j; a++)
                x[a] += in->g[i][a];
            exp_row(t, x);
            for (int a = 0; a < K; a++)
                t[a] *= in->k[j][a];
#if VECTORS
            vf kk = {0}, qk = {0};
            for (int a = 0; a < K; a += W) {
                kk += *(const vf *)(in->k[i] + a) * *(const vf *)(t + a);
                qk += *(const vf *)(in->q[i] + a) * *(const vf *)(t + a);
            }
            v4 s = sum4(kk, qk, kk, qk);
            c->L[i][j] = i == j ? 0 : c->beta[i] * s[0];
            c->A[i][j] = scale * s[1];
#else
            c->L[i][j] = i == j ? 0 : c->beta[i] * dot(in->k[i], t);
            c->A[i][j] = scale * dot(in->q[i], t);
#endif
        }
        memcpy(c->kr[j], t, sizeof t);
    }
}
#elif SUBBLOCKS
/* exp(G_i - G_j) by products of exp(g), which are never above 1. Tokens in blocks of four: inside
 * one the products run step by step; between two they meet at the start of the later one, so that
 * a pair costs a multiplication and an addition, and earlier keys decay once a block. */
#if VECTORS
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
#else
static void block_dots(const float *x, const float *y, float *out, const float *factor, float scale)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            out[i * CHUNK + j] = (factor ? factor[i] : scale) * dot(x + i * K, y + j * K);
}

/* Four tokens from i on: their pairs, their keys and queries decayed from the block's start (kb, qb)
 * and from the chunk's, and the block's own decay p, for those before it. */
static void block(struct chunk *c, const struct rows *in, int i, float scale, float kb[4][K],
                  float qb[4][K], float *p)
{
    for (int a = 0; a < K; a++)
        p[a] = 1;
    for (int s = i; s < i + 4; s++) {
        for (int j = i; j < s; j++) {
            for (int a = 0; a < K; a++)
                c->kr[j][a] *= c->e[s][a];
            c->L[s][j] = c->beta[s] * dot(in->k[s], c->kr[j]);
            c->A[s][j] = scale * dot(in->q[s], c->kr[j]);
        }
        c->A[s][s] = scale * dot(in->q[s], in->k[s]);
        memcpy(c->kr[s], in->k[s], sizeof c->kr[s]);
        for (int a = 0; a < K; a++) {
            p[a] *= c->e[s][a];
            kb[s - i][a] = in->k[s][a] * p[a];
            qb[s - i][a] = in->q[s][a] * p[a];
            c->kq[s][a] = -kb[s - i][a] * c->keep[a];
            c->kq[CHUNK + s][a] = scale * qb[s - i][a] * c->keep[a];
        }
    }
    for (int a = 0; a < K; a++)
        c->keep[a] *= p[a];
}
#endif

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
#else
/* exp(G_i - G_j) as the running product of exp(g), which is never above 1: right for any gate. */
static void pairs(struct chunk *c, const struct rows *in, float scale)
{
    for (int i = 0; i < CHUNK; i++)
        exp_row(c->e[i], in->g[i]);
    for (int a = 0; a < K; a++)
        c->keep[a] = 1;
#if VECTORS
    memset(c->kr, 0, sizeof c->kr);
#endif
    for (int i = 0; i < CHUNK; i++) {
        const float *q = in->q[i], *k = in->k[i], *e = c->e[i];
        for (int a = 0; a < K; a++) {
            c->keep[a] *= e[a];
            c->kq[i][a] = -k[a] * c->keep[a];
            c->kq[CHUNK + i][a] = scale * q[a] * c->keep[a];
        }
#if VECTORS
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
#else
        for (int j = 0; j < i; j++) {
            for (int a = 0; a < K; a++)
                c->kr[j][a] *= e[a];
            c->L[i][j] = c->beta[i] * dot(k, c->kr[j]);
            c->A[i][j] = scale * dot(q, c->kr[j]);
        }
        memcpy(c->kr[i], k, sizeof c->kr[i]);
        c->A[i][i] = scale * dot(q, k);
#endif
    }
}
#endif

/* All that does not depend on the state. */
static void prepare(struct chunk *c, const struct rows *in, float scale)
{
    memset(c->L, 0, sizeof c->L);
    memset(c->A, 0, sizeof c->A);
    pairs(c, in, scale);
#if !RESIDUAL || INVERSE
    memset(c->X, 0, sizeof c->X);
    for (int i = 0; i < CHUNK; i++)
        c->X[i][i] = c->beta[i];
    for (int j = 0; j < CHUNK; j++) { /* row j is done: take it out of those below */
        float x[CHUNK] ALIGNED;
        memcpy(x, c->X[j], sizeof x);
        for (int i = j + 1; i < CHUNK; i++)
            for (int a = 0; a < CHUNK; a++)
                c->X[i][a] -= c->L[i][j] * x[a];
    }
#endif
#if !RESIDUAL
    float w[CHUNK][K] ALIGNED; /* what the corrected keys read: -w = X (-k exp(G)) */
    memset(w, 0, sizeof w);
    lower(c->X[0], c->kq[0], K, w[0], K, K);
    memcpy(c->kq, w, sizeof w);
#endif
}

#if PREFETCH
#if VECTORS
#define GROUP (4 * ROWS) /* rows of the state between two requests */
#else
#define GROUP 8
#endif
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
#endif

/* One chunk on NB columns: S [K][NB] is read and written, n rows of o are written. */
static void scan(const struct chunk *c, float *S, struct rows *in, size_t column, int n, float *o,
                 size_t step)
{
    float R[2 * CHUNK][NB] ALIGNED; /* residuals, then outputs */
#if !RESIDUAL || INVERSE
    float U[CHUNK][NB] ALIGNED;
#endif
#if RESIDUAL
    for (int i = 0; i < CHUNK; i++)
        memcpy(R[i], in->v[i] + column, sizeof R[i]);
#else
    for (int i = 0; i < CHUNK; i++)
        memcpy(U[i], in->v[i] + column, sizeof U[i]);
    memset(R, 0, sizeof(float) * CHUNK * NB);
    lower(c->X[0], U[0], NB, R[0], NB, NB);
#endif
    memset(R[CHUNK], 0, sizeof(float) * CHUNK * NB);
#if FUSED
    product(2 * CHUNK, K, c->kq[0], K, 1, S, NB, R[0], NB, NB, NULL);
#else
    product(CHUNK, K, c->kq[0], K, 1, S, NB, R[0], NB, NB, NULL);
    product(CHUNK, K, c->kq[CHUNK], K, 1, S, NB, R[CHUNK], NB, NB, NULL);
#endif
#if RESIDUAL && INVERSE
    memset(U, 0, sizeof U);
    lower(c->X[0], R[0], NB, U[0], NB, NB);
    const float *u = U[0];
#elif RESIDUAL
    for (int i = 0; i < CHUNK; i++) { /* (I + L) U = diag(beta) R, in place */
#if VECTORS
        for (int j = 0; j < NB; j += W) {
            vf x = *(const vf *)(R[i] + j) * c->beta[i];
            for (int d = 0; d < i; d++)
                x -= c->L[i][d] * *(const vf *)(R[d] + j);
            *(vf *)(R[i] + j) = x;
        }
#else
        for (int j = 0; j < NB; j++)
            R[i][j] *= c->beta[i];
        for (int d = 0; d < i; d++)
            for (int j = 0; j < NB; j++)
                R[i][j] -= c->L[i][d] * R[d][j];
#endif
    }
    const float *u = R[0];
#else
    const float *u = R[0];
#endif
    lower(c->A[0], u, NB, R[CHUNK], NB, NB);
    for (int i = 0; i < n; i++)
        memcpy(o + i * step + column, R[CHUNK + i], sizeof R[0]);
#if PREFETCH
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
#else
    product(K, CHUNK, c->kr[0], 1, K, u, NB, S, NB, NB, c->keep);
#endif
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
#if PREFETCH
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
#endif
        for (int p = 0; p < V / NB; p++)
            scan(c, S + p * K * NB, &in, (size_t)p * NB, n, o + (size_t)t * vstep, vstep);
    }
}
#else
/* One token on NB columns: S [K][NB] is decayed, corrected towards v and read. */
static void token(float *restrict S, const float *restrict q, const float *restrict k,
                  const float *restrict v, const float *restrict e, float beta, float scale,
                  float *restrict o)
{
#if VECTORS
#define AT(i) (*(vf *)(S + (i) * NB + j + x * W))
#if !FUSED
    for (int i = 0; i < K; i++)
        for (int j = 0; j < NB; j += W)
            *(vf *)(S + i * NB + j) *= e[i];
#endif
    for (int j = 0; j < NB; j += NV * W) { /* sums stay in registers */
        vf r[NV], out[NV];
        for (int x = 0; x < NV; x++) {
            r[x] = *(const vf *)(v + j + x * W);
            out[x] = (vf){0};
        }
        for (int i = 0; i < K; i++)
            for (int x = 0; x < NV; x++) {
#if FUSED
                vf s = AT(i) * e[i];
                AT(i) = s;
                r[x] -= k[i] * s;
#else
                r[x] -= k[i] * AT(i);
#endif
            }
        for (int i = 0; i < K; i++) {
            float w = beta * k[i];
#if FUSED
            float u = scale * q[i];
#endif
            for (int x = 0; x < NV; x++) {
                vf s = AT(i) + w * r[x];
                AT(i) = s;
#if FUSED
                out[x] += u * s;
#endif
            }
        }
#if !FUSED
        for (int i = 0; i < K; i++)
            for (int x = 0; x < NV; x++)
                out[x] += scale * q[i] * AT(i);
#endif
        for (int x = 0; x < NV; x++)
            *(vf *)(o + j + x * W) = out[x];
    }
#elif FUSED
    float r[NB], out[NB];
    for (int j = 0; j < NB; j++)
        r[j] = v[j], out[j] = 0;
    for (int i = 0; i < K; i++) /* S' = diag(e) S, r = v - k^T S' */
        for (int j = 0; j < NB; j++) {
            float s = S[i * NB + j] * e[i];
            S[i * NB + j] = s;
            r[j] -= k[i] * s;
        }
    for (int i = 0; i < K; i++) { /* S = S' + beta k (x) r, o = scale q^T S */
        float w = beta * k[i], u = scale * q[i];
        for (int j = 0; j < NB; j++) {
            float s = S[i * NB + j] + w * r[j];
            S[i * NB + j] = s;
            out[j] += u * s;
        }
    }
    memcpy(o, out, sizeof out);
#else
    float r[NB], out[NB];
    for (int i = 0; i < K; i++) /* S' = diag(e) S */
        for (int j = 0; j < NB; j++)
            S[i * NB + j] *= e[i];
    for (int j = 0; j < NB; j++)
        r[j] = v[j], out[j] = 0;
    for (int i = 0; i < K; i++) /* r = v - k^T S' */
        for (int j = 0; j < NB; j++)
            r[j] -= k[i] * S[i * NB + j];
    for (int i = 0; i < K; i++) { /* S = S' + beta k (x) r */
        float w = beta * k[i];
        for (int j = 0; j < NB; j++)
            S[i * NB + j] += w * r[j];
    }
    for (int i = 0; i < K; i++) { /* o = scale q^T S */
        float w = scale * q[i];
        for (int j = 0; j < NB; j++)
            out[j] += w * S[i * NB + j];
    }
    memcpy(o, out, sizeof out);
#endif
}

/* The next span tokens of one head; T are left of its sequence. */
static void head(int span, int T, const float *q, const float *k, const float *v, const float *g,
                 const float *beta, int H, float scale, float *S, float *o, void *ws)
{
    (void)ws;
    size_t step = (size_t)H * K, vstep = (size_t)H * V;
#if PANELS
    /* A panel stays in the first-level cache for a run of tokens; their gates are shared. */
    float e[64][K] ALIGNED;
    for (int t0 = 0; t0 < span; t0 += 64) {
        int n = span - t0 < 64 ? span - t0 : 64;
        for (int i = 0; i < n; i++)
            exp_row(e[i], g + (size_t)(t0 + i) * step);
        for (int p = 0; p < V / NB; p++)
            for (int i = 0; i < n; i++) {
                size_t t = (size_t)(t0 + i);
#if PREFETCH
                if (t + AHEAD < (size_t)T) {
                    __builtin_prefetch(q + (t + AHEAD) * step + p * NB, 0, 2);
                    __builtin_prefetch(k + (t + AHEAD) * step + p * NB, 0, 2);
                    __builtin_prefetch(v + (t + AHEAD) * vstep + p * NB, 0, 2);
                }
#endif
                token(S + p * K * NB, q + t * step, k + t * step, v + t * vstep + p * NB, e[i],
                      beta[t * (size_t)H], scale, o + t * vstep + p * NB);
            }
    }
#else
    float e[K] ALIGNED;
    for (size_t t = 0; t < (size_t)span; t++) {
#if PREFETCH
        if (t + AHEAD < (size_t)T)
            for (int a = 0; a < K; a += 16) {
                __builtin_prefetch(q + (t + AHEAD) * step + a, 0, 2);
                __builtin_prefetch(k + (t + AHEAD) * step + a, 0, 2);
                __builtin_prefetch(g + (t + AHEAD) * step + a, 0, 2);
                __builtin_prefetch(v + (t + AHEAD) * vstep + a, 0, 2);
            }
#endif
        exp_row(e, g + t * step);
        token(S, q + t * step, k + t * step, v + t * vstep, e, beta[t * (size_t)H], scale,
              o + t * vstep);
    }
#endif
}
#endif
#if PANELS

#if CHUNKWISE
#define STATES ((float *)((struct chunk *)ws + 1))
#else
#define STATES ((float *)ws)
#endif
#endif
#if TOGETHER

#if CHUNKWISE
#define TURN CHUNK /* tokens of one head before it is the next one's turn */
#else
#define TURN 64
#endif
#endif

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
#if !PANELS
    memcpy(ST, S0, sizeof(float) * (size_t)B * H * K * V);
#endif
#if TOGETHER
    /* All heads of a sequence advance in turns: what lies side by side in memory is read together,
     * and their states stay in the second-level cache. */
    for (int b = 0; b < B; b++) {
        size_t state = (size_t)b * H * K * V;
#if PANELS
        float *S = STATES; /* there is room for 250 heads */
        for (int h = 0; h < H; h++)
            load_state(S + h * K * V, S0 + state + h * K * V);
#else
        float *S = ST + state;
#endif
        for (int t = 0; t < T; t += TURN)
            for (int h = 0; h < H; h++) {
                size_t at = ((size_t)b * T + t) * H + h;
                head(T - t < TURN ? T - t : TURN, T - t, q + at * K, k + at * K, v + at * V,
                     g + at * K, beta + at, H, scale, S + h * K * V, o + at * V, ws);
            }
#if PANELS
        for (int h = 0; h < H; h++)
            store_state(ST + state + h * K * V, S + h * K * V);
#endif
    }
#else
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * T * H + h, state = ((size_t)b * H + h) * K * V;
#if PANELS
            load_state(STATES, S0 + state);
            head(T, T, q + at * K, k + at * K, v + at * V, g + at * K, beta + at, H, scale,
                 STATES, o + at * V, ws);
            store_state(ST + state, STATES);
#else
            head(T, T, q + at * K, k + at * K, v + at * V, g + at * K, beta + at, H, scale,
                 ST + state, o + at * V, ws);
#endif
        }
#endif
}
