/* MLA decode, as one writes it by hand without thinking of registers: the cache in tiles of KEYS
 * rows that stay in the second-level cache while every head reads them, online softmax from tile to
 * tile, loops of stride one that the compiler vectorises.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "mla-decode.h"

#define KEYS  64
#define LANES 16 /* partial sums of a dot product: the compiler may not reorder one sum */

static float dot(const float *restrict a, const float *restrict b)
{
    float s[LANES] = {0};
    for (int c = 0; c < DK; c += LANES)
        for (int l = 0; l < LANES; l++)
            s[l] += a[c + l] * b[c + l];
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}

/* n rows for one head: o is the sum of exp(s - max) rows so far, *sum that of exp(s - max). */
static void tile(const float *restrict q, const float *restrict rows, int n, float scale,
                 float *restrict o, float *max, float *sum)
{
    float s[KEYS], m = *max;
    for (int j = 0; j < n; j++) {
        s[j] = scale * dot(q, rows + (size_t)j * DK);
        m = s[j] > m ? s[j] : m;
    }
    if (m > *max) { /* what was summed so far relates to the old maximum */
        float a = expf(*max - m);
        for (int c = 0; c < DV; c++)
            o[c] *= a;
        *sum *= a;
        *max = m;
    }
    for (int j = 0; j < n; j++) {
        s[j] = expf(s[j] - m);
        *sum += s[j];
    }
    int j = 0;
    for (; j + 4 <= n; j += 4, rows += 4 * DK) /* four rows for one load and store of o */
        for (int c = 0; c < DV; c++)
            o[c] += s[j] * rows[c] + s[j + 1] * rows[DK + c] + s[j + 2] * rows[2 * DK + c] +
                    s[j + 3] * rows[3 * DK + c];
    for (; j < n; j++, rows += DK)
        for (int c = 0; c < DV; c++)
            o[c] += s[j] * rows[c];
}

void mla_decode(int B, int T, int H, const float *q, const float *kv, const float *unused,
                float scale, float *o, float *lse, void *ws)
{
    float *max = ws, *sum = max + H;
    for (int b = 0; b < B; b++) {
        int n = T - (int)(unused[b] * (float)T);
        const float *qb = q + (size_t)b * H * DK, *rows = kv + (size_t)b * T * DK;
        float *ob = o + (size_t)b * H * DV;
        memset(ob, 0, sizeof(float) * (size_t)H * DV);
        for (int h = 0; h < H; h++)
            max[h] = -INFINITY, sum[h] = 0;
        for (int j = 0; j < n; j += KEYS)
            for (int h = 0; h < H; h++)
                tile(qb + (size_t)h * DK, rows + (size_t)j * DK, n - j < KEYS ? n - j : KEYS, scale,
                     ob + (size_t)h * DV, &max[h], &sum[h]);
        for (int h = 0; h < H; h++) {
            for (int c = 0; c < DV && n > 0; c++)
                ob[(size_t)h * DV + c] /= sum[h];
            lse[(size_t)b * H + h] = n > 0 ? max[h] + logf(sum[h]) : 0;
        }
    }
}
