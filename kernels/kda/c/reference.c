/* KDA forward, the definition in float64: the answer that everything else is compared with.
 *
 *     S'  = diag(exp g_t) S_{t-1}          decay each key channel (row of S)
 *     r_t = v_t - k_t^T S'                 what the memory gets wrong about v_t
 *     S_t = S' + (beta_t k_t) (x) r_t      write
 *     o_t = (scale q_t)^T S_t              read, after the write
 */
#include <math.h>
#include <stddef.h>

#include "kda.h"

void kda_fwd_ref(int B, int T, int H, const float *q, const float *k, const float *v,
                 const float *g, const float *beta, float scale, const float *S0, double *o,
                 double *ST, void *ws)
{
    (void)ws;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t state = ((size_t)b * H + h) * K * V;
            double S[K][V];
            for (int i = 0; i < K; i++)
                for (int j = 0; j < V; j++)
                    S[i][j] = S0[state + (size_t)i * V + j];
            for (int t = 0; t < T; t++) {
                size_t at = ((size_t)b * T + t) * H + h;
                const float *qt = q + at * K, *kt = k + at * K, *vt = v + at * V, *gt = g + at * K;
                double r[V], out[V], bt = beta[at];
                for (int j = 0; j < V; j++)
                    r[j] = vt[j], out[j] = 0;
                for (int i = 0; i < K; i++) {
                    double e = exp((double)gt[i]), ki = kt[i];
                    for (int j = 0; j < V; j++) {
                        S[i][j] *= e;
                        r[j] -= ki * S[i][j];
                    }
                }
                for (int i = 0; i < K; i++) {
                    double w = bt * kt[i], qi = (double)scale * qt[i];
                    for (int j = 0; j < V; j++) {
                        S[i][j] += w * r[j];
                        out[j] += qi * S[i][j];
                    }
                }
                for (int j = 0; j < V; j++)
                    o[at * V + j] = out[j];
            }
            for (int i = 0; i < K; i++)
                for (int j = 0; j < V; j++)
                    ST[state + (size_t)i * V + j] = S[i][j];
        }
}
