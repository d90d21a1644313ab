/* Effects: what the children are asked, and what becomes of their answers. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/loop/engine_private.h"
#include "core/task/rules.h"

#define MESSAGE_KEEP 4000

void engine_live(struct engine *g, const char *text)
{
    if (g->live)
        live_set(g->live, text);
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static const char *task_source(const struct engine *g, int64_t version)
{
    return version < 0 ? g->task->c.reference : g->task->c.baseline;
}

static const char *effect_input(const struct engine *g, enum effect_kind kind, int64_t version,
                                struct hash *own)
{
    const struct version *v = state_version(g->s, version);
    if (kind == EFFECT_REFERENCE) {
        *own = hash_bytes(task_source(g, -1), strlen(task_source(g, -1)));
        return own->hex;
    }
    return !v ? "" : kind == EFFECT_BUILD ? v->source.hex : v->plan.hex;
}

static bool is_bench(enum effect_kind kind)
{
    return kind == EFFECT_BENCH || kind == EFFECT_BASELINE;
}

/* A candidate that breaks a rule of the source gets its verdict here: no process is bothered. */
static bool breaks_rule(struct engine *g, int64_t effect, int64_t version)
{
    int line = 0;
    struct error e = {0};
    const struct buf *source = engine_blob(g, state_version(g->s, version)->source.hex);
    if (!source || rules_check_c(g->task, buf_str(source), source->len, &line, &e))
        return false;
    cJSON *o = cJSON_CreateObject();
    char *message = engine_text(e.msg, TEXT_KEEP);
    cJSON_AddStringToObject(o, "verdict", "rule");
    cJSON_AddStringToObject(o, "message", message);
    cJSON_AddNumberToObject(o, "line", line);
    char *body = json_text(o);
    cJSON_Delete(o);
    struct event ev = event_make(EV_EFFECT_DONE);
    ev.id = effect;
    ev.ref = version;
    ev.code = VERDICT_RULE;
    ev.text = message;
    ev.body = body;
    engine_add(g, ev);
    free(message);
    free(body);
    return true;
}

void engine_begin(struct engine *g, enum effect_kind kind, int64_t version)
{
    struct hash own;
    char body[64] = "";
    struct tries *t = engine_tries(g, kind == EFFECT_REFERENCE ? -1 : version);
    struct event ev = event_make(EV_EFFECT);
    ev.id = g->s->neffects + 1;
    ev.code = (int)kind;
    ev.ref = version < 0 ? 0 : version;
    ev.n = 1 + (is_bench(kind) ? t->benches : t->builds);
    ev.hash = effect_input(g, kind, version, &own);
    if (is_bench(kind))
        snprintf(body, sizeof body, "{\"seed\":\"%llu\"}",
                 (unsigned long long)hash_fresh(g->s->seed));
    ev.body = body;
    engine_add(g, ev);
    if (kind == EFFECT_BUILD && version >= 1 && breaks_rule(g, ev.id, version))
        return;
    VEC_ROOM(g->starts, g->nstarts, g->cap_starts);
    g->starts[g->nstarts++] = ev.id;
}

bool engine_begin_reference(struct engine *g)
{
    for (size_t i = 0; i < g->s->ninflight; i++)
        if (g->s->inflight[i].kind == EFFECT_REFERENCE)
            return false;
    engine_begin(g, EFFECT_REFERENCE, -1);
    return true;
}

static uint64_t seed_of(struct engine *g, const struct effect *f)
{
    char *body = engine_body(g, f->seq);
    cJSON *o = cJSON_Parse(body);
    const char *s = o ? json_str(o, "seed", "1") : "1";
    uint64_t seed = strtoull(s, NULL, 10);
    cJSON_Delete(o);
    free(body);
    return seed;
}

static bool start_build(struct engine *g, const struct effect *f, struct error *e)
{
    struct wire_msg m = {0};
    struct spec_opts o = {.id = f->id, .jail = g->o->jail ? g->o->jail : "auto"};
    if (f->kind == EFFECT_REFERENCE) {
        const char *s = task_source(g, -1);
        spec_build(g->task, ROLE_REFERENCE, s, strlen(s), &o, &m);
        return backend_start(g->be, WORKER_BUILD, f->id, &m, e);
    }
    const struct buf *source = engine_blob(g, f->input.hex);
    if (!source)
        return error_set(e, ERR_CORRUPT, "the source of v%lld cannot be read",
                         (long long)f->version);
    spec_build(g->task, f->version == 0 ? ROLE_BASELINE : ROLE_CANDIDATE, buf_str(source),
               source->len, &o, &m);
    return backend_start(g->be, WORKER_BUILD, f->id, &m, e);
}

