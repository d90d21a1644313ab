#include "tui/layout.h"

/* Below this there is no use in four panes. */
#define MIN_ROWS  14
#define MIN_COLS  60
/* From here on the source takes the full height of a column of its own. */
#define WIDE_COLS 140
#define WIDE_ROWS 30

/* Four panes in two columns of two: the source above the reasoning, the graph above the
 * counters. */
static void two_by_two(struct layout *l, int rows, int cols)
{
    int left = cols * 11 / 20, right = cols - left - 1;
    int top = (rows + 1) / 2, low = rows - top;
    int graph = top;
    if (rows > 30 && graph > rows * 2 / 5)
        graph = rows * 2 / 5; /* counters need lines more than the graph does */
    l->pane[PANE_SOURCE] = (struct rect){0, 0, top, left};
    l->pane[PANE_REASONING] = (struct rect){top, 0, low, left};
    l->pane[PANE_GRAPH] = (struct rect){0, left + 1, graph, right};
    l->pane[PANE_COUNTERS] = (struct rect){graph, left + 1, rows - graph, right};
    l->divider[0] = (struct rect){0, left, rows, 1};
}

/* Source | graph over counters | reasoning. */
static void three_columns(struct layout *l, int rows, int cols)
{
    int source = cols * 2 / 5, middle = cols * 3 / 10;
    int last = cols - source - middle - 2, graph = rows * 2 / 5;
    l->pane[PANE_SOURCE] = (struct rect){0, 0, rows, source};
    l->divider[0] = (struct rect){0, source, rows, 1};
    l->pane[PANE_GRAPH] = (struct rect){0, source + 1, graph, middle};
    l->pane[PANE_COUNTERS] = (struct rect){graph, source + 1, rows - graph, middle};
    l->divider[1] = (struct rect){0, source + middle + 1, rows, 1};
    l->pane[PANE_REASONING] = (struct rect){0, source + middle + 2, rows, last};
}

struct layout layout_make(int rows, int cols, enum pane_id focus, bool zoom)
{
    struct layout l = {0};
    if (rows < 1)
        rows = 1;
    if (cols < 1)
        cols = 1;
    if (focus < PANE_SOURCE || focus >= PANE_STATUS)
        focus = PANE_SOURCE;
    int status = rows >= 10 ? 2 : 1;
    l.pane[PANE_STATUS] = (struct rect){rows - status, 0, status, cols};
    rows -= status;
    if (rows < 1)
        return l;
    if (zoom || rows + status < MIN_ROWS || cols < MIN_COLS) {
        l.single = true;
        l.pane[focus] = (struct rect){0, 0, rows, cols};
    } else if (cols >= WIDE_COLS && rows >= WIDE_ROWS) {
        three_columns(&l, rows, cols);
    } else {
        two_by_two(&l, rows, cols);
    }
    return l;
}
