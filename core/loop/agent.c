#include "core/loop/agent.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/loop/replay.h"
#include "core/loop/tuner.h"

void proposal_free(struct proposal *p)
{
    free(p->config);
    free(p->strategy);
    free(p->hypothesis);
    buf_free(&p->source);
    *p = (struct proposal){.predicted = (double)NAN};
}

/* The agents without memory of their own need nothing but the task. */
struct stateless {
    const struct task *t;
};

static enum agent_answer ask_tuner(void *self, const struct run_state *s, struct proposal *p,
                                   struct error *e)
{
    const struct stateless *a = self;
    return tuner_propose(a->t, s, p, e);
}

/* Versions come in through `submit` from other processes. */
static enum agent_answer ask_nobody(void *self, const struct run_state *s, struct proposal *p,
                                    struct error *e)
{
    (void)self, (void)s, (void)p, (void)e;
    return AGENT_WAITS;
}

bool agent_open(const char *name, const struct task *t, struct agent *out, struct error *e)
{
    bool tuner = strcmp(name, "tuner") == 0;
    if (strncmp(name, "replay:", 7) == 0)
        return replay_open(name + 7, t, out, e);
    if (!tuner && strcmp(name, "outside") != 0)
        return error_set(e, ERR_INPUT,
                         "there is no agent \"%.80s\"; there are: tuner (built in), "
                         "outside (waits for `warploop submit`), replay:FILE (a "
                         "recorded run)",
                         name);
    struct stateless *self = xcalloc(1, sizeof *self);
    self->t = t;
    *out = (struct agent){.name = tuner ? "tuner" : "outside",
                          .propose = tuner ? ask_tuner : ask_nobody,
                          .free = free,
                          .self = self};
    return true;
}

void agent_close(struct agent *a)
{
    if (a->free)
        a->free(a->self);
    *a = (struct agent){0};
}
