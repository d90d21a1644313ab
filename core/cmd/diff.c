/* warploop diff: two versions of a run, with what was measured beside it. */
#include <stdio.h>
#include <string.h>

#include "core/base/diff.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/diff.h"
#include "core/cmd/evidence.h"
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

bool diff_versions(struct run_view *v, int64_t a, int64_t b, int context, struct buf *out,
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
        struct buf raw = {0};
        diff_unified(la, buf_str(&sa), lb, buf_str(&sb), context, &raw);
        text_sanitise(out, buf_str(&raw), raw.len, 8);
        if (raw.len == 0) {
            buf_adds(out, "the sources are equal\n");
        }
        buf_free(&raw);
    }
    buf_free(&sa);
    buf_free(&sb);
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
    bool ok = version_parse(v.s, from, &x, &e) && version_parse(v.s, to, &y, &e) &&
              diff_versions(&v, x, y, (int)args_whole(a, "context", 3), &b, &e);
    if (ok) {
        if (!args_flag(a, "source")) {
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
