/* Long lists of text that wraps: where a window into them stands.
 *
 * Items are numbered from 0 and only ever added; their text is asked for when it is needed, so a
 * million of them cost nothing. A position is an item and a row inside it, so a change of width or
 * of what lies above never moves what is being read. While the end is shown the window follows it;
 * once scrolled up it stays, and counts what came since. */
#ifndef WARPLOOP_TUI_WRAP_H
#define WARPLOOP_TUI_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

#define WRAP_MAX_ROWS 200 /* an item's rows beyond these are not shown */

/* Where the rows of a text of n bytes begin when it is broken to `width` columns (at spaces where
 * possible, never inside a character): fills starts[0..rows) with byte offsets, returns rows, at
 * least 1, at most WRAP_MAX_ROWS. Rows after the first have `indent` columns less. */
size_t wrap_text(const char *s, size_t n, int width, int indent, size_t starts[WRAP_MAX_ROWS]);

/* Rows of item i at the current width, at least 1. */
typedef size_t wrap_height_fn(void *ctx, size_t i);

struct scroll {
    size_t n;    /* items */
    size_t item; /* first one shown, and its first row */
    size_t row;
    bool follow;
    size_t seen; /* items there were when following was left */
    int height;  /* rows of the window */
};

void scroll_init(struct scroll *s);
/* There are n items now, shown in `height` rows. Follows the end if it did, else stays. */
void scroll_update(struct scroll *s, size_t n, int height, wrap_height_fn *fn, void *ctx);
/* Rows down (up if negative); reaching the end follows again. */
void scroll_by(struct scroll *s, int rows, wrap_height_fn *fn, void *ctx);
void scroll_top(struct scroll *s, wrap_height_fn *fn, void *ctx);
void scroll_end(struct scroll *s, wrap_height_fn *fn, void *ctx);
/* Bring item i into the window (near its middle), without following. */
void scroll_to(struct scroll *s, size_t i, wrap_height_fn *fn, void *ctx);
/* How many came since the end was left; 0 while following. */
size_t scroll_new(const struct scroll *s);

#endif
