/* warploop show: a run in one page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/cmd/cmd.h"
#include "core/cmd/evidence.h"
#include "core/cmd/view.h"

/* Versions shown without --all: the first few and the newest, records always. */
#define SHOW_VERSIONS 24

static void put_head(const struct run_view *v, struct buf *out)
{
    const struct run_state *s = v->s;
    char when[32];
    clock_format(s->created, when, sizeof when);
    buf_addf(out, "run        %s (", v->name);
    put_line(out, s->task ? s->task : "?", 40);
    buf_addf(out, "), made %s, seed %llu, jobs %d\n", when, (unsigned long long)s->seed, s->jobs);
    if (s->parent_run) {
        buf_adds(out, "fork of    ");
        put_line(out, s->parent_run, 60);
        buf_addf(out, "@v%lld\n", (long long)s->forked_from);
    }
    buf_adds(out, "state      ");
    run_status_text(v, out);
    char span[32];
    clock_format_span(state_active_ns(s, clock_wall_ns()), span, sizeof span);
    buf_addf(out, "; %s at work, %lld tool calls, %lld engine%s\n", span, (long long)s->ncalls_done,
             (long long)s->engines, s->engines == 1 ? "" : "s");
    if (s->pause_cause && s->paused) {
        buf_adds(out, "paused by  ");
        put_line(out, s->pause_cause, 200);
        buf_addc(out, '\n');
    }
}

static void put_goal(const struct run_state *s, struct buf *out)
{
    const struct goal *g = state_goal(s);
    if (!g) {
        return;
    }
    buf_addf(out, "goal %-5lld ", (long long)g->id);
    put_line(out, g->text, 300);
    buf_adds(out, "\nbudget     ");
    if (g->hours > 0) {
        buf_addf(out, "%.3g hours", g->hours);
    } else {
        buf_adds(out, "no limit of hours");
    }
    if (g->calls > 0) {
        buf_addf(out, ", %lld tool calls", (long long)g->calls);
    }
    if (!isnan(g->target)) {
        buf_addf(out, ", target %.2fx", g->target);
    }
    buf_addc(out, '\n');
}

static void put_baseline(const struct run_state *s, struct buf *out)
{
    if (!s->have_baseline) {
        buf_adds(out, "baseline   not measured yet\n");
        return;
    }
    buf_adds(out, "baseline   ");
    put_ns(out, s->baseline_ns);
    buf_adds(out, " (");
    put_ns(out, s->baseline_lo);
    buf_adds(out, "..");
    put_ns(out, s->baseline_hi);
    buf_adds(out, ")");
    if (!isnan(s->baseline_peak)) {
        buf_addf(out, ", %.1f %% of this core's measured peak", s->baseline_peak * 100);
    }
    buf_addc(out, '\n');
}

static void put_version(const struct version *v, struct buf *out)
{
    buf_addf(out, "v%lld%s", (long long)v->id, v->record ? "*" : "");
    put_pad(out, 6);
    if (v->id == 0) {
        buf_adds(out, "-");
    } else {
        buf_addf(out, "v%lld", (long long)v->parent);
    }
    put_pad(out, 12);
    buf_adds(out, v->id == 0                   ? "baseline"
                  : v->verdict == VERDICT_NONE ? "..."
                                               : verdict_name(v->verdict));
    put_pad(out, 24);
    put_speedup(out, v->speedup, v->lo, v->hi);
    put_pad(out, 45);
    put_change(out, v->gain);
    put_pad(out, 55);
    put_line(out, v->strategy ? v->strategy : "", 24);
    put_pad(out, 80);
    put_line(out, v->config ? v->config : "", 90);
    buf_addc(out, '\n');
}

static void put_versions(const struct run_state *s, bool all, struct buf *out)
{
    if (s->nversions == 0) {
        return;
    }
    buf_adds(out,
             "\nversion     verdict     speedup              on its    strategy                 "
             "configuration\n      from                              incumbent            "
             "(* = record)\n");
    size_t hidden = 0;
    for (size_t i = 0; i < s->nversions; i++) {
        const struct version *v = &s->versions[i];
        bool shown = all || s->nversions <= SHOW_VERSIONS || i < 2 || v->record ||
                     i + SHOW_VERSIONS - 4 >= s->nversions || v->id == s->incumbent;
        if (shown) {
            put_version(v, out);
        }
        hidden += !shown;
    }
    if (hidden) {
        buf_addf(out, "(%zu older versions without a record are not shown: --all)\n", hidden);
    }
}

