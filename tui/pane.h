/* A pane: a table of functions and a state of its own. Panes get the model and a view to draw into;
 * they never load, never wait, never touch the terminal. A new pane is one file and one row of the
 * table in workbench.c. */
#ifndef WARPLOOP_TUI_PANE_H
#define WARPLOOP_TUI_PANE_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "tui/grid.h"
#include "tui/keys.h"
#include "tui/layout.h"
#include "tui/model.h"

enum grep_result { GREP_NONE, GREP_HIT, GREP_MORE };

struct pane {
    const char *name;
    const char *title;
    void *(*make)(void);
    void (*free)(void *self);
    /* The run or the selected version changed. May be NULL. */
    void (*recalc)(void *self, const struct model *m);
    /* What the title row says after the title; sanitised. May be NULL. */
    void (*heading)(void *self, const struct model *m, struct buf *out);
    void (*draw)(void *self, const struct model *m, struct view v);
    /* A key of this pane; false: not for it. May change what is selected. */
    bool (*keys)(void *self, struct model *m, enum action a);
    /* Search (direction 1 on, -1 back, 0: anew), for at most some 20 ms: GREP_MORE asks to be
     * called again with direction 1 or -1 as before. NULL: nothing to search here. Without a hit
     * the message says so. */
    enum grep_result (*grep)(void *self, const struct model *m, const char *pattern, int direction,
                             char *message, size_t size);
    /* Forget the search's marks. */
    void (*close)(void *self);
    /* The pane's text as it is meant, not as it is wrapped. */
    void (*copy)(void *self, const struct model *m, struct buf *out);
};

extern const struct pane pane_source, pane_graph, pane_counters, pane_reasoning;

/* The status lines: run, state, progress (first row) and hints (second row, when there is one). */
struct keymap;
void status_draw(const struct model *m, struct view v);
void status_hints(const struct model *m, const struct keymap *keys, struct view v);

#endif
