/* warploop diff: two versions of a run, with what was measured beside it. */
#include <stdio.h>
#include <string.h>

#include "core/base/diff.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/diff.h"
#include "core/cmd/evidence.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"

static void put_measured(const struct run_state *s, int64_t id, struct buf *out)
{
    const struct version *v = state_version(s, id);
    buf_addf(out, "v%-5lld ", (long long)id);
    if (id == 0) {
        buf_adds(out, "baseline, ");
        put_ns(out, s->baseline_ns);
    } else {
        buf_addf(out, "%s, ",
                 v->verdict == VERDICT_NONE ? "not tried yet" : verdict_name(v->verdict));
        put_speedup(out, v->speedup, v->lo, v->hi);
    }
    if (id != 0) {
        buf_adds(out, "  ");
        put_line(out, v->config ? v->config : "", 90);
    }
    buf_addc(out, '\n');
}

/* The diff as it is, foreign bytes and all; empty when the sources are equal. */
static bool raw_diff(struct run_view *v, int64_t a, int64_t b, int context, struct buf *out,
                     struct error *e)
{
    struct buf sa = {0};
    struct buf sb = {0};
    bool ok = reader_source(v->r, a, &sa, e) && reader_source(v->r, b, &sb, e);
    if (ok) {
        char la[32];
        char lb[32];
        snprintf(la, sizeof la, "v%lld", (long long)a);
        snprintf(lb, sizeof lb, "v%lld", (long long)b);
        diff_unified(la, buf_str(&sa), lb, buf_str(&sb), context, out);
    }
    buf_free(&sa);
    buf_free(&sb);
    return ok;
}

bool diff_versions(struct run_view *v, int64_t a, int64_t b, int context, struct buf *out,
                   struct error *e)
{
    struct buf raw = {0};
    bool ok = raw_diff(v, a, b, context, &raw, e);
    if (ok && raw.len) {
        text_sanitise(out, buf_str(&raw), raw.len, 8);
    } else if (ok) {
        buf_adds(out, "the sources are equal\n");
    }
    buf_free(&raw);
    return ok;
}

void diff_evidence(struct run_view *v, int64_t a, int64_t b, struct buf *out)
{
    struct evidence ea;
    struct evidence eb;
    char na[32];
    char nb[32];
    snprintf(na, sizeof na, "v%lld", (long long)a);
    snprintf(nb, sizeof nb, "v%lld", (long long)b);
    put_measured(v->s, a, out);
    put_measured(v->s, b, out);
    bool have_a = evidence_open(v->r, a, &ea, NULL);
    bool have_b = evidence_open(v->r, b, &eb, NULL);
    if (have_a || have_b) {
        evidence_compare(&ea, na, &eb, nb, out);
    }
    evidence_free(&ea);
    evidence_free(&eb);
}

static void print_both(struct run_view *v, int64_t a, int64_t b, const char *diff, bool source_only)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "run", v->name);
    const int64_t ids[] = {a, b};
    static const char *const names[] = {"a", "b"};
    for (size_t i = 0; i < 2; i++) {
        cJSON_AddItemToObject(o, names[i],
                              source_only ? json_version(state_version(v->s, ids[i]))
                                          : json_version_full(v, ids[i]));
    }
    out_text(o, "diff", diff);
    print_json(o);
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    int64_t x = 0;
    int64_t y = 0;
    struct buf b = {0};
    const char *to = args_pos(a, 2) ? args_pos(a, 2) : "best";
    const char *from = args_pos(a, 1) ? args_pos(a, 1) : "baseline";
    int context = (int)args_whole(a, "context", 3);
    bool json = args_flag(a, "json"), source = args_flag(a, "source");
    bool ok = version_parse(v.s, from, &x, &e) && version_parse(v.s, to, &y, &e) &&
              (json ? raw_diff : diff_versions)(&v, x, y, context, &b, &e);
    if (ok && json) {
        print_both(&v, x, y, buf_str(&b), source);
    } else if (ok) {
        if (!source) {
            buf_addc(&b, '\n');
            diff_evidence(&v, x, y, &b);
        }
        cmd_print(&b);
    }
    buf_free(&b);
    run_view_close(&v);
    return ok ? EXIT_DONE : cmd_fail(&e);
}

static const struct option_desc options[] = {
    {.name = "context",
     .letter = 'U',
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 0,
     .hi = 10000,
     .help = "lines around each change (default 3)"},
    {.name = "source", .kind = OPTION_FLAG, .help = "only the diff, without the counters"},
    JSON_OPTION("one object: both versions with their evidence, the diff"),
    {0},
};

const struct cmd cmd_diff = {
    .name = "diff",
    .usage = "RUN [A] [B]",
    .summary = "two versions: what changed, and the counters",
    .options = options,
    .details =
        "A and B are versions: 7, v7, baseline (the default of A), start, best (the default of\n"
        "B), last. The diff is in unified format; counters and the static instruction mix of\n"
        "both follow.",
    .run = run,
};
