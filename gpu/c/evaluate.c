#include "gpu/c/evaluate.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "gpu/c/elfcheck.h"

/* The reference computes in float64 and is written to be read: it gets this many times longer. */
#define REFERENCE_PATIENCE 20

static const char *const version_names[V_COUNT] = {"candidate", "incumbent", "baseline",
                                                   "reference"};

/* ---------------------------------------------------------------- verdicts */

bool verdict_set(struct evaluation *ev, enum verdict_kind kind, const struct call_site *at,
                 const char *fmt, ...)
{
    va_list ap;
    struct verdict *v = &ev->verdict;
    v->kind = kind;
    v->family = at && at->family ? at->family->name : NULL;
    v->shape = at && at->shape ? at->shape->name : NULL;
    va_start(ap, fmt);
    vsnprintf(v->message, sizeof v->message, fmt, ap);
    va_end(ap);
    return false;
}

bool verdict_infra(struct evaluation *ev, const struct error *e, const char *what)
{
    enum verdict_kind kind = e->code == ERR_CANCELLED ? VERDICT_CANCELLED : VERDICT_INFRA;
    return verdict_set(ev, kind, NULL, "%s%s%.300s", what, *what ? ": " : "", e->msg);
}

void evaluation_progress(struct evaluation *ev, const char *stage, size_t done, size_t of,
                         const char *text)
{
    if (ev->wire < 0)
        return;
    struct wire_msg m = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m.head, "type", "progress");
    cJSON_AddStringToObject(m.head, "id", ev->r->id);
    cJSON_AddStringToObject(m.head, "stage", stage);
    cJSON_AddNumberToObject(m.head, "done", (double)done);
    cJSON_AddNumberToObject(m.head, "of", (double)of);
    cJSON_AddStringToObject(m.head, "text", text);
    struct error ignored; /* if nobody reads, the next wait sees the hang-up */
    (void)!wire_send(ev->wire, &m, &ignored);
    wire_msg_free(&m);
}

/* ---------------------------------------------------------------- beginning and end */

static bool take_object(struct evaluation *ev, const struct wire_msg *m, enum version v)
{
    char why[400];
    struct error e;
    const struct buf *part = wire_part(m, version_names[v]);
    if (!part)
        return true;
    if (!elfcheck_stripped(buf_str(part), part->len, "warploop_call", v == V_REFERENCE, why,
                           sizeof why))
        return verdict_set(ev, v == V_CANDIDATE ? VERDICT_LAUNCH : VERDICT_INFRA, NULL,
                           "the object of the %s breaks a rule: %.300s", version_names[v], why);
    ev->object[v] = executor_object(part->s, part->len, &e);
    return ev->object[v] >= 0 || verdict_infra(ev, &e, "");
}

bool evaluation_begin(struct evaluation *ev, const struct ev_request *r, const struct wire_msg *m,
                      const struct machine *machine, const struct nursery *nursery, int wire)
{
    *ev = (struct evaluation){.r = r,
                              .machine = machine,
                              .nursery = nursery,
                              .wire = wire,
                              .begin_ns = clock_mono_ns(),
                              .large_pages = true};
    ev->deadline_ns = ev->begin_ns + r->timeout_ns;
    for (int v = 0; v < V_COUNT; v++)
        ev->object[v] = -1;
    for (int v = 0; v < V_COUNT; v++)
        if (!take_object(ev, m, (enum version)v))
            return false;
    if (ev->object[evaluation_subject(ev)] < 0 || ev->object[V_BASELINE] < 0 ||
        ev->object[V_REFERENCE] < 0)
        return verdict_set(ev, VERDICT_INFRA, NULL, "the request lacks the part %s",
                           ev->object[V_BASELINE] < 0    ? "baseline"
                           : ev->object[V_REFERENCE] < 0 ? "reference"
                                                         : "candidate");
    return true;
}

void evaluation_end(struct evaluation *ev)
{
    for (int v = 0; v < V_COUNT; v++)
        if (ev->object[v] >= 0)
            close(ev->object[v]);
    timing_free(&ev->timing);
}

