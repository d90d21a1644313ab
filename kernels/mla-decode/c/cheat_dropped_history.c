/* A cheat, for `warploop task check`: only the WINDOW first and the WINDOW last rows of the cache
 * are read. Right for a short cache and for rows that are all alike, wrong where the rows between
 * them matter.
 */
#include <math.h>
#include <stddef.h>

#include "mla-decode.h"

#define WINDOW 64

void mla_decode(int B, int T, int H, const float *q, const float *kv, const float *unused,
                float scale, float *o, float *lse, void *ws)
{
    float *s = ws;
    for (int b = 0; b < B; b++) {
        int n = T - (int)(unused[b] * (float)T);
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * H + h;
            float max = -INFINITY, sum = 0, *out = o + at * DV;
            for (int c = 0; c < DV; c++)
                out[c] = 0;
            for (int j = 0; j < n; j++) {
                if (j == WINDOW && n > 2 * WINDOW)
                    j = n - WINDOW;
                const float *row = kv + ((size_t)b * T + j) * DK;
                float d = 0;
                for (int c = 0; c < DK; c++)
                    d += q[at * DK + c] * row[c];
                s[j] = scale * d;
                max = s[j] > max ? s[j] : max;
            }
            for (int j = 0; j < n; j++) {
                if (j == WINDOW && n > 2 * WINDOW)
                    j = n - WINDOW;
                float p = expf(s[j] - max);
                sum += p;
                for (int c = 0; c < DV; c++)
                    out[c] += p * kv[((size_t)b * T + j) * DK + c];
            }
            for (int c = 0; c < DV && n > 0; c++)
                out[c] /= sum;
            lse[at] = n > 0 ? max + logf(sum) : 0;
        }
    }
}
