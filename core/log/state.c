#include "core/log/state.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* Open addressing: version ids by a hash of their plan or config; the first of equal ones stays. */
struct table {
    int32_t *slots; /* -1 = free */
    size_t size, n; /* size is a power of two */
};

struct state_index {
    struct table plans, configs;
};

static const char *key_of(const struct run_state *s, int64_t id, bool plan)
{
    const struct version *v = &s->versions[id];
    return plan ? v->plan.hex : v->config;
}

static uint64_t key_hash(const char *key)
{
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (; *key; key++)
        h = (h ^ (unsigned char)*key) * 1099511628211u;
    return h ^ (h >> 29);
}

/* The slot that holds the key, or the free one where it would go. */
static int32_t *find_slot(const struct run_state *s, const struct table *t, const char *key,
                          bool plan)
{
    for (size_t i = (size_t)key_hash(key) & (t->size - 1);; i = (i + 1) & (t->size - 1))
        if (t->slots[i] < 0 || strcmp(key_of(s, t->slots[i], plan), key) == 0)
            return &t->slots[i];
}

static void index_add(const struct run_state *s, struct table *t, int64_t id, bool plan)
{
    if (2 * (t->n + 1) > t->size) {
        struct table bigger = {.size = t->size ? 2 * t->size : 64, .n = t->n};
        bigger.slots = xmalloc(bigger.size * sizeof *bigger.slots);
        memset(bigger.slots, 0xff, bigger.size * sizeof *bigger.slots);
        for (size_t i = 0; i < t->size; i++)
            if (t->slots[i] >= 0)
                *find_slot(s, &bigger, key_of(s, t->slots[i], plan), plan) = t->slots[i];
        free(t->slots);
        *t = bigger;
    }
    int32_t *slot = find_slot(s, t, key_of(s, id, plan), plan);
    if (*slot < 0) {
        *slot = (int32_t)id;
        t->n++;
    }
}

static int64_t index_get(const struct run_state *s, const struct table *t, const char *key,
                         bool plan)
{
    return t->size ? *find_slot(s, t, key, plan) : -1;
}

struct run_state *state_new(void)
{
    struct run_state *s = xcalloc(1, sizeof *s);
    s->task = xstrdup("");
    s->incumbent = -1;
    s->best = s->best_lo = s->best_hi = NO_REAL;
    s->baseline_ns = s->baseline_lo = s->baseline_hi = s->baseline_peak = NO_REAL;
    s->index = xcalloc(1, sizeof *s->index);
    return s;
}

void state_free(struct run_state *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->nversions; i++)
        free(s->versions[i].config);
    for (size_t i = 0; i < s->ngoals; i++)
        free(s->goals[i].text);
    for (size_t i = 0; i < s->nstrategies; i++)
        free(s->strategies[i].name);
    free(s->index->plans.slots);
    free(s->index->configs.slots);
    void *const owned[] = {s->index,  s->versions,   s->inflight,    s->goals,
                           s->steers, s->strategies, s->records,     s->says,
                           s->task,   s->parent_run, s->driver_host, s->pause_cause};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    free(s);
}

static void replace(char **s, const char *text)
{
    free(*s);
    *s = xstrdup(text);
}

static struct hash hash_of(const char *hex)
{
    struct hash h = {""};
    size_t n = strnlen(hex, HASH_LEN);
    memcpy(h.hex, hex, n);
    return h;
}

static struct version *version_at(struct run_state *s, int64_t id)
{
    return id >= 0 && (uint64_t)id < s->nversions ? &s->versions[id] : NULL;
}

/* ---- one function a kind; false: impossible here ----------------------------------------------
 */

static bool on_run_created(struct run_state *s, const struct event *ev)
{
    if (*s->task)
        return false;
    replace(&s->task, ev->text);
    s->task_hash = hash_of(ev->hash);
    s->seed = (uint64_t)ev->n;
    s->jobs = ev->code;
    s->created = ev->time;
    return true;
}

static bool on_forked(struct run_state *s, const struct event *ev)
{
    replace(&s->parent_run, ev->text);
    s->forked_from = ev->ref;
    s->engine_start = 0; /* the parent's engine is not this run's */
    s->stopped = true;
    return true;
}