/* An evaluation's request differs from the one before in its id, its seed and its objects only. */
static bool make_eval_text(struct engine *g, enum eval_mode mode, struct eval_text *t,
                           struct error *e)
{
    static const char *const varies[] = {"id", "seed", "parts"};
    struct spec_opts o = {.jail = g->o->jail ? g->o->jail : "auto"};
    char empty[1] = "";
    struct buf no = {.s = empty};
    struct eval_parts stand_ins = {.candidate = &no, .baseline = &no, .reference = &no};
    struct wire_msg m = {0};
    if (!spec_evaluate(g->task, mode, &stand_ins, &o, &m, e))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(varies); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(m.head, varies[i]);
    t->timeout_ms = json_i64(m.head, "timeout_ms", 0);
    char *text = json_text(m.head);
    t->rest = xstrdup(text + 1); /* without its brace */
    free(text);
    wire_msg_free(&m);
    return true;
}

/* The message as wire_send would write it. */
static void pack_eval(const struct eval_text *t, int64_t id, uint64_t seed,
                      const struct eval_parts *p, struct buf *out)
{
    const struct {
        const char *name;
        const struct buf *bytes;
    } parts[] = {{"candidate", p->candidate},
                 {"incumbent", p->incumbent},
                 {"baseline", p->baseline},
                 {"reference", p->reference}};
    const char *sep = "";
    buf_addf(out, "{\"id\":\"%lld\",\"seed\":\"%llu\",\"parts\":[", (long long)id,
             (unsigned long long)seed);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!parts[i].bytes)
            continue;
        buf_addf(out, "%s{\"name\":\"%s\",\"size\":\"%zu\"}", sep, parts[i].name,
                 parts[i].bytes->len);
        sep = ",";
    }
    buf_adds(out, "],");
    buf_adds(out, t->rest);
    buf_addc(out, '\n');
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].bytes)
            buf_add(out, parts[i].bytes->s, parts[i].bytes->len);
}

static bool start_bench(struct engine *g, const struct effect *f, struct error *e)
{
    const struct version *incumbent = state_version(g->s, g->s->incumbent);
    bool baseline = f->kind == EFFECT_BASELINE;
    struct eval_text *t = baseline ? &g->baseline : &g->full;
    struct eval_parts p = {.reference = engine_blob(g, g->facts.reference.hex),
                           .baseline = engine_blob(g, state_version(g->s, 0)->plan.hex)};
    struct buf bytes = {0};
    if (!baseline)
        p.candidate = engine_blob(g, f->input.hex);
    if (!baseline && incumbent)
        p.incumbent = engine_blob(g, incumbent->plan.hex);
    if (!p.reference || !p.baseline || (!baseline && !p.candidate))
        return error_set(e, ERR_CORRUPT, "an object that was built cannot be read from the log");
    if (!t->rest && !make_eval_text(g, baseline ? EVAL_BASELINE : EVAL_FULL, t, e))
        return false;
    pack_eval(t, f->id, seed_of(g, f), &p, &bytes);
    return backend_start_bytes(g->be, WORKER_BENCH, f->id, &bytes, t->timeout_ms, e);
}

static void close_failed(struct engine *g, int64_t effect, const char *why, int64_t ns);

void engine_start_effects(struct engine *g)
{
    size_t n = g->nstarts;
    for (size_t i = 0; i < n; i++) {
        const struct effect *f = state_effect(g->s, g->starts[i]);
        struct error e = {0};
        char line[96];
        if (!f)
            continue; /* cancelled before it was started */
        if (!(is_bench(f->kind) ? start_bench(g, f, &e) : start_build(g, f, &e))) {
            close_failed(g, g->starts[i], e.msg, 0);
            continue;
        }
        snprintf(line, sizeof line, "%s v%lld", effect_name(f->kind), (long long)f->version);
        engine_live(g, line);
    }
    g->nstarts = 0;
}

/* ---- closing ----------------------------------------------------------------------------------
 */

static void interrupt(struct engine *g, const struct effect *f, int code, const char *why)
{
    struct event ev = event_make(EV_INTERRUPTED);
    ev.id = f->id;
    ev.ref = f->kind == EFFECT_REFERENCE ? 0 : f->version;
    ev.code = code;
    ev.text = why;
    engine_add(g, ev);
}

