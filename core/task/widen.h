/* A C source in float64, by replacing tokens: float -> double, expf -> exp, 1.5f -> 1.5, FLT_MAX ->
 * DBL_MAX. `const float *` stays as it is: inputs are floats, and what a function only reads. All
 * else is kept (line splices are joined).
 *
 * Text, not types: a source that looks at the bytes of a float, uses intrinsics, or hands float
 * and double arrays to one helper does not survive it. The caller checks the result against the
 * source it was made from. */
#ifndef WARPLOOP_TASK_WIDEN_H
#define WARPLOOP_TASK_WIDEN_H

#include "core/base/buf.h"
#include "core/task/lex.h"

/* Where a word is called by another name in the result. */
struct widen_rename {
    const char *from, *to;
};

/* Appends the result to out. false with *problem at a token that cannot be carried over. */
bool widen_source(const struct tokens *t, const struct widen_rename *names, size_t n,
                  struct buf *out, const struct token **problem);

#endif
