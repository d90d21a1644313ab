#include "core/loop/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/loop/backend.h"
#include "core/task/rules.h"
#include "core/task/spec.h"

#define SCREEN_SETS 2 /* the fewest that give an interval */
#define ATTEMPTS    2 /* a fault of ours or of the machine is given one more chance */

/* What became of one request. */
struct reply {
    bool there;
    enum verdict verdict;
    char *message;
    struct buf object;
    cJSON *head;
};

enum { BASELINE, REFERENCE, CANDIDATE, ROLES }; /* requests; the id on the wire is one more */

struct trials {
    const struct task *t;
    const struct trial_opts *o;
    struct backend *be;
    struct reply r[ROLES];
    bool alone; /* the baseline is timed alone: no speedup comes back */
};

static void reply_clear(struct reply *r)
{
    free(r->message);
    buf_free(&r->object);
    cJSON_Delete(r->head);
    *r = (struct reply){0};
}

static void progress(const struct trials *s, const char *stage, int64_t done, int64_t of,
                     const char *text)
{
    if (s->o->progress)
        s->o->progress(s->o->ctx, stage, done, of, text);
}

/* No answer, or none that can be used, is no fault of the kernel's; an "ok" has to bring what it
 * promises: an object or a number. */
static enum verdict read_verdict(const struct trials *s, const struct reply *r)
{
    enum verdict v = verdict_of(json_str(r->head, "verdict", ""));
    bool bench = strcmp(json_str(r->head, "type", ""), "result") == 0;
    double x = json_num(r->head, "speedup", s->alone ? 1 : NO_REAL);
    bool whole = bench ? isfinite(x) && x > 0 : r->object.len > 0;
    return v == VERDICT_NONE || (v == VERDICT_OK && !whole) ? VERDICT_INFRA : v;
}

static void take(const struct trials *s, struct reply *r, struct wire_msg *m)
{
    const struct buf *object = wire_part(m, "object");
    if (object) {
        buf_clear(&r->object);
        buf_add(&r->object, object->s, object->len);
    }
    r->head = m->head;
    m->head = NULL;
    r->message = xstrdup(json_str(r->head, "message", ""));
    r->verdict = read_verdict(s, r);
}

static void on_event(void *ctx, const struct backend_event *ev)
{
    struct trials *s = ctx;
    struct reply *r = &s->r[ev->id - 1];
    if (ev->news == BACKEND_PROGRESS) {
        const cJSON *h = ev->msg->head;
        progress(s, json_str(h, "stage", "?"), json_i64(h, "done", 0), json_i64(h, "of", 0),
                 json_str(h, "text", ""));
        return;
    }
    r->there = true;
    if (ev->news == BACKEND_RESULT) {
        take(s, r, ev->msg);
        return;
    }
    r->verdict = VERDICT_INFRA;
    r->message = xstrdup(ev->why);
}

static bool wait_for(struct trials *s, int role, struct error *e)
{
    while (!s->r[role].there)
        if (!backend_wait(s->be, s->o->stop_fd, on_event, s))
            return error_set(e, ERR_CANCELLED, "interrupted");
    return true;
}

static bool build(struct trials *s, int role, const char *source, size_t n, struct error *e)
{
    static const enum build_role roles[] = {ROLE_BASELINE, ROLE_REFERENCE, ROLE_CANDIDATE};
    struct spec_opts o = {.id = role + 1, .jail = s->o->jail};
    struct wire_msg m;
    reply_clear(&s->r[role]);
    spec_build(s->t, roles[role], source, n, &o, &m);
    return backend_start(s->be, WORKER_BUILD, role + 1, &m, e);
}

static bool build_ours(struct trials *s, struct error *e)
{
    const char *const sources[] = {s->t->c.baseline, s->t->c.reference};
    progress(s, "build", 0, 0, "baseline and reference");
    for (int i = 0; i < CANDIDATE; i++)
        if (!build(s, i, sources[i], strlen(sources[i]), e))
            return false;
    for (int i = 0; i < CANDIDATE; i++) {
        if (!wait_for(s, i, e))
            return false;
        if (s->r[i].verdict != VERDICT_OK)
            return error_set(e, s->r[i].verdict == VERDICT_INFRA ? ERR_CHILD : ERR_INPUT,
                             "the %s does not build: %.600s",
                             i == BASELINE ? "baseline" : "reference", s->r[i].message);
    }
    return true;
}

struct trials *trials_new(const struct task *t, const struct trial_opts *o, struct error *e)
{
    struct trials *s = xcalloc(1, sizeof *s);
    *s = (struct trials){.t = t, .o = o, .be = backend_new(CANDIDATE)};
    if (!build_ours(s, e)) {
        trials_free(s);
        return NULL;
    }
    return s;
}