static void done(struct engine *g, const struct effect *f, enum verdict v, const char *hash,
                 const char *text, const char *body, int64_t ns)
{
    struct event ev = event_make(EV_EFFECT_DONE);
    ev.id = f->id;
    ev.ref = f->version;
    ev.code = (int)v;
    ev.hash = hash;
    ev.n = ns;
    ev.text = text;
    ev.body = body;
    engine_add(g, ev);
}

static bool is_ours(const struct effect *f)
{
    return f->kind == EFFECT_REFERENCE || f->version == 0;
}

/* No further try: that ends the version, or the run when it is the baseline or the reference. These
 * are left open, so that the run goes on once the fault is mended. */
static void give_up(struct engine *g, const struct effect *f, const char *why, int64_t ns)
{
    if (is_ours(f)) {
        interrupt(g, f, VERDICT_INFRA, why);
        if (!g->fatal)
            g->fatal = xasprintf("the %s cannot be %s: %s",
                                 f->kind == EFFECT_REFERENCE ? "reference" : "baseline",
                                 f->kind == EFFECT_BASELINE ? "measured" : "built", why);
        return;
    }
    done(g, f, VERDICT_INFRA, "", why, "", ns);
    if (f->kind == EFFECT_BENCH)
        engine_judge_bench(g, f->version, VERDICT_INFRA, NULL, why, ns);
}

/* Ours or the machine's fault: once more, then never again. */
static void close_failed(struct engine *g, int64_t effect, const char *why, int64_t ns)
{
    const struct effect *in = state_effect(g->s, effect);
    if (!in)
        return;
    struct effect f = *in;
    char *text = engine_text(why, TEXT_KEEP);
    const struct tries *t = engine_tries(g, f.kind == EFFECT_REFERENCE ? -1 : f.version);
    if ((is_bench(f.kind) ? t->bench_infra : t->build_infra) == 0)
        interrupt(g, &f, VERDICT_INFRA, text);
    else
        give_up(g, &f, text, ns);
    free(text);
}

bool engine_cancel(struct engine *g, int64_t effect, const char *why)
{
    const struct effect *in = state_effect(g->s, effect);
    if (!in)
        return false;
    struct effect f = *in;
    backend_cancel(g->be, effect);
    if (is_ours(&f)) { /* nothing goes without these */
        interrupt(g, &f, VERDICT_CANCELLED, why);
        return true;
    }
    done(g, &f, VERDICT_CANCELLED, "", why, "", clock_wall_ns() - f.started);
    if (f.kind == EFFECT_BENCH)
        engine_judge_bench(g, f.version, VERDICT_CANCELLED, NULL, why, clock_wall_ns() - f.started);
    return true;
}

void engine_interrupt_all(struct engine *g, const char *why)
{
    while (g->s->ninflight) {
        struct effect f = g->s->inflight[0];
        backend_cancel(g->be, f.id);
        interrupt(g, &f, VERDICT_CANCELLED, why);
    }
    g->nstarts = 0;
}

void engine_recover(struct engine *g)
{
    while (g->s->ninflight) {
        struct effect f = g->s->inflight[0];
        const struct tries *t = engine_tries(g, f.kind == EFFECT_REFERENCE ? -1 : f.version);
        int deaths = is_bench(f.kind) ? t->bench_deaths : t->build_deaths;
        if (is_ours(&f) || deaths + 1 < DEATHS_MAX) {
            interrupt(g, &f, VERDICT_NONE, "its engine died");
            continue;
        }
        char *why = xasprintf("the engine died %d times while this was in flight: it is not begun "
                              "again",
                              deaths + 1);
        give_up(g, &f, why, 0);
        free(why);
    }
}

/* ---- answers ----------------------------------------------------------------------------------
 */

static void cut(cJSON *head, const char *key, size_t keep)
{
    cJSON *s = cJSON_GetObjectItemCaseSensitive(head, key);
    if (!cJSON_IsString(s))
        return;
    char *text = engine_text(s->valuestring, keep);
    cJSON_SetValuestring(s, text);
    free(text);
}

