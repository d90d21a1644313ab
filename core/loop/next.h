/* The next step of a run, as a pure function of its state: no clock of its own, no I/O.
 *
 * The order of things: baseline and start are built, the baseline is measured, the start is
 * evaluated, then the agent is asked. At most `jobs` effects are in flight, one of them on the
 * device; builds run ahead of it. Versions are judged in the order of their numbers, whatever order
 * their builds end in, so that the same results give the same run. Nothing is started while the run
 * is paused or has ended; what was begun before is finished before a run ends.
 *
 * The reference's build is the engine's own affair (it is no version); it counts as in flight. */
#ifndef WARPLOOP_LOOP_NEXT_H
#define WARPLOOP_LOOP_NEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/log/state.h"

enum step_kind {
    STEP_WAIT,     /* nothing to start: wait for an effect, the inbox or a deadline */
    STEP_BUILD,    /* build version `version` */
    STEP_BASELINE, /* measure the baseline */
    STEP_BENCH,    /* evaluate built version `version` */
    STEP_JUDGE,    /* build failed or plan identical: close the try without a bench */
    STEP_PROPOSE,  /* ask the agent for another version */
    STEP_END,      /* the run ends for `reason` */
};

struct step {
    enum step_kind kind;
    int64_t version;
    enum end_reason reason;
};

/* `active_ns`: time at work so far, the running stretch included. `agent_waits`, `agent_finished`:
 * the agent said so since the last change of state. Costs a look at the last versions only, when
 * all earlier ones are judged. */
struct step next_step(const struct run_state *s, int64_t active_ns, bool agent_waits,
                      bool agent_finished);

/* The version whose stored result version `v` shares, because their plans are identical and it was
 * judged by its own merit; -1: none. The baseline is not one: the start may be the same program and
 * needs a number of its own. */
int64_t next_same_plan(const struct run_state *s, const struct version *v);

#endif