static void put_ledger(const struct run_state *s, struct buf *out)
{
    if (s->nstrategies == 0) {
        return;
    }
    buf_adds(out,
             "\nstrategy                  tries  records  failed   best      worst     last\n");
    for (size_t i = 0; i < s->nstrategies; i++) {
        const struct strategy *t = &s->strategies[i];
        put_line(out, t->name, 24);
        put_pad(out, 26);
        buf_addf(out, "%-6lld %-8lld %-8lld ", (long long)t->tries, (long long)t->records,
                 (long long)t->failed);
        put_change(out, t->best);
        put_pad(out, 60);
        put_change(out, t->worst);
        put_pad(out, 70);
        buf_addf(out, "v%lld\n", (long long)t->last_version);
    }
}

static void put_best(struct run_view *v, struct buf *out)
{
    const struct run_state *s = v->s;
    if (s->incumbent < 0) {
        buf_adds(out, "\nno version is right and timed yet\n");
        return;
    }
    buf_addf(out, "\nbest       v%lld: ", (long long)s->incumbent);
    put_speedup(out, s->best, s->best_lo, s->best_hi);
    buf_addf(out, " of the baseline; its source: warploop best %s\n", v->name);
    struct evidence ev;
    if (evidence_open(v->r, s->incumbent, &ev, NULL)) {
        evidence_shapes(&ev, out);
        evidence_counters(&ev, out);
        evidence_machine(&ev, out);
    }
    evidence_free(&ev);
}

static cJSON *json_versions(const struct run_state *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->nversions; i++) {
        const struct version *v = &s->versions[i];
        cJSON *o = cJSON_CreateObject();
        json_put_i64(o, "version", v->id);
        json_put_i64(o, "parent", v->parent);
        cJSON_AddStringToObject(o, "verdict", verdict_name(v->verdict));
        cJSON_AddBoolToObject(o, "record", v->record);
        json_put_num(o, "speedup", v->speedup);
        json_put_num(o, "lo", v->lo);
        json_put_num(o, "hi", v->hi);
        json_put_num(o, "gain", v->gain);
        json_put_i64(o, "against", v->against);
        json_put_num(o, "predicted", v->predicted);
        cJSON_AddStringToObject(o, "strategy", v->strategy ? v->strategy : "");
        cJSON_AddStringToObject(o, "config", v->config ? v->config : "");
        cJSON_AddStringToObject(o, "source", v->source.hex);
        cJSON_AddStringToObject(o, "plan", v->plan.hex);
        json_put_i64(o, "time_ns", v->time_ns);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static cJSON *json_strategies(const struct run_state *s)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < s->nstrategies; i++) {
        const struct strategy *t = &s->strategies[i];
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "strategy", t->name);
        json_put_i64(o, "tries", t->tries);
        json_put_i64(o, "records", t->records);
        json_put_i64(o, "failed", t->failed);
        json_put_num(o, "best", t->best);
        json_put_num(o, "worst", t->worst);
        json_put_i64(o, "last", t->last_version);
        cJSON_AddItemToArray(list, o);
    }
    return list;
}

