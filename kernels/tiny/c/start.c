/* A damped recurrence over N independent channels:
 *     d = a s + x,   s = d / (1 + d^2),   y = s + x^2 / 2.
 * x and y are [T][N]; the last s of each channel is the second output.
 */
#include <stddef.h>

#include "tiny.h"


void tiny_fwd(int T, int N, const float *restrict x, const float *restrict a,
              const float *restrict s0, float *restrict y, float *restrict last)
{
    for (int n = 0; n < N; n++) {
        float s = s0[n];
        for (int t = 0; t < T; t++) {
            size_t at = (size_t)t * N + n;
            float d = a[n] * s + x[at];
            s = d / (1 + d * d);
            y[at] = s + 0.5F * x[at] * x[at];
        }
        last[n] = s;
    }
}