static bool on_engine_started(struct run_state *s, const struct event *ev)
{
    s->engines++;
    s->driver_pid = ev->n;
    replace(&s->driver_host, ev->text);
    s->stopped = false;
    s->engine_start = ev->time;
    return true;
}

static bool on_engine_stopped(struct run_state *s, const struct event *ev)
{
    (void)ev;
    s->stopped = true;
    s->engine_start = 0;
    return true;
}

static bool on_goal(struct run_state *s, const struct event *ev)
{
    VEC_ROOM(s->goals, s->ngoals, s->cap_goals);
    s->goals[s->ngoals++] = (struct goal){.id = ev->id,
                                          .seq = ev->seq,
                                          .text = xstrdup(ev->text),
                                          .target = ev->x,
                                          .hours = isnan(ev->lo) ? 0 : ev->lo,
                                          .calls = ev->n};
    return true;
}

static bool on_paused(struct run_state *s, const struct event *ev)
{
    s->paused = true;
    s->pause_code = ev->code;
    replace(&s->pause_cause, ev->text);
    return true;
}

static bool on_resumed(struct run_state *s, const struct event *ev)
{
    (void)ev;
    s->paused = false;
    s->pause_code = 0;
    return true;
}

static bool on_steer(struct run_state *s, const struct event *ev)
{
    if (s->nsteers && s->steers[s->nsteers - 1].id >= ev->id)
        return false;
    VEC_ROOM(s->steers, s->nsteers, s->cap_steers);
    s->steers[s->nsteers++] = (struct steer){.id = ev->id, .seq = ev->seq};
    return true;
}

static bool on_steer_seen(struct run_state *s, const struct event *ev)
{
    for (size_t i = s->nsteers; i-- > 0;) {
        if (s->steers[i].id != ev->id)
            continue;
        if (s->steers[i].seen)
            return false;
        s->steers[i].seen = ev->seq;
        return true;
    }
    return false;
}

static bool on_version(struct run_state *s, const struct event *ev)
{
    if (ev->id < 0 || (uint64_t)ev->id != s->nversions || ev->id >= INT32_MAX)
        return false;
    VEC_ROOM(s->versions, s->nversions, s->cap_versions);
    s->versions[s->nversions++] = (struct version){.id = ev->id,
                                                   .parent = ev->ref,
                                                   .seq = ev->seq,
                                                   .call = ev->n,
                                                   .source = hash_of(ev->hash),
                                                   .config = xstrdup(ev->text),
                                                   .strategy = "",
                                                   .predicted = NO_REAL,
                                                   .speedup = NO_REAL,
                                                   .lo = NO_REAL,
                                                   .hi = NO_REAL,
                                                   .gain = NO_REAL,
                                                   .against = -1};
    index_add(s, &s->index->configs, ev->id, false);
    return true;
}

static struct strategy *find_strategy(struct run_state *s, const char *name)
{
    for (size_t i = 0; i < s->nstrategies; i++)
        if (s->strategies[i].name == name || strcmp(s->strategies[i].name, name) == 0)
            return &s->strategies[i];
    return NULL;
}

static bool on_strategy(struct run_state *s, const struct event *ev)
{
    struct version *v = version_at(s, ev->id);
    if (!v)
        return false;
    v->predicted = ev->x;
    if (!*ev->text)
        return true;
    struct strategy *g = find_strategy(s, ev->text);
    if (!g) {
        VEC_ROOM(s->strategies, s->nstrategies, s->cap_strategies);
        g = &s->strategies[s->nstrategies++];
        *g = (struct strategy){
            .name = xstrdup(ev->text), .best = NO_REAL, .worst = NO_REAL, .last_version = -1};
    }
    v->strategy = g->name;
    return true;
}

static bool on_effect(struct run_state *s, const struct event *ev)
{
    if (ev->id <= s->neffects)
        return false; /* numbers are given once and only upwards */
    s->neffects = ev->id;
    VEC_ROOM(s->inflight, s->ninflight, s->cap_inflight);
    s->inflight[s->ninflight++] = (struct effect){.id = ev->id,
                                                  .version = ev->ref,
                                                  .seq = ev->seq,
                                                  .attempt = ev->n,
                                                  .started = ev->time,
                                                  .kind = (enum effect_kind)ev->code,
                                                  .input = hash_of(ev->hash)};
    return true;
}

