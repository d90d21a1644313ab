/* A grid of character cells that panes draw into; only tui/term.c turns it into terminal output.
 *
 * A cell holds one character with its combining marks, a style role and a few flags. Drawing goes
 * through a view: a rectangle of the grid with its own origin, outside of which nothing is drawn.
 * A character of two columns takes a cell and a following cell of width 0; what would be cut in
 * half, at an edge or by later drawing, becomes blank. Controls and other characters that a
 * terminal would obey never enter a cell: they become U+FFFD, whatever the caller forgot. */
#ifndef WARPLOOP_TUI_GRID_H
#define WARPLOOP_TUI_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "tui/style.h"

#define CELL_CHARS 5 /* a base character and at most four marks: what curses can hold */

enum cell_flags {
    CELL_REVERSE = 1, /* selected, or the cursor's line */
    CELL_BOLD = 2,
    CELL_UNDERLINE = 4, /* a search hit */
};

struct cell {
    uint32_t ch[CELL_CHARS]; /* ends at the first 0 */
    uint8_t role;            /* enum style_role */
    uint8_t flags;           /* enum cell_flags */
    uint8_t width;           /* 1, 2, or 0 for the second half of a wide character */
};

/* What the terminal's font and encoding can show. */
enum glyphs {
    GLYPHS_ASCII,  /* nothing but ASCII */
    GLYPHS_BOX,    /* line drawing, but no braille (the Linux console) */
    GLYPHS_BRAILLE /* all of it */
};

struct grid {
    int rows, cols;
    enum glyphs glyphs;
    int cursor_y, cursor_x; /* where the terminal's cursor is shown; -1: hidden */
    struct cell *cells;     /* rows * cols */
};

struct rect {
    int y, x, h, w;
};

/* A part of a grid. Coordinates given to the functions below count from its upper left corner. */
struct view {
    struct grid *g;
    struct rect r; /* always inside the grid */
};

/* Sizes below 1 are taken as 1. The new grid is blank. */
struct grid *grid_new(int rows, int cols, enum glyphs glyphs);
void grid_free(struct grid *g);
void grid_resize(struct grid *g, int rows, int cols);
void grid_clear(struct grid *g); /* blank cells, hidden cursor */
const struct cell *grid_at(const struct grid *g, int y, int x);
/* The text of all rows, trailing blanks removed, each with a new line: for tests and dumps. */
void grid_text(const struct grid *g, struct buf *out);

struct view grid_view(struct grid *g, struct rect r);
/* A part of a view, cut to it. */
struct view view_sub(struct view v, int y, int x, int h, int w);

/* One character; returns its columns (0 when outside). Marks are added to the cell before. */
int view_put(struct view v, int y, int x, uint32_t cp, enum style_role role);
/* UTF-8 text from x on, cut at the view's edge; returns the column after the last one drawn. */
int view_text(struct view v, int y, int x, enum style_role role, const char *s);
int view_textn(struct view v, int y, int x, enum style_role role, const char *s, size_t n);
int view_textf(struct view v, int y, int x, enum style_role role, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
/* Text that ends at the view's right edge; returns the column where it begins. */
int view_right(struct view v, int y, enum style_role role, const char *s);

/* Every cell of a part: a character, a role, or flags to add. */
void view_fill(struct view v, int y, int x, int h, int w, uint32_t cp, enum style_role role);
void view_role(struct view v, int y, int x, int w, enum style_role role);
void view_flags(struct view v, int y, int x, int w, unsigned flags);

/* Lines, in ASCII where the glyphs say so. */
void view_hline(struct view v, int y, int x, int w, enum style_role role);
void view_vline(struct view v, int y, int x, int h, enum style_role role);
/* A frame around the view with a title in its upper edge; returns what is inside (may be empty). */
struct view view_frame(struct view v, const char *title, enum style_role role);

/* Where the terminal's cursor is shown. Outside the view: hidden. */
void view_cursor(struct view v, int y, int x);

/* Columns of UTF-8 text. */
int columns_of(const char *s, size_t n);

#endif
