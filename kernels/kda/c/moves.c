/* KDA forward, the token recurrence as it is defined: one loop for each line of the definition,
 * every inner loop runs over V with stride one, and the compiler vectorises all of them. The state
 * is updated in place in ST.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kda.h"

/* One token: S [K][V] is decayed, corrected towards v and read. */
static void token(float *restrict S, const float *restrict q, const float *restrict k,
                  const float *restrict v, const float *restrict g, float beta, float scale,
                  float *restrict o)
{
    float r[V], out[V];
    for (int i = 0; i < K; i++) { /* S' = diag(exp g) S */
        float e = expf(g[i]);
        for (int j = 0; j < V; j++)
            S[i * V + j] *= e;
    }
    for (int j = 0; j < V; j++)
        r[j] = v[j];
    for (int i = 0; i < K; i++) /* r = v - k^T S' */
        for (int j = 0; j < V; j++)
            r[j] -= k[i] * S[i * V + j];
    for (int i = 0; i < K; i++) { /* S = S' + beta k (x) r */
        float w = beta * k[i];
        for (int j = 0; j < V; j++)
            S[i * V + j] += w * r[j];
    }
    for (int j = 0; j < V; j++)
        out[j] = 0;
    for (int i = 0; i < K; i++) { /* o = scale q^T S */
        float w = scale * q[i];
        for (int j = 0; j < V; j++)
            out[j] += w * S[i * V + j];
    }
    memcpy(o, out, sizeof out);
}

void kda_fwd(int B, int T, int H, const float *q, const float *k, const float *v, const float *g,
             const float *beta, float scale, const float *S0, float *o, float *ST, void *ws)
{
    (void)ws;
    memcpy(ST, S0, sizeof(float) * (size_t)B * H * K * V);
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++)
            for (int t = 0; t < T; t++) {
                size_t at = ((size_t)b * T + t) * H + h;
                token(ST + ((size_t)b * H + h) * K * V, q + at * K, k + at * K, v + at * V,
                      g + at * K, beta[at], scale, o + at * V);
            }
}
