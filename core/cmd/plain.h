/* The plain form of a followed run: one line a try, for pipes, logs, screen readers and terminals
 * that cannot do better. Everything foreign is made fit for a terminal first. */
#ifndef WARPLOOP_CMD_PLAIN_H
#define WARPLOOP_CMD_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/cmd/view.h"

struct plain {
    struct run_view *view; /* borrowed */
    size_t says;           /* lines of the run's `says` that are printed or skipped */
    int64_t engines;       /* engine starts that were reported */
    int64_t unmarked;      /* version printed before its record was known, -1 none */
    bool json;             /* every event as an object instead */
    int64_t seq;           /* json: the last event that is printed or skipped */
    bool broken;           /* standard output is gone: nothing is printed any more */
};

/* Begin with the last `history` lines of the past (SIZE_MAX: all). */
void plain_begin(struct plain *p, struct run_view *v, size_t history);
/* Read what is new and print it. False only when the run cannot be read. */
bool plain_step(struct plain *p, struct error *e) WARN_UNUSED;

/* The line of a version that has its verdict: version, strategy, prediction, speedup with interval,
 * gain, verdict, record. */
void plain_try(struct reader *r, const struct version *v, struct buf *out);

/* The run in short as one object of kind "run": the first and the last line of JSON. */
void plain_run(const struct run_view *v);

/* The last lines: best speedup with interval, where the kernel lies, how to look again. */
void plain_summary(const struct run_view *v, struct buf *out);

#endif
