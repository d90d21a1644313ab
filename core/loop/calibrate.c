#include "core/loop/calibrate.h"

#include <math.h>
#include <string.h>

#include "core/base/json.h"
#include "core/loop/trial.h"

#define STEP_MAX 64.0

static void take_slowest(const cJSON *result, struct calibration *out)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(result, "shapes"))
    {
        double ns = json_num(s, "ns", 0);
        if (ns > out->ns)
            *out = (struct calibration){.ns = ns,
                                        .below = json_bool(s, "below_resolution", false),
                                        .gflops = json_num(s, "gflops", (double)NAN)};
    }
}

static bool take(const struct task *t, const struct trial *r, struct calibration *out,
                 struct error *e)
{
    take_slowest(r->result, out);
    if (r->verdict == VERDICT_OK && out->ns > 0)
        return true;
    if (r->verdict == VERDICT_TIMEOUT || strstr(r->message, "did not end within")) {
        *out = (struct calibration){.ns = (double)t->c.call_ms * 1e6, .timeout = true};
        return true;
    }
    /* To a run a baseline that fails is the machine's fault; here it is the task's. */
    bool infra = r->verdict == VERDICT_INFRA;
    bool theirs = !infra || strncmp(r->message, "the baseline", 12) == 0 ||
                  strncmp(r->message, "the reference", 13) == 0;
    return error_set(e, theirs ? ERR_INPUT : ERR_SYSTEM, "%s%s%.700s",
                     infra ? "" : verdict_name(r->verdict), infra ? "" : ": ", r->message);
}

bool calibrate(const struct task *t, const char *jail, struct calibration *out, struct error *e)
{
    struct trial_opts o = {.jail = jail, .stop_fd = -1};
    struct trials *s = trials_new(t, &o, e);
    struct trial r = {0};
    *out = (struct calibration){0};
    bool ok = s && trials_baseline(s, &r, e) && take(t, &r, out, e);
    trial_free(&r);
    trials_free(s);
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
