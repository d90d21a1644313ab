/* Verdicts: what a bench's answer, a failed build or a known plan makes of a version. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/loop/engine_private.h"

#define BODY_KEEP ((size_t)256 << 10)

static void call_done(struct engine *g, const struct version *v, enum verdict verdict, int64_t ns)
{
    if (v->call <= 0)
        return;
    struct event ev = event_make(EV_CALL_DONE);
    ev.id = v->call;
    ev.ref = v->id;
    ev.code = (int)verdict;
    ev.n = ns;
    engine_add(g, ev);
}

/* Three in a row that failed through no fault of theirs: something is wrong with the machine, and
 * going on would only spend the budget. */
static void watch_infra(struct engine *g, const char *message)
{
    if (g->facts.infra_row < INFRA_IN_A_ROW || g->s->paused)
        return;
    char *cause = xasprintf("%d versions in a row failed through no fault of theirs; the last one: "
                            "%s",
                            g->facts.infra_row, message);
    engine_pause(g, 3, cause);
    free(cause);
}

/* The TRY with what follows from it. `ev` has everything but id, code and ref. */
static void close_version(struct engine *g, int64_t version, enum verdict verdict, struct event ev,
                          bool record)
{
    ev.id = version;
    ev.code = (int)verdict;
    ev.ref = g->s->incumbent;
    engine_add(g, ev);
    const struct version *v = state_version(g->s, version);
    if (record) {
        struct event r = event_make(EV_RECORD);
        r.id = version;
        r.x = ev.x;
        r.lo = ev.lo;
        r.hi = ev.hi;
        r.y = ev.y;
        engine_add(g, r);
    }
    call_done(g, v, verdict, v->time_ns);
    watch_infra(g, ev.text);
}

/* A number that JSON can hold and the log stores; anything else is absent. */
static double number(const cJSON *o, const char *key)
{
    double x = json_num(o, key, (double)NAN);
    return isfinite(x) ? x : (double)NAN;
}

void engine_judge_bench(struct engine *g, int64_t version, enum verdict verdict, cJSON *result,
                        const char *message, int64_t ns)
{
    const struct version *v = state_version(g->s, version);
    struct event ev = event_make(EV_TRY);
    struct hash plan = v->plan; /* the version moves when the state grows */
    char *body = NULL;
    ev.n = ns;
    ev.hash = plan.hex;
    ev.text = message;
    bool record = false;
    if (result) {
        body = engine_reply_body(result);
        if (strlen(body) > BODY_KEEP) {
            free(body);
            body = xstrdup("{}");
        }
        ev.body = body;
        ev.x = number(result, "speedup");
        ev.lo = number(result, "lo");
        ev.hi = number(result, "hi");
        ev.y = number(result, "gain");
        /* Without an incumbent the first right version becomes it, however slow. */
        record =
            verdict == VERDICT_OK && (g->s->incumbent < 0 || json_bool(result, "record", false));
    }
    close_version(g, version, verdict, ev, record);
    free(body);
}

static void judge_same(struct engine *g, const struct version *v, int64_t other)
{
    const struct version *known = state_version(g->s, other);
    struct event ev = event_make(EV_TRY);
    struct hash plan = v->plan;
    int64_t version = v->id;
    ev.hash = plan.hex;
    ev.x = known->speedup;
    ev.lo = known->lo;
    ev.hi = known->hi;
    /* Its gain over today's incumbent follows from the two speedups only roughly, and a rough
     * number is not shown as a measured one; over itself it is none. */
    ev.y = g->s->incumbent == other ? 1.0 : (double)NAN;
    char *body = engine_body(g, known->try_seq);
    char *text = xasprintf("the very program of v%lld (%s): its result holds, nothing was measured "
                           "again",
                           (long long)other, verdict_name(known->verdict));
    ev.body = body;
    ev.text = text;
    close_version(g, version, VERDICT_SAME, ev, false);
    free(body);
    free(text);
}

void engine_judge(struct engine *g, int64_t version)
{
    const struct version *v = state_version(g->s, version);
    if (v->build == VERDICT_OK) {
        judge_same(g, v, next_same_plan(g->s, v));
        return;
    }
    struct event ev = event_make(EV_TRY);
    enum verdict verdict = v->build;
    ev.n = v->time_ns;
    char *text = engine_event_text(g, v->build_seq);
    ev.text = text;
    close_version(g, version, verdict, ev, false);
    free(text);
}

bool engine_take_baseline(struct engine *g, cJSON *result, struct error *e)
{
    const cJSON *shapes = cJSON_GetObjectItemCaseSensitive(result, "shapes"), *s;
    double sum = 0, lo = 0, hi = 0, peak = 0;
    int n = 0, with_peak = 0;
    cJSON_ArrayForEach(s, shapes)
    {
        /* The spread is a share of the time: the standard deviation over process sets. */
        double ns = number(s, "ns"), half = number(s, "ns_spread") * ns / 2, share;
        if (isnan(ns))
            ns = number(s, "baseline_ns");
        if (!(ns > 0))
            return error_set(e, ERR_CHILD, "the bench gave no time for shape %.60s",
                             json_str(s, "name", "?"));
        if (!(half >= 0 && half < ns))
            half = 0;
        sum += log(ns);
        lo += log(ns - half);
        hi += log(ns + half);
        n++;
        share = number(s, "peak_share");
        if (!isnan(share)) {
            peak += share;
            with_peak++;
        }
    }
    if (!n)
        return error_set(e, ERR_CHILD, "the bench measured no shape");
    struct event ev = event_make(EV_BASELINE);
    ev.x = exp(sum / n);
    ev.lo = exp(lo / n);
    ev.hi = exp(hi / n);
    if (with_peak)
        ev.y = peak / with_peak;
    char *body = engine_reply_body(result);
    ev.body = body;
    engine_add(g, ev);
    free(body);
    return true;
}
