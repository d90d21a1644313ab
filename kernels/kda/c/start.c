/* KDA forward. Per head, with a state S [K][V] and for every token
 *     S = diag(exp g) S,   r = v - k^T S,   S += beta k (x) r,   o = scale q^T S.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kda.h"


#define ALIGNED __attribute__((aligned(64)))
#define INLINE static inline __attribute__((always_inline))

#define NB V

static void exp_row(float *y, const float *x)
{
    for (int c = 0; c < K; c++)
        y[c] = expf(x[c]);
}


/* One token on NB columns: S [K][NB] is decayed, corrected towards v and read. */
static void token(float *restrict S, const float *restrict q, const float *restrict k,
                  const float *restrict v, const float *restrict e, float beta, float scale,
                  float *restrict o)
{
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
}

/* The next span tokens of one head; T are left of its sequence. */
static void head(int span, int T, const float *q, const float *k, const float *v, const float *g,
                 const float *beta, int H, float scale, float *S, float *o, void *ws)
{
    (void)ws;
    size_t step = (size_t)H * K, vstep = (size_t)H * V;
    float e[K] ALIGNED;
    for (size_t t = 0; t < (size_t)span; t++) {
        exp_row(e, g + t * step);
        token(S, q + t * step, k + t * step, v + t * vstep, e, beta[t * (size_t)H], scale,
              o + t * vstep);
    }
}

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
    memcpy(ST, S0, sizeof(float) * (size_t)B * H * K * V);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * T * H + h, state = ((size_t)b * H + h) * K * V;
            head(T, T, q + at * K, k + at * K, v + at * V, g + at * K, beta + at, H, scale,
                 ST + state, o + at * V, ws);
        }
}
