#include "core/loop/calibrate.h"

#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/log/event.h"
#include "core/loop/backend.h"
#include "core/task/spec.h"

#define STEP_MAX 64.0

struct asked {
    bool done;
    enum verdict verdict;
    struct buf object;
    char *message;
    struct calibration found;
};

static void take_shapes(struct asked *a, const cJSON *head)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(head, "shapes"))
    {
        double ns = json_num(s, "ns", 0);
        if (ns <= a->found.ns)
            continue;
        a->found = (struct calibration){.ns = ns,
                                        .below = json_bool(s, "below_resolution", false),
                                        .gflops = json_num(s, "gflops", (double)NAN)};
    }
}

static void on_event(void *ctx, const struct backend_event *ev)
{
    struct asked *a = ctx;
    if (ev->news == BACKEND_PROGRESS)
        return;
    a->done = true;
    free(a->message);
    if (ev->news != BACKEND_RESULT) {
        a->verdict = ev->news == BACKEND_TIMEOUT ? VERDICT_TIMEOUT : VERDICT_INFRA;
        a->message = xstrdup(ev->why);
        return;
    }
    const struct buf *object = wire_part(ev->msg, "object");
    a->verdict = verdict_of(json_str(ev->msg->head, "verdict", ""));
    a->message = xstrdup(json_str(ev->msg->head, "message", ""));
    if (object)
        buf_add(&a->object, object->s, object->len);
    take_shapes(a, ev->msg->head);
}

/* One request from start to end; *m is taken. */
static bool ask(struct backend *be, enum worker_kind kind, struct wire_msg *m, struct asked *a,
                struct error *e)
{
    a->done = false;
    if (!backend_start(be, kind, 1, m, e))
        return false;
    while (!a->done) {
        struct pollfd fds[BACKEND_FDS(1)];
        size_t n = backend_fds(be, fds, ARRAY_LEN(fds));
        int64_t left = backend_deadline(be);
        left = left == INT64_MAX ? 1000000000 : left - clock_mono_ns();
        poll(fds, (nfds_t)n, left < 0 ? 0 : left > 1000000000 ? 1000 : (int)(left / 1000000) + 1);
        backend_collect(be, on_event, a);
    }
    return true;
}

static bool build(struct backend *be, const struct task *t, bool reference, const char *jail,
                  struct asked *a, struct error *e)
{
    struct spec_opts o = {.id = 1, .jail = jail};
    struct wire_msg m;
    const char *source = reference ? t->c.reference : t->c.baseline;
    spec_build(t, reference ? ROLE_REFERENCE : ROLE_BASELINE, source, strlen(source), &o, &m);
    if (!ask(be, WORKER_BUILD, &m, a, e))
        return false;
    return a->verdict == VERDICT_OK ||
           error_set(e, a->verdict == VERDICT_INFRA ? ERR_SYSTEM : ERR_INPUT,
                     "the %s does not build: %.700s", reference ? "reference" : "baseline",
                     a->message);
}

static bool measure(struct backend *be, const struct task *t, const char *jail,
                    const struct asked *built, struct asked *a, struct error *e)
{
    struct eval_parts parts = {.baseline = &built[0].object, .reference = &built[1].object};
    struct spec_opts o = {.id = 1, .jail = jail, .seed = 1, .sets_min = 1, .sets_max = 1};
    struct wire_msg m;
    if (!spec_evaluate(t, EVAL_BASELINE, &parts, &o, &m, e) || !ask(be, WORKER_BENCH, &m, a, e))
        return false;
    if (a->verdict == VERDICT_OK && a->found.ns > 0)
        return true;
    if (a->verdict == VERDICT_TIMEOUT || strstr(a->message, "did not end within")) {
        a->found = (struct calibration){.ns = (double)t->c.call_ms * 1e6, .timeout = true};
        return true;
    }
    /* To a run a baseline that fails is the machine's fault; here it is the task's. */
    bool infra = a->verdict == VERDICT_INFRA;
    bool theirs = !infra || strncmp(a->message, "the baseline", 12) == 0 ||
                  strncmp(a->message, "the reference", 13) == 0;
    return error_set(e, theirs ? ERR_INPUT : ERR_SYSTEM, "%s%s%.700s",
                     infra ? "" : verdict_name(a->verdict), infra ? "" : ": ", a->message);
}

bool calibrate(const struct task *t, const char *jail, struct calibration *out, struct error *e)
{
    struct backend *be = backend_new(1);
    struct asked built[2] = {{0}}, timed = {0};
    bool ok = build(be, t, false, jail, &built[0], e) && build(be, t, true, jail, &built[1], e) &&
              measure(be, t, jail, built, &timed, e);
    *out = timed.found;
    backend_free(be);
    for (size_t i = 0; i < ARRAY_LEN(built); i++) {
        buf_free(&built[i].object);
        free(built[i].message);
    }
    buf_free(&timed.object);
    free(timed.message);
    return ok;
}

double calibrate_step(const double *factor, const double *ns, size_t n, double power,
                      double want_ns)
{
    if (n >= 2) { /* time grows with some power of the factor */
        double rise = log(ns[n - 1] / ns[n - 2]) / log(factor[n - 1] / factor[n - 2]);
        power = isfinite(rise) && rise > 0.25 ? fmin(rise, 6) : power;
    }
    double step = pow(want_ns / ns[n - 1], 1 / power);
    return fmin(fmax(step, 1 / STEP_MAX), STEP_MAX);
}