uint64_t evaluation_seed(struct evaluation *ev)
{
    return hash_mix(hash_mix(ev->r->seed, 0x77617270u), ++ev->counter);
}

enum version evaluation_subject(const struct evaluation *ev)
{
    return ev->r->mode == EV_MODE_BASELINE ? V_BASELINE : V_CANDIDATE;
}

bool evaluation_start(struct evaluation *ev, enum version v, struct executor *x)
{
    struct error e;
    struct executor_options how = {.nursery = ev->nursery,
                                   .core = ev->machine->core,
                                   .allocates = v == V_REFERENCE,
                                   .unconfined = ev->r->jail_none,
                                   .cancel_fd = ev->wire};
    if (executor_start(x, &how, ev->object[v], &e)) {
        snprintf(ev->jail, sizeof ev->jail, "%s%s%s",
                 ev->r->jail_none ? "" : ev->nursery->isolation,
                 ev->r->jail_none || !ev->nursery->isolation[0] ? "" : ", ", x->jail);
        return true;
    }
    if (e.code != ERR_INPUT || v != evaluation_subject(ev))
        return verdict_infra(ev, &e, version_names[v]);
    return verdict_set(ev, VERDICT_LAUNCH, NULL, "cannot be loaded: %.400s", e.msg);
}

bool evaluation_arena(struct evaluation *ev, const struct ev_shape *s, enum arena_part part,
                      bool wide, struct arena *a)
{
    struct error e;
    if (!arena_new(ev->r, s, part, wide, a, &e))
        return verdict_infra(ev, &e, s->name);
    if (!a->large)
        ev->large_pages = false;
    return true;
}

bool evaluation_map(struct evaluation *ev, struct executor *x, const struct ev_shape *s,
                    const struct arena *inputs, const struct arena *outputs)
{
    struct error e;
    return executor_map(x, ev->r, s, inputs, outputs, &e) || verdict_infra(ev, &e, s->name);
}

void evaluation_fill(struct evaluation *ev, const struct ev_family *f, const struct ev_shape *s,
                     struct arena *inputs)
{
    uint64_t seed = evaluation_seed(ev);
    for (size_t i = 0; i < ev->r->nbuffers; i++)
        if (ev->r->buffer[i].kind == EV_INPUT)
            fill_make(f->fill[i], hash_mix(seed, i), &s->extent[i], arena_data(inputs, i));
}

/* ---------------------------------------------------------------- one call */

/* Whose fault a failing call is: the subject's, or the task's or an earlier version's. */
static bool blame(struct evaluation *ev, const struct call_site *at, enum verdict_kind kind,
                  const char *what)
{
    const char *family = at->family ? at->family->name : "?";
    if (at->version == evaluation_subject(ev) && ev->r->mode != EV_MODE_BASELINE)
        return verdict_set(ev, kind, at, "%s (family %s, shape %s)", what, family, at->shape->name);
    return verdict_set(ev, VERDICT_INFRA, at, "the %s failed: %s (family %s, shape %s)",
                       version_names[at->version], what, family, at->shape->name);
}

static bool judge_end(struct evaluation *ev, const struct executor *x, const struct call_site *at,
                      const struct call *c)
{
    char where[160], what[300];
    switch (c->end) {
    case CALL_RETURNED:
        return true;
    case CALL_TIMEOUT:
        snprintf(what, sizeof what, "one call did not end within %.1f s",
                 (double)c->deadline_ns / 1e9);
        return blame(ev, at, VERDICT_TIMEOUT, what);
    case CALL_EXITED:
        snprintf(what, sizeof what, "the call ended its process by itself with status %d",
                 c->status);
        return blame(ev, at, VERDICT_FAULT, what);
    case CALL_KILLED:
        break;
    }
    if (c->signal == SIGSYS) {
        snprintf(what, sizeof what, "it made a system call; a kernel may make none");
    } else if (c->signal == SIGXCPU || c->signal == SIGKILL) {
        snprintf(what, sizeof what, "killed by signal %d (%s): out of memory or CPU time",
                 c->signal, strsignal(c->signal));
    } else if (c->fault_address || c->signal == SIGSEGV || c->signal == SIGBUS) {
        executor_describe_fault(x, ev->r, c->fault_address, where, sizeof where);
        snprintf(what, sizeof what, "signal %d (%s), %s", c->signal, strsignal(c->signal), where);
    } else {
        snprintf(what, sizeof what, "signal %d (%s)", c->signal, strsignal(c->signal));
    }
    return blame(ev, at, VERDICT_FAULT, what);
}

