#include "gpu/c/report.h"

#include <math.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"

const char *ev_verdict_name(enum verdict_kind k)
{
    static const char *const names[] = {"infra",   "ok",    "screened",   "fault",
                                        "timeout", "wrong", "inaccurate", "implausible",
                                        "launch",  "infra", "infra"};
    return names[k];
}

static void put_verdict(const struct evaluation *ev, cJSON *o)
{
    const struct verdict *v = &ev->verdict;
    cJSON_AddStringToObject(o, "verdict", ev_verdict_name(v->kind));
    cJSON_AddStringToObject(o, "message", v->message);
    if (v->family)
        cJSON_AddStringToObject(o, "family", v->family);
    if (v->shape)
        cJSON_AddStringToObject(o, "shape", v->shape);
    if (v->tensor)
        cJSON_AddStringToObject(o, "tensor", v->tensor);
    if (!v->has_values)
        return;
    json_put_i64(o, "index", (int64_t)v->index);
    json_put_num(o, "got", v->got);
    json_put_num(o, "want", v->want);
    json_put_num(o, "error", v->error);
    json_put_num(o, "limit", v->limit);
}

static void put_interval(cJSON *o, const char *name, const char *lo, const char *hi,
                         const struct stats_interval *i)
{
    json_put_num(o, name, exp(i->mean));
    if (isfinite(i->lo) && isfinite(i->hi)) {
        json_put_num(o, lo, exp(i->lo));
        json_put_num(o, hi, exp(i->hi));
    }
}

static double over_sets(const struct timing *t, size_t shape, int version)
{
    return fmax(stats_median(t->shape[shape].by_version[version].ns, t->sets),
                timing_resolution(t, shape));
}

/* Time of b / time of a: the geometric mean over the sets, with its interval. */
static struct stats_interval ratio_over_sets(const struct timing *t, size_t shape, int a, int b)
{
    double ratio[TIMING_SETS_MAX];
    for (size_t s = 0; s < t->sets; s++)
        ratio[s] = log(timing_ns(t, shape, b, s) / timing_ns(t, shape, a, s));
    return stats_mean_interval(ratio, t->sets, 0.95);
}

/* The standard deviation between sets as a share of the mean. */
static double spread_over_sets(const struct timing *t, size_t shape, int version)
{
    double ns[TIMING_SETS_MAX];
    for (size_t s = 0; s < t->sets; s++)
        ns[s] = timing_ns(t, shape, version, s);
    double sd = stats_sd(ns, t->sets); /* 0: every set is at the bound of what can be resolved */
    return sd > 0 ? sd / stats_mean(ns, t->sets) : (double)NAN;
}

static void put_shapes(const struct evaluation *ev, cJSON *o)
{
    const struct timing *t = &ev->timing;
    int subject = (int)evaluation_subject(ev);
    cJSON *list = cJSON_AddArrayToObject(o, "shapes");
    for (size_t i = 0; i < t->nshapes; i++) {
        const struct ev_shape *s = &ev->r->shape[t->shape[i].shape];
        double median = over_sets(t, i, subject), gflops = s->flop / median;
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "name", s->name);
        struct stats_interval speedup = ratio_over_sets(t, i, subject, V_BASELINE), gain;
        put_interval(x, "speedup", "lo", "hi", &speedup);
        if (t->has_gain) {
            gain = ratio_over_sets(t, i, subject, V_INCUMBENT);
            put_interval(x, "gain", "gain_lo", "gain_hi", &gain);
        }
        json_put_num(x, "ns", median);
        json_put_num(x, "ns_spread", spread_over_sets(t, i, subject));
        json_put_num(x, "baseline_ns", over_sets(t, i, V_BASELINE));
        if (t->has_gain)
            json_put_num(x, "incumbent_ns", over_sets(t, i, V_INCUMBENT));
        json_put_num(x, "resolution_ns", timing_resolution(t, i));
        if (timing_below(t, i, subject)) /* times are bounds from above, ratios from below */
            cJSON_AddBoolToObject(x, "below_resolution", true);
        json_put_num(x, "gflops", gflops);
        json_put_num(x, "gbytes", s->bytes / median);
        if (ev->machine->peak_gflops > 0)
            json_put_num(x, "peak_share", gflops / ev->machine->peak_gflops);
        cJSON_AddItemToArray(list, x);
    }
}

