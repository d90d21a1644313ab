/* warploop show: a run in one page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/evidence.h"
#include "core/cmd/json_out.h"
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

static cJSON *json_strategy(const struct strategy *t)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "strategy", t->name);
    out_i64(o, "tries", t->tries);
    out_i64(o, "records", t->records);
    out_i64(o, "failed", t->failed);
    out_num(o, "best", t->best);
    out_num(o, "worst", t->worst);
    out_i64(o, "last", t->last_version);
    return o;
}

static cJSON *json_baseline(const struct run_state *s)
{
    if (!s->have_baseline) {
        return cJSON_CreateNull();
    }
    cJSON *o = cJSON_CreateObject();
    out_num(o, "ns", s->baseline_ns);
    out_num(o, "lo_ns", s->baseline_lo);
    out_num(o, "hi_ns", s->baseline_hi);
    out_num(o, "peak_share", s->baseline_peak);
    return o;
}

/* The run in short, and what it is made of. */
static void print_page(struct run_view *v)
{
    const struct run_state *s = v->s;
    const struct goal *g = state_goal(s);
    struct evidence ev = {0};
    cJSON *o = json_run(v);
    out_i64(o, "engines", s->engines);
    out_i64(o, "seed", (int64_t)s->seed);
    out_i64(o, "jobs", s->jobs);
    cJSON_AddItemToObject(o, "goal", g ? json_goal(g) : cJSON_CreateNull());
    cJSON_AddItemToObject(o, "baseline", json_baseline(s));
    cJSON *versions = cJSON_AddArrayToObject(o, "versions");
    for (size_t i = 0; i < s->nversions; i++) {
        cJSON_AddItemToArray(versions, json_version(&s->versions[i]));
    }
    cJSON *strategies = cJSON_AddArrayToObject(o, "strategies");
    for (size_t i = 0; i < s->nstrategies; i++) {
        cJSON_AddItemToArray(strategies, json_strategy(&s->strategies[i]));
    }
    if (s->incumbent >= 0) {
        (void)!evidence_open(v->r, s->incumbent, &ev, NULL);
    }
    cJSON_AddItemToObject(o, "result", json_reply(ev.result.root));
    evidence_free(&ev);
    print_json(o);
}

/* One version in full: what it was for, what was measured, what it was built to. */
static enum exit_code show_version(struct run_view *v, const char *text, bool json)
{
    struct error e = {0};
    int64_t id = 0;
    if (!version_parse(v->s, text, &id, &e)) {
        return cmd_fail(&e);
    }
    if (json) {
        print_json(json_version_full(v, id));
        return EXIT_DONE;
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
        rc = show_version(&v, args_text(a, "version", NULL), args_flag(a, "json"));
    } else if (args_flag(a, "json")) {
        print_page(&v);
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
    JSON_OPTION("one object: the run, or the version with all its evidence"),
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
