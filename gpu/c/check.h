/* Whether outputs are right: error ratios against float64, limits, and the words for a verdict.
 * Pure functions over arrays; who ran what is the caller's (evaluate.c).
 *
 *     ratio(ref, x) = RMS(ref - x) / (RMS(ref) + 1e-8)
 *
 * over the whole tensor, and for outputs with a head_axis or block_axis also over each block: the
 * axes up to the last of the two are kept apart (block_axis in steps of `block`), those behind are
 * pooled, and the worst block counts, so that a wrong tail or one wrong head cannot hide in the
 * mean. A block's denominator is at least a hundredth of the whole tensor's RMS: rounding in a
 * block of almost nothing is not an error, a wrong one still is 100 times over any sensible limit.
 *
 * limit = min(hard, max(soft, 1.5 x the baseline's own ratio on the same inputs)), for the whole
 * and for the worst block each. NaN and infinity fail. */
#ifndef WARPLOOP_GPU_C_CHECK_H
#define WARPLOOP_GPU_C_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/c/spec.h"

struct check_ratios {
    double whole, block; /* infinite when an element is not finite */
    size_t worst_block;
    bool finite;           /* every element of x */
    bool reference_finite; /* every element of ref */
};

/* Ratios of x against ref, both of extent *shape. */
void check_ratios(const struct ev_buffer *b, const struct extent *shape, const double *ref,
                  const float *x, struct check_ratios *out);

/* The limit for one ratio. */
double check_limit(const struct ev_buffer *b, double baseline);

struct check_result {
    bool ok;
    bool wrong;          /* far over (10 x hard) or not finite, else only inaccurate */
    double error, limit; /* the ratio that is worst in proportion to its limit */
    double baseline;     /* the baseline's ratio that belongs to it */
    size_t index;        /* worst element: the first that is not finite, else the largest error in
                            the worst block (or whole tensor) */
    double got, want;
};

/* Judge x against ref with the baseline's ratios on the same inputs. `off`: ref is not float64 but
 * the baseline's own output, which may be off by these ratios: they widen the limits. NULL: exact.
 */
void check_judge(const struct ev_buffer *b, const struct extent *shape, const double *ref,
                 const float *x, const struct check_ratios *baseline,
                 const struct check_ratios *off, struct check_result *out);

/* "[0,63,1,5]" */
void check_index_text(const struct extent *shape, size_t index, char *out, size_t size);

#endif
