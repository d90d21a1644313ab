#include "tests/support/invariants.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum effect_state { OPEN = 1, DONE, BROKEN };

struct effect_seen {
    enum effect_state state;
    int code;
    int64_t version;
    int engine; /* how many engines had started before it */
};

struct version_seen {
    char source[HASH_LEN + 1], plan[HASH_LEN + 1];
    bool built, benched, tried, tried_ok;
    double speedup;
};

struct check {
    struct log *log;
    struct error *e;
    bool ok, paused, ended;
    int64_t seq, time, calls, steers, goals;
    int engines;
    struct effect_seen *effects; /* by number */
    size_t neffects, cap_effects;
    struct version_seen *versions;
    size_t nversions, cap_versions;
    bool *call_done, *steer_seen;
    size_t cap_calls, cap_steers;
};

static bool bad(struct check *c, const struct event *ev, const char *what)
{
    c->ok = false;
    return error_set(c->e, ERR_CORRUPT, "event %lld (%s, id %lld, ref %lld): %s",
                     (long long)ev->seq, event_kind_name(ev->kind), (long long)ev->id,
                     (long long)ev->ref, what);
}

static struct version_seen *version(struct check *c, int64_t id)
{
    return id >= 0 && (uint64_t)id < c->nversions ? &c->versions[id] : NULL;
}

static bool on_effect(struct check *c, const struct event *ev)
{
    if (ev->id < 1 || (uint64_t)ev->id <= c->neffects)
        return bad(c, ev, "the number of an effect is not a new one");
    if (c->paused || c->ended)
        return bad(c, ev, "an effect begins though the run is paused or has ended");
    for (size_t i = 0; i < c->neffects; i++)
        if (c->effects[i].state == OPEN && c->effects[i].engine != c->engines)
            return bad(c, ev, "an effect of an engine that died is still open");
    while (c->neffects < (uint64_t)ev->id) {
        VEC_ROOM(c->effects, c->neffects, c->cap_effects);
        c->effects[c->neffects++] = (struct effect_seen){0};
    }
    c->effects[ev->id - 1] = (struct effect_seen){
        .state = OPEN, .code = ev->code, .version = ev->ref, .engine = c->engines};
    return true;
}

static bool close_effect(struct check *c, const struct event *ev, enum effect_state how)
{
    struct effect_seen *f =
        ev->id >= 1 && (uint64_t)ev->id <= c->neffects ? &c->effects[ev->id - 1] : NULL;
    if (!f || !f->state)
        return bad(c, ev, "no effect of that number began");
    if (f->state != OPEN)
        return bad(c, ev,
                   f->state == DONE ? "that effect was finished before"
                                    : "that effect was marked interrupted before");
    if (f->version != ev->ref)
        return bad(c, ev, "that effect was begun for another version");
    f->state = how;
    struct version_seen *v = how == DONE ? version(c, f->version) : NULL;
    if (v && f->code == EFFECT_BUILD) {
        v->built = true;
        if (strlen(ev->hash) == HASH_LEN)
            memcpy(v->plan, ev->hash, sizeof v->plan);
    }
    if (v && f->code == EFFECT_BENCH)
        v->benched = true;
    return true;
}

static bool on_version(struct check *c, const struct event *ev)
{
    struct buf source = {0};
    struct error why;
    if (ev->id < 0 || (uint64_t)ev->id != c->nversions)
        return bad(c, ev, "version numbers have a gap");
    if (ev->id > 0 && (ev->ref < 0 || ev->ref >= ev->id))
        return bad(c, ev, "the parent is not an earlier version");
    bool whole = log_get_blob(c->log, ev->hash, &source, &why);
    buf_free(&source);
    if (!whole)
        return bad(c, ev, why.msg);
    VEC_ROOM(c->versions, c->nversions, c->cap_versions);
    c->versions[c->nversions++] = (struct version_seen){.speedup = (double)NAN};
    return true;
}

/* A number may be taken over from a version with the same plan that was measured. */
static bool taken_over(const struct check *c, const struct event *ev)
{
    for (size_t i = 0; i < c->nversions; i++)
        if (c->versions[i].benched && c->versions[i].tried &&
            strcmp(c->versions[i].plan, ev->hash) == 0 && c->versions[i].speedup == ev->x)
            return true;
    return false;
}

