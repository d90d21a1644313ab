/* Where the panes lie: a pure function of the terminal's size, the pane with the focus, and zoom.
 *
 * Every pane has a title row of its own; panes beside each other are parted by one column. Where
 * there is no room for all, the one with the focus is shown alone; the status lines come first in
 * the end, so that even a 1x1 terminal shows the head of the state. Nothing overlaps, nothing lies
 * outside. */
#ifndef WARPLOOP_TUI_LAYOUT_H
#define WARPLOOP_TUI_LAYOUT_H

#include <stdbool.h>

#include "tui/grid.h"

enum pane_id {
    PANE_SOURCE,
    PANE_GRAPH,
    PANE_COUNTERS,
    PANE_REASONING,
    PANE_STATUS, /* never has the focus */
    PANE_COUNT
};

struct layout {
    struct rect pane[PANE_COUNT]; /* title row included; h == 0: not shown */
    struct rect divider[2];       /* vertical lines between panes; h == 0: none */
    bool single;                  /* only the pane with the focus is shown */
};

/* rows and cols of at least 1 (less is taken as 1). focus: a pane but PANE_STATUS. */
struct layout layout_make(int rows, int cols, enum pane_id focus, bool zoom);

#endif
