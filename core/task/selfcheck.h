/* Sources that prove a task: honest ones that must pass its check, and cheats that must not.
 *
 * A task whose check zeros, constants, untouched outputs, a dropped history or a missing final
 * state would pass measures nothing. The generic cheats are made from the signature; a task
 * declares those that need to know its mathematics ("cheats" in task.json). */
#ifndef WARPLOOP_TASK_SELFCHECK_H
#define WARPLOOP_TASK_SELFCHECK_H

#include "core/log/event.h"
#include "core/task/task.h"

enum selfcheck_kind {
    SELFCHECK_HONEST,      /* baseline, start: must pass */
    SELFCHECK_COMBINATION, /* a configuration of the moves: must pass */
    SELFCHECK_CHEAT,       /* must be refused by the check */
};

struct selfcheck_case {
    enum selfcheck_kind kind;
    char *name;   /* "zeros", "missing ST", "chunkwise CHUNK=16" ... */
    char *source; /* a whole candidate */
};

/* Baseline and start, each move by itself, further combinations up to `combinations` in all (spread
 * over the space, always the same ones), and the cheats: zeros, ones, untouched, NaN, the input
 * copied, half of an output, an output missing, and the task's own. Fails when the moves' source
 * does not resolve, or when its configuration "start" is not the start source. Free with
 * selfcheck_free. */
bool selfcheck_cases(const struct task *t, size_t combinations, struct selfcheck_case **cases,
                     size_t *n, struct error *e) WARN_UNUSED;
void selfcheck_free(struct selfcheck_case *cases, size_t n);

/* Whether a verdict is what the case calls for. A cheat must be found out by the check itself: that
 * it does not build, or is slow, proves nothing. */
bool selfcheck_holds(enum selfcheck_kind kind, enum verdict verdict);

#endif
