/* The canonical text of a run state, for comparing runs. */
#include <math.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/log/state.h"

/* Every bit counts, and NaN is NaN whatever its sign. */
static void add_real(struct buf *b, const char *name, double v)
{
    if (isnan(v))
        buf_addf(b, " %s=-", name);
    else
        buf_addf(b, " %s=%.17g", name, v);
}

static void add_run(const struct run_state *s, struct buf *b)
{
    buf_addf(b, "run task=%s hash=%s seed=%llu jobs=%d parent=%s from=%lld\n", s->task,
             s->task_hash.hex, (unsigned long long)s->seed, s->jobs,
             s->parent_run ? s->parent_run : "-", (long long)s->forked_from);
    buf_addf(b, "paused=%d code=%d cause=%s\n", s->paused, s->pause_code,
             s->paused && s->pause_cause ? s->pause_cause : "-");
    buf_addf(b, "ended=%d reason=%s\n", s->ended, end_reason_name(s->reason));
    buf_addf(b, "calls=%lld done=%lld notes=%lld unknown=%lld inflight=%zu\n", (long long)s->ncalls,
             (long long)s->ncalls_done, (long long)s->nnotes, (long long)s->unknown, s->ninflight);
    buf_addf(b, "~ baseline have=%d", s->have_baseline);
    add_real(b, "ns", s->baseline_ns);
    add_real(b, "lo", s->baseline_lo);
    add_real(b, "hi", s->baseline_hi);
    add_real(b, "peak", s->baseline_peak);
    buf_addf(b, "\n~ incumbent=%lld since=%lld", (long long)s->incumbent,
             (long long)s->tries_since_record);
    add_real(b, "best", s->best);
    add_real(b, "lo", s->best_lo);
    add_real(b, "hi", s->best_hi);
    buf_addc(b, '\n');
}

static void add_version(const struct version *v, struct buf *b)
{
    buf_addf(b, "version %lld parent=%lld call=%lld source=%s plan=%s config=%s strategy=%s",
             (long long)v->id, (long long)v->parent, (long long)v->call, v->source.hex, v->plan.hex,
             v->config, v->strategy);
    add_real(b, "predicted", v->predicted);
    buf_addf(b, " build=%s tried=%d\n", verdict_name(v->build), v->try_seq != 0);
    buf_addf(b, "~ version %lld verdict=%s against=%lld record=%d", (long long)v->id,
             verdict_name(v->verdict), (long long)v->against, v->record);
    add_real(b, "speedup", v->speedup);
    add_real(b, "lo", v->lo);
    add_real(b, "hi", v->hi);
    add_real(b, "gain", v->gain);
    buf_addc(b, '\n');
}

static void add_strategy(const struct strategy *g, struct buf *b)
{
    buf_addf(b, "strategy %s tries=%lld last=%lld\n", g->name, (long long)g->tries,
             (long long)g->last_version);
    buf_addf(b, "~ strategy %s records=%lld failed=%lld", g->name, (long long)g->records,
             (long long)g->failed);
    add_real(b, "best", g->best);
    add_real(b, "worst", g->worst);
    buf_addc(b, '\n');
}

char *state_canonical(const struct run_state *s)
{
    struct buf b = {0};
    add_run(s, &b);
    for (size_t i = 0; i < s->ngoals; i++) {
        buf_addf(&b, "goal %lld calls=%lld text=%s", (long long)s->goals[i].id,
                 (long long)s->goals[i].calls, s->goals[i].text);
        add_real(&b, "target", s->goals[i].target);
        add_real(&b, "hours", s->goals[i].hours);
        buf_addc(&b, '\n');
    }
    for (size_t i = 0; i < s->nsteers; i++)
        buf_addf(&b, "steer %lld seen=%d\n", (long long)s->steers[i].id, s->steers[i].seen != 0);
    for (size_t i = 0; i < s->nversions; i++)
        add_version(&s->versions[i], &b);
    for (size_t i = 0; i < s->nstrategies; i++)
        add_strategy(&s->strategies[i], &b);
    for (size_t i = 0; i < s->nrecords; i++)
        buf_addf(&b, "~ record %zu version=%lld\n", i, (long long)s->records[i]);
    return buf_take(&b);
}
