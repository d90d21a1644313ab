#include "core/loop/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/loop/tuner_private.h"

/* What a verdict says about the configuration itself. */
static void read_outcome(struct observation *o, const struct version *v)
{
    o->value = o->gain = (double)NAN;
    switch (v->verdict) {
    case VERDICT_NONE:
        o->open = true;
        return;
    case VERDICT_OK:
    case VERDICT_SCREENED:
    case VERDICT_SAME:
        o->exact = v->verdict != VERDICT_SCREENED;
        if (v->speedup > 0)
            o->value = log(v->speedup);
        if (v->gain > 0)
            o->gain = log(v->gain);
        return;
    case VERDICT_INFRA:
    case VERDICT_CANCELLED:
    case VERDICT_DEAD:
    case VERDICT_COUNT:
        return; /* nothing is known */
    case VERDICT_RULE:
    case VERDICT_BUILD:
    case VERDICT_LAUNCH:
    case VERDICT_FAULT:
    case VERDICT_TIMEOUT:
    case VERDICT_WRONG:
    case VERDICT_INACCURATE:
    case VERDICT_IMPLAUSIBLE:
        o->failed = true;
    }
}

static void observe(struct tuner *u)
{
    u->o = xcalloc(u->s->nversions + 1, sizeof *u->o);
    for (size_t i = 1; i < u->s->nversions; i++) { /* 0 is the baseline */
        const struct version *v = &u->s->versions[i];
        struct observation *o = &u->o[u->n];
        if (!config_parse(u->t, v->config, &o->c, NULL))
            continue;
        o->version = v->id;
        o->against = v->against;
        read_outcome(o, v);
        u->open |= o->open;
        u->n++;
    }
}

static const struct observation *find(const struct tuner *u, int64_t version)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->o[i].version == version)
            return &u->o[i];
    return NULL;
}

/* The best measured in full; `other`: with other moves than these. */
static const struct observation *best_of(const struct tuner *u, bool other, uint64_t moves)
{
    const struct observation *best = NULL;
    for (size_t i = 0; i < u->n; i++) {
        const struct observation *o = &u->o[i];
        if (!o->exact || isnan(o->value) || (other && o->c.moves == moves))
            continue;
        if (!best || o->value > best->value)
            best = o;
    }
    return best;
}

static void choose_bases(struct tuner *u)
{
    const struct version *incumbent = state_version(u->s, u->s->incumbent);
    const struct observation *base = incumbent ? find(u, incumbent->id) : NULL;
    u->best = incumbent && incumbent->speedup > 0 ? log(incumbent->speedup) : (double)NAN;
    if (!base)
        base = best_of(u, false, 0);
    u->base = base ? *base
                   : (struct observation){.c = config_default(u->t),
                                          .version = u->s->nversions > 1 ? 1 : 0,
                                          .value = (double)NAN};
    const struct observation *second = best_of(u, true, u->base.c.moves);
    const struct observation *start = find(u, 1);
    u->start = start ? *start : (struct observation){.version = -1};
    u->second = second ? *second : (struct observation){.version = -1};
}

static bool fill(const struct tuner *u, const struct candidate *k, struct proposal *p,
                 struct error *e)
{
    struct buf source = {0};
    if (!switches_resolve(u->t, u->t->c.moves, &k->c, &source, e)) {
        buf_free(&source);
        return error_prefix(e, "task %s, the source of its moves", u->t->name);
    }
    *p = (struct proposal){.config = config_text(u->t, &k->c),
                           .strategy = tuner_strategy(u, k),
                           .hypothesis = tuner_hypothesis(u, k),
                           .predicted = exp(k->over_best),
                           .parent = k->from->version,
                           .source = source};
    return true;
}

enum agent_answer tuner_propose(const struct task *t, const struct run_state *s, struct proposal *p,
                                struct error *e)
{
    if (!t->c.moves || t->nmoves + t->ntunables == 0) {
        error_set(e, ERR_NOTFOUND,
                  "task %s has no moves that the tuner could combine, so there is nothing to try; "
                  "for kernels of your own, or of an agent: warploop run %s --agent outside, then "
                  "warploop submit RUN FILE --why TEXT --strategy NAME",
                  t->name, t->name);
        return AGENT_FINISHED;
    }
    struct tuner u = {.t = t, .s = s};
    observe(&u);
    tuner_compare(&u);
    choose_bases(&u);
    struct candidate k = tuner_best(&u);
    enum agent_answer answer = AGENT_PROPOSES;
    if (k.phase == PHASE_NONE)
        answer = u.open ? AGENT_WAITS : AGENT_FINISHED;
    else if (k.phase >= PHASE_PAIRS && u.open)
        answer = AGENT_WAITS; /* what is in flight may open better ways */
    else if (!fill(&u, &k, p, e))
        answer = AGENT_FAILED;
    free(u.o);
    free(u.pairs);
    return answer;
}