void trials_free(struct trials *s)
{
    if (!s)
        return;
    backend_free(s->be);
    for (int i = 0; i < ROLES; i++)
        reply_clear(&s->r[i]);
    free(s);
}

/* The back end's quick form needs an incumbent to be clearly slower than: the baseline is that. */
static bool evaluate(struct trials *s, const struct buf *object, struct error *e)
{
    const struct buf *baseline = &s->r[BASELINE].object;
    struct eval_parts parts = {.candidate = object,
                               .baseline = baseline,
                               .reference = &s->r[REFERENCE].object,
                               .incumbent = s->o->screen ? baseline : NULL};
    int sets = s->o->screen ? SCREEN_SETS : 0;
    struct spec_opts o = {.id = CANDIDATE + 1,
                          .jail = s->o->jail,
                          .seed = hash_fresh(0),
                          .sets_min = sets,
                          .sets_max = sets};
    struct wire_msg m;
    return spec_evaluate(s->t, EVAL_FULL, &parts, &o, &m, e) &&
           backend_start(s->be, WORKER_BENCH, CANDIDATE + 1, &m, e);
}

/* What the reply says becomes the trial's, its JSON in *head. */
static void move_reply(struct reply *r, struct trial *out, cJSON **head)
{
    free(out->message);
    cJSON_Delete(*head);
    out->verdict = r->verdict;
    out->message = r->message ? r->message : xstrdup("");
    *head = r->head;
    r->message = NULL;
    r->head = NULL;
}

/* A request that cannot even be made counts as ours, like one that is not answered. */
static bool settle(struct trials *s, bool started, struct error *why, struct trial *out,
                   cJSON **head, struct error *e)
{
    struct reply *r = &s->r[CANDIDATE];
    if (started) {
        if (!wait_for(s, CANDIDATE, e))
            return false;
    } else {
        r->verdict = VERDICT_INFRA;
        r->message = xstrdup(why->msg);
    }
    move_reply(r, out, head);
    return true;
}

static bool attempt(struct trials *s, const char *source, size_t n, struct trial *out,
                    struct error *e)
{
    struct error why = {0};
    progress(s, "build", 0, 0, "");
    bool started = build(s, CANDIDATE, source, n, &why);
    if (!settle(s, started, &why, out, &out->build, e))
        return false;
    if (out->verdict != VERDICT_OK)
        return true;
    struct buf object = s->r[CANDIDATE].object;
    s->r[CANDIDATE] = (struct reply){0};
    started = evaluate(s, &object, &why);
    bool ok = settle(s, started, &why, out, &out->result, e);
    buf_free(&object);
    return ok;
}

bool trials_run(struct trials *s, const char *source, size_t n, struct trial *out, struct error *e)
{
    struct error why = {0};
    int64_t began = clock_mono_ns();
    *out = (struct trial){.verdict = VERDICT_INFRA};
    if (!rules_check_c(s->t, source, n, &out->line, &why)) {
        out->verdict = VERDICT_RULE;
        out->message = xstrdup(why.msg);
    }
    bool ok = true;
    for (int i = 0; i < ATTEMPTS && ok && out->verdict == VERDICT_INFRA; i++)
        ok = attempt(s, source, n, out, e);
    out->ns = clock_mono_ns() - began;
    if (!ok)
        trial_free(out);
    return ok;
}

bool trials_baseline(struct trials *s, struct trial *out, struct error *e)
{
    struct eval_parts parts = {.baseline = &s->r[BASELINE].object,
                               .reference = &s->r[REFERENCE].object};
    struct spec_opts o = {.id = CANDIDATE + 1,
                          .jail = s->o->jail,
                          .seed = hash_fresh(0),
                          .sets_min = 1,
                          .sets_max = 1};
    struct wire_msg m;
    struct error why = {0};
    int64_t began = clock_mono_ns();
    *out = (struct trial){.verdict = VERDICT_INFRA};
    reply_clear(&s->r[CANDIDATE]);
    s->alone = true;
    bool started = spec_evaluate(s->t, EVAL_BASELINE, &parts, &o, &m, &why) &&
                   backend_start(s->be, WORKER_BENCH, CANDIDATE + 1, &m, &why);
    bool ok = settle(s, started, &why, out, &out->result, e);
    s->alone = false;
    out->ns = clock_mono_ns() - began;
    if (!ok)
        trial_free(out);
    return ok;
}

void trial_free(struct trial *t)
{
    free(t->message);
    cJSON_Delete(t->build);
    cJSON_Delete(t->result);
    *t = (struct trial){0};
}
