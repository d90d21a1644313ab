/* The built-in tuner: moves first, then tunables, guided by what was measured.
 *
 * A pure function of run state and task. It is honest about what it is: every try states the move,
 * the prediction and why; losing moves stay in the ledger. Reads outcomes (gain, interval, verdict)
 * of versions whose config it can parse; versions by others count only as incumbents. */
#ifndef WARPLOOP_LOOP_TUNER_H
#define WARPLOOP_LOOP_TUNER_H

#include "core/loop/agent.h"
#include "core/task/switches.h"

enum agent_answer tuner_propose(const struct task *t, const struct run_state *s, struct proposal *p,
                                struct error *e);

#endif
