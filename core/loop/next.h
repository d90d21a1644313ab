/* The next step of a run, as a pure function of its state: no clock of its own, no I/O. */
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

/* `active_ns`: time at work so far, the running stretch included. `agent_idle`: the agent said that
 * it waits or is finished since the last change of state. */
struct step next_step(const struct run_state *s, int64_t active_ns, bool agent_waits,
                      bool agent_finished);

#endif
