#include "core/loop/next.h"

#include <math.h>

#define HOUR_NS 3600e9

static struct step step_make(enum step_kind kind, int64_t version)
{
    return (struct step){.kind = kind, .version = version, .reason = END_NONE};
}

int64_t next_same_plan(const struct run_state *s, const struct version *v)
{
    int64_t id = state_find_plan(s, v->plan.hex);
    return id >= 1 && id < v->id ? id : -1;
}

static bool in_flight(const struct run_state *s, int64_t version, enum effect_kind kind)
{
    for (size_t i = 0; i < s->ninflight; i++)
        if (s->inflight[i].kind == kind && s->inflight[i].version == version)
            return true;
    return false;
}

static bool device_busy(const struct run_state *s)
{
    for (size_t i = 0; i < s->ninflight; i++)
        if (s->inflight[i].kind == EFFECT_BENCH || s->inflight[i].kind == EFFECT_BASELINE)
            return true;
    return false;
}

static bool unjudged(const struct version *v)
{
    return v->id >= 1 && v->verdict == VERDICT_NONE;
}

/* Versions that wait for a verdict, and the first of them: since they are judged in order, they are
 * the list's end. */
static size_t count_unjudged(const struct run_state *s, const struct version **head)
{
    size_t n = 0;
    *head = NULL;
    for (size_t i = s->nversions; i-- > 1 && unjudged(&s->versions[i]);) {
        *head = &s->versions[i];
        n++;
    }
    return n;
}

static enum end_reason end_of(const struct run_state *s, int64_t active_ns)
{
    const struct goal *g = state_goal(s);
    if (!g)
        return END_NONE;
    if (s->incumbent >= 0 && !isnan(g->target) && s->best_lo >= g->target)
        return END_TARGET_MET;
    if ((g->calls > 0 && s->ncalls >= g->calls) ||
        (g->hours > 0 && (double)active_ns >= g->hours * HOUR_NS))
        return END_BUDGET;
    return END_NONE;
}

/* What the device may do next: STEP_WAIT when nothing. */
static struct step device_step(const struct run_state *s, const struct version *head, bool room)
{
    const struct version *base = state_version(s, 0), *start = state_version(s, 1);
    if (!s->have_baseline) {
        bool ready = base && base->build == VERDICT_OK && (!start || start->build != VERDICT_NONE);
        return step_make(ready && room && !device_busy(s) ? STEP_BASELINE : STEP_WAIT, 0);
    }
    if (!head || head->build == VERDICT_NONE || in_flight(s, head->id, EFFECT_BENCH))
        return step_make(STEP_WAIT, 0);
    if (head->build != VERDICT_OK || next_same_plan(s, head) >= 0)
        return step_make(STEP_JUDGE, head->id);
    return step_make(room && !device_busy(s) ? STEP_BENCH : STEP_WAIT, head->id);
}

static struct step build_step(const struct run_state *s, const struct version *head)
{
    const struct version *base = state_version(s, 0);
    if (base && base->build == VERDICT_NONE && !in_flight(s, 0, EFFECT_BUILD))
        return step_make(STEP_BUILD, 0);
    for (size_t i = head ? (size_t)head->id : s->nversions; i < s->nversions; i++) {
        const struct version *v = &s->versions[i];
        if (unjudged(v) && v->build == VERDICT_NONE && !in_flight(s, v->id, EFFECT_BUILD))
            return step_make(STEP_BUILD, v->id);
    }
    return step_make(STEP_WAIT, 0);
}

struct step next_step(const struct run_state *s, int64_t active_ns, bool agent_waits,
                      bool agent_finished)
{
    const struct version *head, *base = state_version(s, 0), *start = state_version(s, 1);
    if (s->paused || s->ended)
        return step_make(STEP_WAIT, 0);
    size_t jobs = s->jobs > 0 ? (size_t)s->jobs : 1, open = count_unjudged(s, &head);
    bool room = s->ninflight < jobs;
    if (base && base->build != VERDICT_NONE && base->build != VERDICT_OK) {
        struct step end = {.kind = STEP_END, .reason = END_ERROR};
        return s->ninflight ? step_make(STEP_WAIT, 0) : end;
    }
    struct step step = device_step(s, head, room);
    if (step.kind == STEP_WAIT && room)
        step = build_step(s, head);
    if (step.kind != STEP_WAIT)
        return step;
    enum end_reason reason = end_of(s, active_ns);
    bool begun = s->have_baseline && (!start || !unjudged(start));
    if (reason == END_NONE && begun && !agent_waits && !agent_finished && open < jobs)
        return step_make(STEP_PROPOSE, 0);
    if (reason == END_NONE && begun && agent_finished)
        reason = END_STALLED;
    if (reason != END_NONE && open == 0 && s->ninflight == 0)
        return (struct step){.kind = STEP_END, .reason = reason};
    return step_make(STEP_WAIT, 0);
}
