/* The engine: drives one run. A pure function (core/loop/next.h) names the next step from the run
 * state; this carries it out: starts effects (builds overlap, one device slot), takes their
 * results, reads the inbox between steps, appends events in few commits.
 *
 * Runs in the calling thread until the run ends, is stopped or left. Never waits for a terminal. */
#ifndef WARPLOOP_LOOP_ENGINE_H
#define WARPLOOP_LOOP_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/task/task.h"

/* What a new run is made of. */
struct run_opts {
    const char *task;  /* name or folder */
    const char *agent; /* "tuner", "replay:FILE", "outside" */
    const char *goal;  /* text; NULL: one made from the task */
    double target;     /* NaN: the task's */
    double hours;      /* 0: 8 */
    int64_t calls;     /* 0: none */
    int jobs;          /* 0: 2, or 1 on a single core */
    uint64_t seed;     /* 0: from the clock */
    const char *jail;  /* "auto" or "none" */
};

/* Make the run's file with its first events (RUN_CREATED, GOAL, baseline and start versions).
 * *path is the caller's to free. */
bool engine_create(const struct run_opts *o, char **path, struct error *e) WARN_UNUSED;

struct engine_opts {
    int stop_fd; /* readable: stop (first byte: at the next safe point, second: at once); -1 */
    int wake_fd; /* an eventfd that is written after each commit, to wake the UI; -1 */
    /* called in the engine's thread when an engine has started; may be NULL */
    void (*started)(void *ctx);
    void *ctx;
    const char *jail; /* NULL: "auto" */
    /* for tests: called before every commit with a running number; may end the process */
    void (*before_commit)(int64_t n);
};

enum engine_result { ENGINE_ENDED, ENGINE_STOPPED, ENGINE_FAILED };

/* Drive the run at path. ERR_BUSY when another engine does (its pid and host are named).
 *
 * A paused run is taken up and stays paused until a `resume` comes through the inbox. A run that
 * has ended by an error is reopened; one that has met its target, spent its budget or stalled is
 * reopened only by what lies in the inbox (a goal, a submission, a resume), else ENGINE_ENDED comes
 * back at once and nothing is written.
 * ENGINE_STOPPED: stop_fd or a `stop` from the inbox; the run goes on with the next engine_run.
 * ENGINE_FAILED: *e says why; the children are gone, what was committed stands. */
enum engine_result engine_run(const char *path, const struct engine_opts *o, struct error *e);

/* Make a new run from the run at `path` as it was right after `version` was judged (-1: as it is
 * now). What was in flight then is repeated by the new run's engine. *new_path is the caller's. */
bool engine_fork(const char *path, int64_t version, char **new_path, struct error *e) WARN_UNUSED;

#endif
