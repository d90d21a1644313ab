/* MLA decode. H heads share one cache kv [T][DK]: s_j = scale q . kv_j over the rows in use,
 * p = softmax(s), o = sum_j p_j kv_j[0:DV], lse = log sum_j exp(s_j).
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mla-decode.h"


#define LOWEST -1e30F /* a score that weighs nothing, and no infinity to subtract from another */

/* A sum of products; the compiler may not reorder one sum, so there are several. */
static float dot(const float *restrict a, const float *restrict b)
{
    float s[32] = {0}, sum = 0;
    for (int c = 0; c < DK; c += 32)
        for (int l = 0; l < 32; l++)
            s[l] += a[c + l] * b[c + l];
    for (int l = 0; l < 32; l++)
        sum += s[l];
    return sum;
}

/* One head over n rows, online softmax row by row. */
static void head(const float *restrict q, const float *restrict kv, int n, float scale,
                 float *restrict o, float *lse)
{
    float max = LOWEST, sum = 0;
    memset(o, 0, sizeof(float) * DV);
    for (int j = 0; j < n; j++) {
        const float *row = kv + (size_t)j * DK;
        float s = scale * dot(q, row);
        float m = s > max ? s : max, a = expf(max - m), p = expf(s - m);
        sum = a * sum + p;
        for (int c = 0; c < DV; c++)
            o[c] = a * o[c] + p * row[c];
        max = m;
    }
    for (int c = 0; c < DV && n > 0; c++)
        o[c] /= sum;
    *lse = n > 0 ? max + logf(sum) : 0;
}

void mla_decode(int B, int T, int H, const float *q, const float *kv, const float *unused,
                float scale, float *o, float *lse, void *ws)
{
    (void)ws;
    for (int b = 0; b < B; b++)
        for (int h = 0; h < H; h++) {
            size_t at = (size_t)b * H + h;
            head(q + at * DK, kv + (size_t)b * T * DK, T - (int)(unused[b] * (float)T), scale,
                 o + at * DV, lse + at);
        }
}