static bool take_effect(struct run_state *s, int64_t id, struct effect *out)
{
    for (size_t i = 0; i < s->ninflight; i++) {
        if (s->inflight[i].id != id)
            continue;
        *out = s->inflight[i];
        s->ninflight--;
        memmove(s->inflight + i, s->inflight + i + 1, (s->ninflight - i) * sizeof *s->inflight);
        return true;
    }
    return false;
}

static bool on_effect_done(struct run_state *s, const struct event *ev)
{
    struct effect f;
    if (!take_effect(s, ev->id, &f))
        return false;
    struct version *v = version_at(s, f.version);
    if (!v)
        return true;
    v->time_ns += ev->n;
    if (f.kind != EFFECT_BUILD)
        return true;
    v->build = (enum verdict)ev->code;
    v->build_seq = ev->seq;
    if (*ev->hash)
        v->plan = hash_of(ev->hash);
    return true;
}

static bool on_interrupted(struct run_state *s, const struct event *ev)
{
    struct effect f;
    return take_effect(s, ev->id, &f);
}

static bool on_baseline(struct run_state *s, const struct event *ev)
{
    s->have_baseline = true;
    s->baseline_ns = ev->x;
    s->baseline_lo = ev->lo;
    s->baseline_hi = ev->hi;
    s->baseline_peak = ev->y;
    s->baseline_seq = ev->seq;
    return true;
}

static void count_try(struct run_state *s, const struct version *v)
{
    s->tries_since_record++;
    struct strategy *g = *v->strategy ? find_strategy(s, v->strategy) : NULL;
    if (!g)
        return;
    g->tries++;
    g->last_version = v->id;
    if (v->verdict != VERDICT_OK && v->verdict != VERDICT_SCREENED && v->verdict != VERDICT_SAME)
        g->failed++;
    if (isnan(v->gain))
        return;
    if (isnan(g->best) || v->gain > g->best)
        g->best = v->gain;
    if (isnan(g->worst) || v->gain < g->worst)
        g->worst = v->gain;
}

/* Verdicts that a plan earns by itself: another version with the same plan would earn it too. */
static bool plan_decided(enum verdict v)
{
    return v != VERDICT_NONE && v != VERDICT_INFRA && v != VERDICT_CANCELLED && v != VERDICT_SAME &&
           v != VERDICT_DEAD;
}

static bool on_try(struct run_state *s, const struct event *ev)
{
    struct version *v = version_at(s, ev->id);
    if (!v)
        return false;
    bool again = v->try_seq != 0; /* the incumbent is scored again under an edited goal */
    v->verdict = (enum verdict)ev->code;
    v->try_seq = ev->seq;
    v->speedup = ev->x;
    v->lo = ev->lo;
    v->hi = ev->hi;
    v->gain = ev->y;
    v->against = ev->ref;
    if (*ev->hash)
        v->plan = hash_of(ev->hash);
    if (*v->plan.hex && plan_decided(v->verdict))
        index_add(s, &s->index->plans, v->id, true);
    if (!again)
        count_try(s, v);
    return true;
}

static bool on_record(struct run_state *s, const struct event *ev)
{
    struct version *v = version_at(s, ev->id);
    if (!v || v->verdict != VERDICT_OK)
        return false;
    struct strategy *g = *v->strategy ? find_strategy(s, v->strategy) : NULL;
    if (g && !v->record)
        g->records++;
    v->record = true;
    s->incumbent = ev->id;
    s->best = ev->x;
    s->best_lo = ev->lo;
    s->best_hi = ev->hi;
    s->tries_since_record = 0;
    VEC_ROOM(s->records, s->nrecords, s->cap_records);
    s->records[s->nrecords++] = ev->id;
    return true;
}

static bool on_call(struct run_state *s, const struct event *ev)
{
    (void)ev;
    s->ncalls++;
    return true;
}