static bool measured(int verdict)
{
    return verdict == VERDICT_OK || verdict == VERDICT_SCREENED || verdict == VERDICT_FAULT ||
           verdict == VERDICT_LAUNCH || verdict == VERDICT_WRONG || verdict == VERDICT_INACCURATE ||
           verdict == VERDICT_IMPLAUSIBLE;
}

static bool on_try(struct check *c, const struct event *ev)
{
    struct version_seen *v = version(c, ev->id);
    if (!v)
        return bad(c, ev, "a try of a version that is not there");
    if (measured(ev->code) && !v->benched)
        return bad(c, ev, "a measured verdict without a finished bench");
    if (ev->code == VERDICT_BUILD && !v->built)
        return bad(c, ev, "a build verdict without a finished build");
    if (!isnan(ev->x) && !v->benched && !(ev->code == VERDICT_SAME && taken_over(c, ev)))
        return bad(c, ev, "a speedup that no bench has measured");
    v->tried = true;
    v->tried_ok = ev->code == VERDICT_OK;
    v->speedup = ev->x;
    return true;
}

static bool on_record(struct check *c, const struct event *ev)
{
    struct version_seen *v = version(c, ev->id);
    if (!v || !v->tried_ok)
        return bad(c, ev, "a record of a version that was not tried and right");
    return v->speedup == ev->x || bad(c, ev, "the record's speedup is not the try's");
}

static bool once(struct check *c, const struct event *ev, bool *flags, int64_t begun)
{
    if (ev->id < 1 || ev->id > begun)
        return bad(c, ev, "closes what did not begin");
    if (flags[ev->id - 1])
        return bad(c, ev, "closed before");
    flags[ev->id - 1] = true;
    return true;
}

static bool next_number(struct check *c, const struct event *ev, int64_t *last)
{
    return ev->id == ++*last || bad(c, ev, "the numbers have a gap");
}

static bool one(struct check *c, const struct event *ev)
{
    switch ((unsigned)ev->kind) {
    case EV_RUN_CREATED:
        return ev->seq == 1 || bad(c, ev, "a run is created once, by its first event");
    case EV_ENGINE_STARTED:
        c->engines++;
        return true;
    case EV_GOAL:
        return next_number(c, ev, &c->goals);
    case EV_PAUSED:
        c->paused = true;
        return true;
    case EV_RESUMED:
        c->paused = false;
        return true;
    case EV_ENDED:
        c->ended = true;
        return true;
    case EV_REOPENED:
        c->ended = false;
        return true;
    case EV_STEER:
        VEC_ROOM(c->steer_seen, (size_t)c->steers, c->cap_steers);
        c->steer_seen[c->steers] = false;
        return next_number(c, ev, &c->steers);
    case EV_STEER_SEEN:
        return once(c, ev, c->steer_seen, c->steers);
    case EV_CALL:
        VEC_ROOM(c->call_done, (size_t)c->calls, c->cap_calls);
        c->call_done[c->calls] = false;
        return next_number(c, ev, &c->calls);
    case EV_CALL_DONE:
        return once(c, ev, c->call_done, c->calls);
    case EV_VERSION:
        return on_version(c, ev);
    case EV_STRATEGY:
        return version(c, ev->id) || bad(c, ev, "a strategy of a version that is not there");
    case EV_EFFECT:
        return on_effect(c, ev);
    case EV_EFFECT_DONE:
        return close_effect(c, ev, DONE);
    case EV_INTERRUPTED:
        return close_effect(c, ev, BROKEN);
    case EV_TRY:
        return on_try(c, ev);
    case EV_RECORD:
        return on_record(c, ev);
    default:
        return true;
    }
}

static bool each(void *ctx, const struct event *ev)
{
    struct check *c = ctx;
    if (ev->seq != c->seq + 1)
        return bad(c, ev, "the log has a gap before it");
    if (ev->time < c->time)
        return bad(c, ev, "its time lies before that of the event before");
    if (ev->seq == 1 && ev->kind != EV_RUN_CREATED)
        return bad(c, ev, "the first event is not run-created");
    c->seq = ev->seq;
    c->time = ev->time;
    return one(c, ev);
}

bool log_check_invariants(struct log *log, struct error *e)
{
    struct check c = {.log = log, .e = e, .ok = true};
    bool ok = log_each(log, 0, 0, false, each, &c, e) && c.ok;
    if (ok && c.seq == 0)
        ok = error_set(e, ERR_CORRUPT, "the log is empty");
    free(c.effects);
    free(c.versions);
    free(c.call_done);
    free(c.steer_seen);
    return ok;
}