static void print_json(struct run_view *v)
{
    const struct run_state *s = v->s;
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "run", v->name);
    cJSON_AddStringToObject(o, "path", v->path);
    cJSON_AddStringToObject(o, "task", s->task ? s->task : "");
    cJSON_AddStringToObject(o, "state", run_status_name(v->status));
    if (v->status == RUN_ENDED) {
        cJSON_AddStringToObject(o, "reason", end_reason_name(s->reason));
    }
    if (v->pid) {
        json_put_i64(o, "pid", v->pid);
        cJSON_AddStringToObject(o, "host", v->host);
    }
    const struct goal *g = state_goal(s);
    cJSON *goal = cJSON_AddObjectToObject(o, "goal");
    if (g) {
        json_put_i64(goal, "number", g->id);
        cJSON_AddStringToObject(goal, "text", g->text);
        json_put_num(goal, "target", g->target);
        json_put_num(goal, "hours", g->hours);
        json_put_i64(goal, "calls", g->calls);
    }
    cJSON *base = cJSON_AddObjectToObject(o, "baseline");
    if (s->have_baseline) {
        json_put_num(base, "ns", s->baseline_ns);
        json_put_num(base, "lo_ns", s->baseline_lo);
        json_put_num(base, "hi_ns", s->baseline_hi);
        json_put_num(base, "peak_share", s->baseline_peak);
    }
    json_put_i64(o, "best", s->incumbent);
    json_put_num(o, "speedup", s->best);
    json_put_num(o, "lo", s->best_lo);
    json_put_num(o, "hi", s->best_hi);
    json_put_i64(o, "calls", s->ncalls_done);
    json_put_i64(o, "active_ns", state_active_ns(s, clock_wall_ns()));
    json_put_i64(o, "engines", s->engines);
    cJSON_AddItemToObject(o, "versions", json_versions(s));
    cJSON_AddItemToObject(o, "strategies", json_strategies(s));
    struct evidence ev;
    if (s->incumbent >= 0 && evidence_open(v->r, s->incumbent, &ev, NULL)) {
        cJSON_AddItemToObject(o, "result", cJSON_Duplicate(ev.result.root, true));
        evidence_free(&ev);
    }
    char *text = json_text(o);
    struct buf b = {0};
    buf_addf(&b, "%s\n", text);
    free(text);
    cJSON_Delete(o);
    cmd_print(&b);
}

/* One version in full: what it was for, what was measured, what it was built to. */
static enum exit_code show_version(struct run_view *v, const char *text)
{
    struct error e = {0};
    int64_t id = 0;
    if (!version_parse(v->s, text, &id, &e)) {
        return cmd_fail(&e);
    }
    const struct version *ver = state_version(v->s, id);
    struct buf b = {0};
    put_version(ver, &b);
    struct event ev = {0};
    if (ver->try_seq && reader_event(v->r, ver->try_seq, &ev, NULL)) {
        if (*ev.text) {
            text_block(ev.text, &b);
        }
        event_free_texts(&ev);
    }
    struct evidence evi;
    if (evidence_open(v->r, id, &evi, NULL)) {
        evidence_shapes(&evi, &b);
        evidence_counters(&evi, &b);
        evidence_machine(&evi, &b);
    }
    evidence_build(&evi, &b);
    evidence_free(&evi);
    cmd_print(&b);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    if (args_text(a, "version", NULL)) {
        rc = show_version(&v, args_text(a, "version", NULL));
    } else if (args_flag(a, "json")) {
        print_json(&v);
    } else {
        struct buf b = {0};
        put_head(&v, &b);
        put_goal(v.s, &b);
        put_baseline(v.s, &b);
        put_versions(v.s, args_flag(a, "all"), &b);
        put_ledger(v.s, &b);
        put_best(&v, &b);
        cmd_print(&b);
    }
    run_view_close(&v);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "all", .letter = 'a', .kind = OPTION_FLAG, .help = "every version, however many"},
    {.name = "version",
     .letter = 'v',
     .kind = OPTION_TEXT,
     .value = "V",
     .help = "one version in full (7, v7, baseline, start, best, last)"},
    {.name = "json", .kind = OPTION_FLAG, .help = "one JSON object"},
    {0},
};

const struct cmd cmd_show = {
    .name = "show",
    .usage = "[RUN]",
    .summary = "a run in one page, or one version in full",
    .options = options,
    .details =
        "Goal, baseline, versions, the ledger of strategies, the best with its evidence.\n"
        "Speedups are against the baseline, with the interval over fresh process sets; \"on its\n"
        "incumbent\" is against the best version of that moment. A number that was not measured\n"
        "is \"-\", never 0.",
    .run = run,
};
