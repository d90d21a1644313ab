/* The speedup graph: every try as a point, tries without a time on a lane of their own, the best so
 * far as a staircase, the baseline at 1.0 and the goal's target as lines, axes with labels.
 *
 * Pure: draws into a view, in braille (2 x 4 dots a cell) or, where the glyphs say so, in ASCII.
 * Nothing is told apart by colour alone: the staircase is a line, points are single dots, the
 * baseline is dashed, the target dotted, failures are x. Cost: one pass over the points. */
#ifndef WARPLOOP_TUI_GRAPH_H
#define WARPLOOP_TUI_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/grid.h"

enum point_kind {
    POINT_NONE,   /* not tried yet: takes its place on the axis, draws nothing */
    POINT_TIMED,  /* has a speedup */
    POINT_RECORD, /* has one, and raised the staircase */
    POINT_FAILED, /* was not timed: wrong, fault, build ... */
};

struct graph_point {
    double speedup; /* against the baseline; what is not finite and positive counts as failed */
    enum point_kind kind;
};

struct graph_data {
    const struct graph_point *points; /* in the order of tries; index = place on the axis */
    size_t n;
    int64_t first;  /* number of the first one (version), for the labels */
    double target;  /* speedup, NaN: none */
    int64_t marked; /* index of the selected one, -1: none */
};

void graph_draw(struct view v, const struct graph_data *d);

#endif
