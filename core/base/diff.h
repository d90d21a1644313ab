/* Line diff (Myers) of two texts. Pure. */
#ifndef WARPLOOP_BASE_DIFF_H
#define WARPLOOP_BASE_DIFF_H

#include <stddef.h>

#include "core/base/buf.h"

enum diff_op { DIFF_SAME, DIFF_DELETE, DIFF_INSERT };

struct diff_line {
    enum diff_op op;
    size_t a, b;   /* line numbers from 0 in the old and the new text (the one that applies) */
    const char *s; /* the line without its newline; borrowed from the texts */
    size_t n;
};

/* Every line of both texts in order. The caller frees *lines. Texts over 20,000 lines, or edits
 * over 5,000, come out as one deletion and one insertion block. */
void diff_lines(const char *a, size_t na, const char *b, size_t nb, struct diff_line **lines,
                size_t *n);

/* Unified format with `context` lines and the given labels; nothing when the texts are equal. */
void diff_unified(const char *label_a, const char *a, const char *label_b, const char *b,
                  int context, struct buf *out);

#endif
