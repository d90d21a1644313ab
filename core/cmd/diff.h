/* Two versions of a run against each other: shared by `warploop diff` and the demo. */
#ifndef WARPLOOP_CMD_DIFF_H
#define WARPLOOP_CMD_DIFF_H

#include "core/cmd/view.h"

/* The unified diff of the sources, made fit for a terminal; a line that says so when equal. */
bool diff_versions(struct run_view *v, int64_t a, int64_t b, int context, struct buf *out,
                   struct error *e) WARN_UNUSED;
/* What was measured of both: speedups, counters, instruction mix. */
void diff_evidence(struct run_view *v, int64_t a, int64_t b, struct buf *out);

#endif
