/* Makes a run file with a given number of events of a real run's mix: about 20 events a tool call,
 * bodies, sources and objects of the sizes that a run of the `c` back end has. The same options
 * give the same file but for nothing. For tests and benches of size and speed. */
#ifndef WARPLOOP_TESTS_SUPPORT_MKRUN_H
#define WARPLOOP_TESTS_SUPPORT_MKRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/log/log.h"

struct mkrun_opts {
    int64_t events;      /* at least so many; the last call is completed */
    int64_t calls;       /* or so many tool calls, when events is 0 */
    size_t source_bytes; /* of each version's source; 0: 6000 */
    size_t object_bytes; /* of the object kept with each build; 0: none is kept */
    bool small_bodies;   /* a few words in place of a bench's whole result */
    int commits;         /* a call's events in so many batches; 0: 100 calls a batch */
};

struct mkrun_stats {
    int64_t events, calls, versions, commits;
    int64_t cpu_ns, wall_ns; /* of writing, the making of the texts left out as far as possible */
};

/* The first events of a run: RUN_CREATED, GOAL, baseline and start, ENGINE_STARTED, BASELINE. */
bool mkrun_begin(struct log *log, struct error *e);
/* The events of tool call number `call` (from 1), which makes version call + 1. */
bool mkrun_call(struct log *log, int64_t call, const struct mkrun_opts *o, struct error *e);
/* A whole file at `path`, which must not exist. stats may be NULL. */
bool mkrun(const char *path, const struct mkrun_opts *o, struct mkrun_stats *stats,
           struct error *e);

#endif
