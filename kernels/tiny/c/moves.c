/* A damped recurrence over N independent channels:
 *     d = a s + x,   s = d / (1 + d^2),   y = s + x^2 / 2.
 * x and y are [T][N]; the last s of each channel is the second output.
 */
#include <stddef.h>

#include "tiny.h"

#define TILE 16

void tiny_fwd(int T, int N, const float *restrict x, const float *restrict a,
              const float *restrict s0, float *restrict y, float *restrict last)
{
#if INTERCHANGE && TILED
    int n = 0;
    for (; n + TILE <= N; n += TILE) {
        float s[TILE];
        for (int i = 0; i < TILE; i++)
            s[i] = s0[n + i];
        for (int t = 0; t < T; t++) {
            const float *xt = x + (size_t)t * N + n;
            float *yt = y + (size_t)t * N + n;
            for (int i = 0; i < TILE; i++) {
                float d = a[n + i] * s[i] + xt[i];
                s[i] = d / (1 + d * d);
#if TWOPASS
                yt[i] = s[i];
#else
                yt[i] = s[i] + 0.5F * xt[i] * xt[i];
#endif
            }
        }
        for (int i = 0; i < TILE; i++)
            last[n + i] = s[i];
    }
    for (; n < N; n++) {
        float s = s0[n];
        for (int t = 0; t < T; t++) {
            size_t at = (size_t)t * N + n;
            float d = a[n] * s + x[at];
            s = d / (1 + d * d);
#if TWOPASS
            y[at] = s;
#else
            y[at] = s + 0.5F * x[at] * x[at];
#endif
        }
        last[n] = s;
    }
#elif INTERCHANGE
    for (int n = 0; n < N; n++)
        last[n] = s0[n];
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n++) {
            size_t at = (size_t)t * N + n;
            float d = a[n] * last[n] + x[at];
            last[n] = d / (1 + d * d);
#if TWOPASS
            y[at] = last[n];
#else
            y[at] = last[n] + 0.5F * x[at] * x[at];
#endif
        }
#else
    for (int n = 0; n < N; n++) {
        float s = s0[n];
        for (int t = 0; t < T; t++) {
            size_t at = (size_t)t * N + n;
            float d = a[n] * s + x[at];
            s = d / (1 + d * d);
#if TWOPASS
            y[at] = s;
#else
            y[at] = s + 0.5F * x[at] * x[at];
#endif
        }
        last[n] = s;
    }
#endif
#if TWOPASS
    for (size_t at = 0; at < (size_t)T * N; at++)
        y[at] += 0.5F * x[at] * x[at];
#endif
}