static bool judge_memory(struct evaluation *ev, const struct call_site *at, const struct arena *a,
                         uint64_t seed)
{
    size_t i, first = 0;
    bool after;
    char what[300];
    if (!arena_slack_intact(a, seed, &i, &after)) {
        ev->verdict.tensor = ev->r->buffer[i].name;
        snprintf(what, sizeof what, "it wrote outside: just %s %s",
                 after ? "after the end of" : "before the start of", ev->r->buffer[i].name);
        return blame(ev, at, VERDICT_WRONG, what);
    }
    for (i = 0; i < ev->r->nbuffers; i++) {
        /* Halves of the reference's doubles can be anything; it is checked to be finite. */
        if (ev->r->buffer[i].kind != EV_OUTPUT || at->version == V_REFERENCE)
            continue;
        size_t words = a->slot[i].bytes / 4, n = arena_untouched(a, seed, i, &first);
        if (n == 0)
            continue;
        ev->verdict.tensor = ev->r->buffer[i].name;
        snprintf(what, sizeof what, "%s was not written: %zu of %zu %s untouched, the first at %zu",
                 ev->r->buffer[i].name, n, words, n == 1 ? "element is" : "elements are", first);
        return blame(ev, at, VERDICT_WRONG, what);
    }
    return true;
}

bool evaluation_call(struct evaluation *ev, struct executor *x, const struct call_site *at,
                     struct arena *outputs, struct call *c)
{
    struct error e;
    uint64_t seed = evaluation_seed(ev);
    int64_t left = ev->deadline_ns - clock_mono_ns(), patience = ev->r->call_ns;
    if (at->version == V_REFERENCE)
        patience *= REFERENCE_PATIENCE;
    if (left <= 0)
        return verdict_set(ev, VERDICT_INFRA, at, "the whole evaluation took longer than %.0f s",
                           (double)ev->r->timeout_ns / 1e9);
    c->deadline_ns = patience < left ? patience : left;
    arena_scribble(outputs, seed);
    if (!executor_call(x, c, &e))
        return verdict_infra(ev, &e, version_names[at->version]);
    return judge_end(ev, x, at, c) && (c->empty || judge_memory(ev, at, outputs, seed));
}

/* ---------------------------------------------------------------- judging */

bool evaluation_judge(struct evaluation *ev, const struct call_site *at, size_t buffer,
                      const double *ref, const float *x, const struct check_ratios *baseline,
                      const struct check_ratios *off)
{
    const struct ev_buffer *b = &ev->r->buffer[buffer];
    const struct extent *shape = &at->shape->extent[buffer];
    struct worst_error *w = &ev->worst[buffer];
    struct check_result r;
    char where[200];
    check_judge(b, shape, ref, x, baseline, off, &r);
    /* A comparison with the baseline is no measured error of the subject. */
    if (!off && (!w->known || r.error / r.limit > w->ratio / w->limit))
        *w = (struct worst_error){true, r.error, r.limit,
                                  at->version == V_BASELINE ? r.error : r.baseline};
    if (r.ok)
        return true;
    check_index_text(shape, r.index, where, sizeof where);
    struct verdict *v = &ev->verdict;
    v->tensor = b->name;
    v->has_values = true;
    v->index = r.index;
    v->got = r.got;
    v->want = r.want;
    v->error = r.error;
    v->limit = r.limit;
    bool finite = isfinite(r.got);
    return verdict_set(ev, r.wrong ? VERDICT_WRONG : VERDICT_INACCURATE, at,
                       "%s is %s in family %s, shape %s: %s%s is %.6g, %.6g was expected (error "
                       "%.2g, limit %.2g)",
                       b->name, r.wrong ? "wrong" : "inaccurate", at->family->name, at->shape->name,
                       b->name, where, r.got, r.want, finite ? r.error : (double)INFINITY, r.limit);
}

