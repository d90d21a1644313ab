/* Agents: who proposes the next kernel. The engine asks; an agent answers from the run state alone,
 * so that a restarted engine gets the same answer to the same question. */
#ifndef WARPLOOP_LOOP_AGENT_H
#define WARPLOOP_LOOP_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/log/state.h"
#include "core/task/task.h"

/* One thing to try. Owned texts; proposal_free. */
struct proposal {
    char *config;     /* canonical text of moves and tunables, or a name for free source */
    char *strategy;   /* the move or tunable that is being tried, the ledger's key */
    char *hypothesis; /* why this should help, with the prediction, one line */
    double predicted; /* gain over the incumbent, NaN none */
    int64_t parent;   /* version it is derived from */
    struct buf source;
};
void proposal_free(struct proposal *p);

enum agent_answer {
    AGENT_PROPOSES, /* *p is filled */
    AGENT_WAITS,    /* nothing until results in flight are in */
    AGENT_FINISHED, /* nothing left to try (stalled); *e may say why */
    AGENT_FAILED,   /* *e says why */
};

struct agent {
    const char *name;
    /* Pure in (state, task): asked again with the same it gives the same. Tries that are in flight
     * stand in the state as versions without a verdict; what was proposed before is a version. */
    enum agent_answer (*propose)(void *self, const struct run_state *s, struct proposal *p,
                                 struct error *e);
    void (*free)(void *self);
    void *self;
};

/* tuner: built in, no model, no network (core/loop/tuner.h). replay: core/loop/replay.h. outside:
 * an agent that only waits for `submit` from other processes. */
bool agent_open(const char *name, const struct task *t, struct agent *out,
                struct error *e) WARN_UNUSED;
void agent_close(struct agent *a);

#endif