static bool on_call_done(struct run_state *s, const struct event *ev)
{
    (void)ev;
    if (s->ncalls_done >= s->ncalls)
        return false;
    s->ncalls_done++;
    return true;
}

static bool on_note(struct run_state *s, const struct event *ev)
{
    (void)ev;
    s->nnotes++;
    return true;
}

static bool on_ended(struct run_state *s, const struct event *ev)
{
    s->ended = true;
    s->reason = (enum end_reason)ev->code;
    return true;
}

static bool on_reopened(struct run_state *s, const struct event *ev)
{
    (void)ev;
    s->ended = false;
    s->reason = END_NONE;
    return true;
}

static bool on_nothing(struct run_state *s, const struct event *ev)
{
    (void)s, (void)ev;
    return true;
}

struct rule {
    bool (*apply)(struct run_state *s, const struct event *ev);
    bool says; /* a line of the reasoning pane */
};

static const struct rule rules[EV_COUNT] = {
    [EV_RUN_CREATED] = {on_run_created, false},
    [EV_FORKED] = {on_forked, true},
    [EV_ENGINE_STARTED] = {on_engine_started, false},
    [EV_ENGINE_STOPPED] = {on_engine_stopped, false},
    [EV_GOAL] = {on_goal, true},
    [EV_PAUSED] = {on_paused, true},
    [EV_RESUMED] = {on_resumed, true},
    [EV_STEER] = {on_steer, true},
    [EV_STEER_SEEN] = {on_steer_seen, false},
    [EV_SAY] = {on_nothing, true},
    [EV_NOTE] = {on_note, true},
    [EV_CALL] = {on_call, false},
    [EV_VERSION] = {on_version, false},
    [EV_STRATEGY] = {on_strategy, false},
    [EV_EFFECT] = {on_effect, false},
    [EV_EFFECT_DONE] = {on_effect_done, false},
    [EV_INTERRUPTED] = {on_interrupted, true},
    [EV_BASELINE] = {on_baseline, true},
    [EV_TRY] = {on_try, true},
    [EV_RECORD] = {on_record, true},
    [EV_CALL_DONE] = {on_call_done, false},
    [EV_ENDED] = {on_ended, true},
    [EV_REOPENED] = {on_reopened, true},
    [EV_FAULT] = {on_nothing, true},
};

void state_apply(struct run_state *s, const struct event *ev)
{
    if (s->engine_start && !s->paused && !s->ended && ev->kind != EV_ENGINE_STARTED &&
        ev->time > s->last_time)
        s->active_ns += ev->time - s->last_time;
    const struct rule *r = (unsigned)ev->kind < EV_COUNT ? &rules[ev->kind] : &rules[EV_NONE];
    if (!r->apply || !r->apply(s, ev)) {
        s->unknown++;
    } else if (r->says) {
        VEC_ROOM(s->says, s->nsays, s->cap_says);
        s->says[s->nsays++] = ev->seq;
    }
    s->last_seq = ev->seq;
    if (ev->time > s->last_time)
        s->last_time = ev->time;
}

int64_t state_active_ns(const struct run_state *s, int64_t now)
{
    bool counting = s->engine_start && !s->paused && !s->ended && now > s->last_time;
    return s->active_ns + (counting ? now - s->last_time : 0);
}

const struct version *state_version(const struct run_state *s, int64_t id)
{
    return id >= 0 && (uint64_t)id < s->nversions ? &s->versions[id] : NULL;
}

const struct goal *state_goal(const struct run_state *s)
{
    return s->ngoals ? &s->goals[s->ngoals - 1] : NULL;
}

const struct effect *state_effect(const struct run_state *s, int64_t id)
{
    for (size_t i = 0; i < s->ninflight; i++)
        if (s->inflight[i].id == id)
            return &s->inflight[i];
    return NULL;
}

int64_t state_find_plan(const struct run_state *s, const char *plan)
{
    return *plan ? index_get(s, &s->index->plans, plan, true) : -1;
}

int64_t state_find_config(const struct run_state *s, const char *config)
{
    return index_get(s, &s->index->configs, config, false);
}