/* ---------------------------------------------------------------- the check stage */

/* What the check stage holds at a time: templates, one shape's arenas. */
struct checker {
    struct evaluation *ev;
    struct executor x[V_COUNT];
    bool on[V_COUNT];
    struct arena inputs, outputs, wide;
    int shape; /* index of the shape mapped now; -1 */
};

static void checker_unmap(struct checker *k)
{
    arena_free(&k->inputs);
    arena_free(&k->outputs);
    arena_free(&k->wide);
    k->shape = -1;
}

static void checker_end(struct checker *k)
{
    for (int v = 0; v < V_COUNT; v++)
        if (k->on[v])
            executor_stop(&k->x[v]);
    checker_unmap(k);
}

static bool checker_begin(struct checker *k, struct evaluation *ev)
{
    *k = (struct checker){.ev = ev, .shape = -1};
    k->inputs.fd = k->outputs.fd = k->wide.fd = -1;
    static const enum version order[] = {V_REFERENCE, V_BASELINE, V_CANDIDATE};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        enum version v = order[i];
        if (v == V_CANDIDATE && evaluation_subject(ev) != V_CANDIDATE)
            continue;
        if (!evaluation_start(ev, v, &k->x[v]))
            return false;
        k->on[v] = true;
    }
    return true;
}

static bool checker_map(struct checker *k, int shape)
{
    struct evaluation *ev = k->ev;
    const struct ev_shape *s = &ev->r->shape[shape];
    if (k->shape == shape)
        return true;
    checker_unmap(k);
    if (!evaluation_arena(ev, s, ARENA_INPUTS, false, &k->inputs) ||
        !evaluation_arena(ev, s, ARENA_OUTPUTS, false, &k->outputs) ||
        !evaluation_arena(ev, s, ARENA_OUTPUTS, true, &k->wide))
        return false;
    for (int v = 0; v < V_COUNT; v++)
        if (k->on[v] &&
            !evaluation_map(ev, &k->x[v], s, &k->inputs, v == V_REFERENCE ? &k->wide : &k->outputs))
            return false;
    k->shape = shape;
    return true;
}

/* The baseline's ratios, taken before the candidate's call overwrites its outputs. */
static bool take_baseline(struct checker *k, const struct call_site *at,
                          struct check_ratios ratios[EV_BUFFERS])
{
    struct evaluation *ev = k->ev;
    for (size_t i = 0; i < ev->r->nbuffers; i++) {
        if (ev->r->buffer[i].kind != EV_OUTPUT)
            continue;
        check_ratios(&ev->r->buffer[i], &at->shape->extent[i], arena_data(&k->wide, i),
                     arena_data(&k->outputs, i), &ratios[i]);
        if (!ratios[i].reference_finite)
            return verdict_set(ev, VERDICT_INFRA, at,
                               "the reference's %s is not finite in family %s, shape %s",
                               ev->r->buffer[i].name, at->family->name, at->shape->name);
    }
    return true;
}