static void put_timing(const struct evaluation *ev, cJSON *o)
{
    const struct timing *t = &ev->timing;
    if (t->sets == 0)
        return;
    bool baseline = ev->r->mode == EV_MODE_BASELINE;
    if (baseline) {
        json_put_num(o, "speedup", 1);
    } else {
        put_interval(o, "speedup", "lo", "hi", &t->speedup);
        if (t->has_gain)
            put_interval(o, "gain", "gain_lo", "gain_hi", &t->gain);
        json_put_num(o, "level", 0.95);
        json_put_num(o, "record_level", t->record_level);
        json_put_num(o, "record_lower", t->record_lower);
    }
    cJSON_AddBoolToObject(o, "record", ev->verdict.kind == VERDICT_OK && t->record);
    if (t->shape_loss)
        cJSON_AddBoolToObject(o, "shape_loss", true);
    cJSON_AddNumberToObject(o, "sets", (double)t->sets);
    cJSON *n = cJSON_AddObjectToObject(o, "samples");
    cJSON_AddNumberToObject(n, "taken", (double)t->samples);
    cJSON_AddNumberToObject(n, "retried", (double)t->retried);
    cJSON_AddNumberToObject(n, "disturbed", (double)t->disturbed);
    put_shapes(ev, o);
}

static void put_errors(const struct evaluation *ev, cJSON *o)
{
    cJSON *list = cJSON_AddObjectToObject(o, "errors");
    for (size_t i = 0; i < ev->r->nbuffers; i++) {
        const struct worst_error *w = &ev->worst[i];
        if (!w->known)
            continue;
        cJSON *x = cJSON_AddObjectToObject(list, ev->r->buffer[i].name);
        json_put_num(x, "ratio", w->ratio);
        json_put_num(x, "limit", w->limit);
        json_put_num(x, "baseline", w->baseline);
    }
}

static void put_counters(const struct evaluation *ev, cJSON *o)
{
    static const char *const keys[] = {"value", "incumbent", "baseline"};
    cJSON *list = cJSON_AddArrayToObject(o, "counters");
    for (size_t i = 0; i < ev->counters.n; i++) {
        const struct counter *c = &ev->counters.c[i];
        cJSON *x = cJSON_CreateObject();
        cJSON_AddStringToObject(x, "name", c->name);
        cJSON_AddStringToObject(x, "unit", c->unit);
        for (int v = 0; v < 3; v++)
            if (c->have[v])
                json_put_num(x, keys[v], c->value[v]);
        if (!c->have[0] && !c->have[1] && !c->have[2])
            cJSON_AddStringToObject(x, "absent", c->absent);
        cJSON_AddItemToArray(list, x);
    }
}

static void put_machine(const struct evaluation *ev, cJSON *o)
{
    const struct machine *m = ev->machine;
    cJSON *x = cJSON_AddObjectToObject(o, "machine");
    cJSON_AddStringToObject(x, "cpu", m->cpu);
    cJSON_AddStringToObject(x, "flags", m->flags);
    json_put_num(x, "peak_gflops", m->peak_gflops);
    cJSON_AddStringToObject(x, "peak_how", m->peak_how);
    cJSON_AddNumberToObject(x, "core", m->core);
    cJSON_AddNumberToObject(x, "cores", m->ncores);
    if (m->priority)
        cJSON_AddStringToObject(x, "priority", m->priority);
    cJSON_AddStringToObject(x, "jail", ev->jail);
    cJSON_AddStringToObject(x, "pages", ev->large_pages ? "2 MiB" : "small");
    cJSON_AddStringToObject(x, "clock", "window (CLOCK_MONOTONIC, exit of the child)");
    cJSON_AddStringToObject(x, "cache", "warm (inputs read once before each call)");
    if (ev->timing.sets)
        json_put_num(x, "calibration_ns", timing_empty(&ev->timing, 0));
}

void report_result(const struct evaluation *ev, struct wire_msg *m)
{
    *m = (struct wire_msg){.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m->head, "type", "result");
    cJSON_AddStringToObject(m->head, "id", ev->r->id);
    put_verdict(ev, m->head);
    put_timing(ev, m->head);
    put_errors(ev, m->head);
    put_counters(ev, m->head);
    put_machine(ev, m->head);
    json_put_num(m->head, "seconds", (double)(clock_mono_ns() - ev->begin_ns) / 1e9);
}

void report_refused(const char *id, const struct error *e, struct wire_msg *m)
{
    *m = (struct wire_msg){.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m->head, "type", "result");
    cJSON_AddStringToObject(m->head, "id", id);
    cJSON_AddStringToObject(m->head, "verdict", "infra");
    cJSON_AddStringToObject(m->head, "message", e->msg);
    json_put_num(m->head, "seconds", 0);
}
