/* The list of runs, shared by `warploop ls` and `warploop` alone. */
#ifndef WARPLOOP_CMD_LS_H
#define WARPLOOP_CMD_LS_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct ls_counts {
    size_t runs, running, unreadable;
};

/* The table of all runs, newest first, at most `limit` lines (0: all). Appended to out; nothing
 * when there is none. An unreadable run is a line that says why. */
bool ls_table(struct buf *out, size_t limit, struct ls_counts *counts, struct error *e) WARN_UNUSED;

#endif
