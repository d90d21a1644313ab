/* MLA decode, the definition in float64: the answer that everything else is compared with. For each
 * sequence b and each of its H query heads, over the n rows of the cache that are in use:
 *
 *     s_j = scale q . kv_j                 all DK channels of the row are the key
 *     o   = sum_j softmax_j(s) kv_j        its first DV channels are the value
 *     lse = log sum_j exp(s_j)
 *
 * An empty cache gives o = 0 and lse = 0.
 */
#include <math.h>
#include <stddef.h>

#include "mla-decode.h"

static double dot(const float *a, const float *b)
{
    double s = 0;
    for (int c = 0; c < DK; c++)
        s += (double)a[c] * b[c];
    return s;
}

void mla_decode_ref(int B, int T, int H, const float *q, const float *kv, const float *unused,
                    float scale, double *o, double *lse, void *ws)
{
    double *s = ws;
    for (int b = 0; b < B; b++) {
        int n = T - (int)(unused[b] * (float)T);
        const float *rows = kv + (size_t)b * T * DK;
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * H + h;
            double max = -INFINITY, sum = 0, *out = o + at * DV;
            for (int j = 0; j < n; j++) {
                s[j] = scale * dot(q + at * DK, rows + (size_t)j * DK);
                max = s[j] > max ? s[j] : max;
            }
            for (int c = 0; c < DV; c++)
                out[c] = 0;
            for (int j = 0; j < n; j++) {
                double p = exp(s[j] - max);
                sum += p;
                for (int c = 0; c < DV; c++)
                    out[c] += p * rows[(size_t)j * DK + c];
            }
            for (int c = 0; c < DV && n > 0; c++)
                out[c] /= sum;
            lse[at] = n > 0 ? max + log(sum) : 0;
        }
    }
}
