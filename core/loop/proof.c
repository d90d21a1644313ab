#include "core/loop/proof.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/loop/backend.h"
#include "core/task/spec.h"

#define BUILDERS  2
#define BASELINE  0 /* jobs: the two programs, then the cases; a request's number is one more */
#define REFERENCE 1
#define CASES     2

/* What became of one request. */
struct job {
    struct buf object;
    enum verdict verdict; /* of the build, then of the check; VERDICT_NONE: not there yet */
    char *message, *family, *shape, *tensor;
    double error, limit;
    int64_t ns;
};

struct proof {
    const struct task *t;
    const struct proof_opts *o;
    struct backend *be;
    struct job *jobs;
    size_t n; /* cases + CASES */
};

static void job_set(struct job *j, enum verdict v, const char *message)
{
    j->verdict = v == VERDICT_NONE ? VERDICT_INFRA : v;
    free(j->message);
    j->message = xstrdup(message);
}

static void take_reply(struct job *j, const struct wire_msg *m)
{
    const cJSON *h = m->head;
    const struct buf *object = wire_part(m, "object");
    job_set(j, verdict_of(json_str(h, "verdict", "")), json_str(h, "message", ""));
    if (object) {
        buf_clear(&j->object);
        buf_add(&j->object, object->s, object->len);
    }
    char **const texts[] = {&j->family, &j->shape, &j->tensor};
    static const char *const keys[] = {"family", "shape", "tensor"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        free(*texts[i]);
        *texts[i] = xstrdup(json_str(h, keys[i], ""));
    }
    j->error = json_num(h, "error", (double)NAN);
    j->limit = json_num(h, "limit", (double)NAN);
}

static void on_event(void *ctx, const struct backend_event *ev)
{
    struct proof *p = ctx;
    struct job *j = &p->jobs[ev->id - 1];
    if (ev->news == BACKEND_PROGRESS)
        return;
    j->ns += ev->ns;
    if (ev->news == BACKEND_RESULT)
        take_reply(j, ev->msg);
    else
        job_set(j, ev->news == BACKEND_TIMEOUT ? VERDICT_TIMEOUT : VERDICT_INFRA, ev->why);
}

static bool start_build(struct proof *p, size_t id, const struct selfcheck_case *cases,
                        struct error *e)
{
    struct spec_opts o = {.id = (int64_t)id + 1, .jail = p->o->jail};
    struct wire_msg m;
    const char *source = id == BASELINE    ? p->t->c.baseline
                         : id == REFERENCE ? p->t->c.reference
                                           : cases[id - CASES].source;
    enum build_role role = id == BASELINE    ? ROLE_BASELINE
                           : id == REFERENCE ? ROLE_REFERENCE
                                             : ROLE_CANDIDATE;
    spec_build(p->t, role, source, strlen(source), &o, &m);
    return backend_start(p->be, WORKER_BUILD, (int64_t)id + 1, &m, e);
}

/* Builds everything, two at a time. */
static bool build_all(struct proof *p, const struct selfcheck_case *cases, struct error *e)
{
    size_t next = 0, done = 0;
    while (done < p->n) {
        done = 0;
        for (size_t i = 0; i < next; i++)
            done += p->jobs[i].verdict != VERDICT_NONE;
        for (; next < p->n && next - done < BUILDERS; next++)
            if (!start_build(p, next, cases, e))
                return false;
        if (done < next)
            (void)backend_wait(p->be, -1, on_event, p);
    }
    for (size_t i = 0; i < CASES; i++)
        if (p->jobs[i].verdict != VERDICT_OK)
            return error_set(e, ERR_INPUT, "task %s: the %s does not build: %.600s", p->t->name,
                             i == BASELINE ? "baseline" : "reference", p->jobs[i].message);
    return true;
}

static bool check(struct proof *p, size_t id, struct error *e)
{
    struct job *j = &p->jobs[id];
    struct eval_parts parts = {.candidate = &j->object,
                               .baseline = &p->jobs[BASELINE].object,
                               .reference = &p->jobs[REFERENCE].object};
    struct spec_opts o = {
        .id = (int64_t)id + 1, .jail = p->o->jail, .seed = hash_mix(p->o->seed, id)};
    struct wire_msg m;
    if (!spec_evaluate(p->t, EVAL_CHECK, &parts, &o, &m, e) ||
        !backend_start(p->be, WORKER_BENCH, (int64_t)id + 1, &m, e))
        return false;
    j->verdict = VERDICT_NONE;
    while (j->verdict == VERDICT_NONE)
        (void)backend_wait(p->be, -1, on_event, p);
    return true;
}

static bool run(struct proof *p, const struct selfcheck_case *cases, proof_fn *fn, void *ctx,
                bool *held, struct error *e)
{
    if (!build_all(p, cases, e))
        return false;
    for (size_t i = CASES; i < p->n; i++) {
        struct job *j = &p->jobs[i];
        if (j->verdict == VERDICT_OK && !check(p, i, e))
            return false;
        struct proof_result r = {.c = &cases[i - CASES],
                                 .verdict = j->verdict,
                                 .holds = selfcheck_holds(cases[i - CASES].kind, j->verdict),
                                 .message = j->message ? j->message : "",
                                 .family = j->family ? j->family : "",
                                 .shape = j->shape ? j->shape : "",
                                 .tensor = j->tensor ? j->tensor : "",
                                 .error = j->error,
                                 .limit = j->limit,
                                 .ns = j->ns,
                                 .done = i - CASES + 1,
                                 .of = p->n - CASES};
        *held &= r.holds;
        fn(ctx, &r);
    }
    return true;
}

bool proof_run(const struct task *t, const struct proof_opts *o, proof_fn *fn, void *ctx,
               bool *held, struct error *e)
{
    struct selfcheck_case *cases;
    size_t n;
    *held = true;
    if (!selfcheck_cases(t, o->combinations, &cases, &n, e))
        return false;
    struct proof p = {.t = t, .o = o, .be = backend_new(BUILDERS), .n = n + CASES};
    p.jobs = xcalloc(p.n, sizeof *p.jobs);
    bool ok = run(&p, cases, fn, ctx, held, e);
    backend_free(p.be);
    for (size_t i = 0; i < p.n; i++) {
        struct job *j = &p.jobs[i];
        buf_free(&j->object);
        void *const owned[] = {j->message, j->family, j->shape, j->tensor};
        for (size_t k = 0; k < ARRAY_LEN(owned); k++)
            free(owned[k]);
    }
    free(p.jobs);
    selfcheck_free(cases, n);
    return ok;
}