/* A reply as it is stored: bounded texts, without what only the wire needs. */
char *engine_reply_body(cJSON *head)
{
    static const char *const wire_only[] = {"type", "id", "parts"};
    for (size_t i = 0; i < ARRAY_LEN(wire_only); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(head, wire_only[i]);
    cut(head, "message", MESSAGE_KEEP);
    cut(head, "log", LOG_KEEP);
    return json_text(head);
}

static bool build_verdict(enum verdict v)
{
    return v == VERDICT_OK || v == VERDICT_RULE || v == VERDICT_BUILD || v == VERDICT_TIMEOUT;
}

static void take_build(struct engine *g, const struct effect *f, struct wire_msg *m, int64_t ns)
{
    enum verdict v = verdict_of(json_str(m->head, "verdict", ""));
    const char *said = json_str(m->head, "message", "");
    struct wire_part *object = NULL;
    for (size_t i = 0; i < m->nparts; i++)
        if (strcmp(m->parts[i].name, "object") == 0)
            object = &m->parts[i];
    if (!build_verdict(v) || (v == VERDICT_OK && (!object || !object->bytes.len))) {
        char *why =
            xasprintf("build: %s", *said ? said : "answered without a verdict or an object");
        close_failed(g, f->id, why, ns);
        free(why);
        return;
    }
    struct hash plan = {""};
    if (v == VERDICT_OK)
        plan = engine_put_blob(g, &object->bytes);
    char *text = engine_text(said, TEXT_KEEP), *body = engine_reply_body(m->head);
    done(g, f, v, plan.hex, text, body, ns);
    if (v != VERDICT_OK && f->kind == EFFECT_REFERENCE && !g->fatal)
        g->fatal = xasprintf("the reference cannot be built: %s", text);
    free(text);
    free(body);
}

static bool bench_verdict(enum verdict v)
{
    return v == VERDICT_OK || v == VERDICT_SCREENED || v == VERDICT_FAULT || v == VERDICT_TIMEOUT ||
           v == VERDICT_WRONG || v == VERDICT_INACCURATE || v == VERDICT_IMPLAUSIBLE ||
           v == VERDICT_LAUNCH || v == VERDICT_RULE;
}

static void take_baseline(struct engine *g, const struct effect *f, cJSON *head, const char *said,
                          enum verdict v, int64_t ns)
{
    struct error e = {0};
    done(g, f, v, "", said, "", ns);
    bool ok = v == VERDICT_OK || error_set(&e, ERR_INPUT, "%s: %s", verdict_name(v), said);
    ok = ok && engine_take_baseline(g, head, &e);
    if (!ok && !g->fatal)
        g->fatal = xasprintf("the baseline cannot be measured: %s", e.msg);
}

static void take_bench(struct engine *g, const struct effect *f, struct wire_msg *m, int64_t ns)
{
    enum verdict v = verdict_of(json_str(m->head, "verdict", ""));
    char *said = engine_text(json_str(m->head, "message", ""), TEXT_KEEP);
    double x = json_num(m->head, "speedup", (double)NAN);
    bool timed = isfinite(x) && x > 0;
    if (!bench_verdict(v) || (v == VERDICT_OK && f->kind == EFFECT_BENCH && !timed)) {
        char *why = xasprintf("bench: %s", *said ? said : "answered without a verdict or a number");
        close_failed(g, f->id, why, ns);
        free(why);
    } else if (f->kind == EFFECT_BASELINE) {
        take_baseline(g, f, m->head, said, v, ns);
    } else {
        done(g, f, v, "", "", "", ns); /* the try, in the same commit, holds what was said */
        engine_judge_bench(g, f->version, v, m->head, said, ns);
    }
    free(said);
}

static void show_progress(struct engine *g, const struct effect *f, const cJSON *head)
{
    char *stage = engine_text(json_str(head, "stage", "?"), 32);
    char *text = engine_text(json_str(head, "text", ""), 200);
    char *line = xasprintf("%s v%lld: %s, %lld of %lld%s%s", effect_name(f->kind),
                           (long long)f->version, stage, (long long)json_i64(head, "done", 0),
                           (long long)json_i64(head, "of", 0), *text ? ": " : "", text);
    engine_live(g, line);
    free(stage);
    free(text);
    free(line);
}

void engine_news(void *ctx, const struct backend_event *ev)
{
    struct engine *g = ctx;
    const struct effect *in = state_effect(g->s, ev->id);
    if (!in)
        return;
    struct effect f = *in; /* the list changes under us */
    switch (ev->news) {
    case BACKEND_PROGRESS:
        show_progress(g, &f, ev->msg->head);
        break;
    case BACKEND_RESULT:
        if (is_bench(f.kind))
            take_bench(g, &f, ev->msg, ev->ns);
        else
            take_build(g, &f, ev->msg, ev->ns);
        break;
    case BACKEND_FAILED:
    case BACKEND_TIMEOUT:
        close_failed(g, ev->id, ev->why, ev->ns);
        break;
    }
}