/* One family on one shape. */
static bool check_one(struct checker *k, const struct ev_family *f, int shape)
{
    struct evaluation *ev = k->ev;
    const struct ev_shape *s = &ev->r->shape[shape];
    struct call_site at = {.version = V_REFERENCE, .family = f, .shape = s};
    struct check_ratios ratios[EV_BUFFERS] = {{0}};
    struct call c = {.empty = false};
    if (!checker_map(k, shape))
        return false;
    evaluation_fill(ev, f, s, &k->inputs);
    if (!evaluation_call(ev, &k->x[V_REFERENCE], &at, &k->wide, &c))
        return false;
    at.version = V_BASELINE;
    if (!evaluation_call(ev, &k->x[V_BASELINE], &at, &k->outputs, &c) ||
        !take_baseline(k, &at, ratios))
        return false;
    bool subject = evaluation_subject(ev) == V_CANDIDATE;
    at.version = evaluation_subject(ev);
    if (subject && !evaluation_call(ev, &k->x[V_CANDIDATE], &at, &k->outputs, &c))
        return false;
    for (size_t i = 0; i < ev->r->nbuffers; i++) {
        /* The baseline has no one to be compared with: its limit is the hard one. */
        struct check_ratios hard = {.whole = ev->r->buffer[i].hard, .block = ev->r->buffer[i].hard};
        if (ev->r->buffer[i].kind == EV_OUTPUT &&
            !evaluation_judge(ev, &at, i, arena_data(&k->wide, i), arena_data(&k->outputs, i),
                              subject ? &ratios[i] : &hard, NULL))
            return false;
    }
    return true;
}

static void waiting(void *ctx)
{
    evaluation_progress(ctx, "wait", 0, 1, "waiting for the measuring core");
}

bool evaluate_check(struct evaluation *ev)
{
    struct checker k;
    struct device_lock lock;
    struct error e;
    size_t of = 0, done = 0;
    int64_t told = 0;
    for (size_t f = 0; f < ev->r->nfamilies; f++)
        for (size_t s = 0; s < ev->r->nshapes; s++)
            of += ev->r->family[f].shapes[s];
    if (!device_lock_take(ev->machine, ev->wire, waiting, ev, &lock, &e))
        return verdict_infra(ev, &e, "");
    bool ok = checker_begin(&k, ev);
    /* Shape by shape, so that memory is mapped once each. */
    for (size_t s = 0; ok && s < ev->r->nshapes; s++)
        for (size_t f = 0; ok && f < ev->r->nfamilies; f++) {
            if (!ev->r->family[f].shapes[s])
                continue;
            if (clock_mono_ns() - told > 100000000) {
                told = clock_mono_ns();
                evaluation_progress(ev, "check", done, of, ev->r->family[f].name);
            }
            ok = check_one(&k, &ev->r->family[f], (int)s);
            done++;
        }
    checker_end(&k);
    device_lock_release(&lock);
    return ok;
}

/* The first scored shape on which a version is too fast to be told from an empty call. */
static const struct ev_shape *below_resolution(const struct evaluation *ev, enum version v,
                                               double *ns)
{
    const struct timing *t = &ev->timing;
    for (size_t i = 0; i < t->nshapes; i++) {
        *ns = timing_resolution(t, i);
        if (timing_below(t, i, (int)v))
            return &ev->r->shape[t->shape[i].shape];
    }
    return NULL;
}

void evaluate(struct evaluation *ev)
{
    bool timed = ev->r->mode != EV_MODE_CHECK;
    if (ev->verdict.kind != VERDICT_NONE || !evaluate_check(ev) || (timed && !timing_run(ev)) ||
        (timed && ev->r->profile && !counters_run(ev)))
        return;
    const struct timing *t = &ev->timing;
    const char *what = "right on every family";
    if (ev->r->mode == EV_MODE_BASELINE)
        what = "the baseline is within its limits";
    else if (t->record)
        what = "right, and a record";
    else if (timed && t->disturbed * 5 > t->samples)
        what = "right; no record: other processes used the measuring core";
    else if (timed && t->shape_loss && t->record_lower > 1 + ev->r->margin)
        what = "right; no record: a scored shape became slower than the task allows";
    else if (timed)
        what = "right, not provably faster";
    double ns = 0;
    const struct ev_shape *s = timed ? below_resolution(ev, evaluation_subject(ev), &ns) : NULL;
    if (s)
        verdict_set(ev, VERDICT_OK, NULL,
                    "%s; below the clock's resolution (%.0f us) on shape %s: %s", what, ns / 1e3,
                    s->name,
                    ev->r->mode == EV_MODE_BASELINE ? "it is too small to be timed"
                                                    : "the speedup is a lower bound");
    else
        verdict_set(ev, VERDICT_OK, NULL, "%s", what);
}
