/* A text of styled lines in a window: for panes that show a document (source, counters, help).
 * Holds its own copy; text must be sanitised already. Does not wrap: scrolls both ways. */
#ifndef WARPLOOP_TUI_LINES_H
#define WARPLOOP_TUI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "tui/grid.h"
#include "tui/keys.h"

struct lines {
    struct buf text;  /* all lines, each with its new line */
    struct buf roles; /* enum style_role of each byte of text */
    size_t *begin;    /* where each line begins */
    size_t n, cap;
    bool open;         /* the last line is not ended yet */
    size_t top, left;  /* first line and column shown */
    size_t height;     /* rows of the window when it was last drawn */
    char pattern[100]; /* marked where it occurs; "": nothing */
};

void lines_clear(struct lines *l); /* keeps the window's place and the pattern */
void lines_free(struct lines *l);
/* Add to the last line; lines_end ends it. */
void lines_add(struct lines *l, enum style_role role, const char *s, size_t n);
void lines_addf(struct lines *l, enum style_role role, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Blanks up to column col of the last line (none when it is there already). */
void lines_pad(struct lines *l, int col);
void lines_end(struct lines *l);
/* Foreign text: sanitised, each of its lines a line; `indent` blanks before each. */
void lines_add_foreign(struct lines *l, enum style_role role, const char *s, int indent);

const char *lines_get(const struct lines *l, size_t i, size_t *n);

/* Draw from `top` on. `gutter` (may be NULL) draws what stands before a line, in the `width`
 * columns that it asks for. */
typedef void lines_gutter_fn(void *ctx, size_t line, struct view v);
void lines_draw(struct lines *l, struct view v, int width, lines_gutter_fn *gutter, void *ctx);

/* Scrolling; false when the action is none of it. */
bool lines_key(struct lines *l, enum action a);
/* Bring a line into the window. */
void lines_show(struct lines *l, size_t line);
/* Search on from the window's first line (direction 1 or -1; 0: from there, itself included),
 * round the end. Sets the pattern. False: nowhere. */
bool lines_search(struct lines *l, const char *pattern, int direction);

/* Where `pattern` occurs in s at or after `from`; n when it does not. Small letters in the pattern
 * match both cases. */
size_t text_find(const char *s, size_t n, size_t from, const char *pattern);

#endif
