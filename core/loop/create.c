/* The beginning of a run: its file with the first events, its task, and forks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/log/runs.h"
#include "core/loop/engine_private.h"
#include "core/task/switches.h"

#define DEFAULT_HOURS 8
#define NAME_RACES    20 /* how often another process may take the name we were about to use */

/* ---- creating ---------------------------------------------------------------------------------
 */

static int default_jobs(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
}

/* "replay:FILE" names its file in full, so that the run goes on from any folder. */
static char *agent_name(const char *agent)
{
    if (strncmp(agent, "replay:", 7) != 0)
        return xstrdup(agent);
    char *real = realpath(agent + 7, NULL);
    char *name = xasprintf("replay:%s", real ? real : agent + 7);
    free(real);
    return name;
}

static char *created_body(const struct run_opts *o, const struct task *t, const char *agent,
                          const char *path)
{
    char host[128] = "?";
    gethostname(host, sizeof host - 1);
    cJSON *b = cJSON_CreateObject();
    char *run = runs_name(path);
    cJSON_AddStringToObject(b, "backend", "c");
    cJSON_AddStringToObject(b, "agent", agent);
    cJSON_AddStringToObject(b, "run", run);
    cJSON_AddStringToObject(b, "host", host);
    cJSON_AddStringToObject(b, "version", WARPLOOP_VERSION);
    cJSON_AddStringToObject(b, "task", t->hash.hex);
    cJSON_AddStringToObject(b, "jail", o->jail ? o->jail : "auto");
    struct hash reference = hash_bytes(t->c.reference, strlen(t->c.reference));
    cJSON_AddStringToObject(b, "reference", reference.hex);
    if (strchr(o->task, '/')) {
        char *dir = realpath(t->dir, NULL);
        cJSON_AddStringToObject(b, "dir", dir ? dir : t->dir);
        free(dir);
    }
    char *text = json_text(b);
    cJSON_Delete(b);
    free(run);
    return text;
}

static char *goal_text(const struct run_opts *o, const struct task *t, double target)
{
    if (o->goal && *o->goal)
        return engine_text(o->goal, SOURCE_MAX);
    if (isnan(target))
        return xasprintf("Make %s as fast as it gets: %s", t->name, t->title);
    return xasprintf("Make %s at least %.3gx as fast as its baseline: %s", t->name, target,
                     t->title);
}

static void put_version(struct log *log, int64_t id, const char *source, const char *name)
{
    struct event ev = event_make(EV_VERSION);
    struct hash h;
    log_put_blob(log, source, strlen(source), &h, NULL); /* an error stays with the batch */
    ev.id = id;
    ev.ref = id ? 0 : -1;
    ev.hash = h.hex;
    ev.text = name;
    ev.body = "{\"author\":\"task\"}";
    log_append(log, &ev, NULL);
}

/* All of it is one commit: a run's file is either complete or empty, and an empty one is no run. */
static bool first_events(struct log *log, const struct run_opts *o, const struct task *t,
                         const char *agent, struct error *e)
{
    double target = isnan(o->target) ? t->target : o->target;
    char *body = created_body(o, t, agent, log_path(log)), *text = goal_text(o, t, target);
    log_begin(log);
    struct hash h;
    log_put_blob(log, buf_str(&t->text), t->text.len, &h, NULL);
    struct event created = event_make(EV_RUN_CREATED);
    created.text = t->name;
    created.hash = h.hex;
    created.n = (int64_t)(o->seed ? o->seed : hash_fresh(0) >> 1); /* positive wherever shown */
    created.code = o->jobs > 0 ? o->jobs : default_jobs();
    created.body = body;
    log_append(log, &created, NULL);
    struct event goal = event_make(EV_GOAL);
    goal.id = 1;
    goal.text = text;
    goal.x = target;
    goal.lo = o->hours > 0 ? o->hours : DEFAULT_HOURS;
    goal.n = o->calls;
    log_append(log, &goal, NULL);
    put_version(log, 0, t->c.baseline, "baseline");
    put_version(log, 1, t->c.start, "start");
    free(body);
    free(text);
    return log_commit(log, e);
}

static bool check_opts(const struct run_opts *o, struct error *e)
{
    if (o->jobs < 0 || o->jobs > 64)
        return error_set(e, ERR_INPUT, "jobs: 1 to 64 were expected, not %d", o->jobs);
    if (!(isnan(o->target) || (isfinite(o->target) && o->target > 0)))
        return error_set(e, ERR_INPUT, "target: a speedup above 0 was expected");
    if (!(o->hours >= 0) || o->calls < 0)
        return error_set(e, ERR_INPUT, "hours and calls are not negative");
    return true;
}

static bool make_file(const struct run_opts *o, const struct task *t, const char *agent,
                      char **path, struct error *e)
{
    for (int i = 0; i < NAME_RACES; i++) {
        if (!runs_new_path(t->name, path, e))
            return false;
        struct log *log = log_create(*path, e);
        if (log) {
            bool ok = log_lock(log, e) && first_events(log, o, t, agent, e);
            log_close(log);
            if (ok)
                return true;
            unlink(*path);
            free(*path);
            return false;
        }
        bool taken = fs_exists(*path);
        free(*path);
        if (!taken)
            return false;
    }
    return false;
}

bool engine_create(const struct run_opts *o, char **path, struct error *e)
{
    *path = NULL;
    if (!check_opts(o, e))
        return false;
    struct task *t = task_load(o->task, e);
    if (!t)
        return false;
    char *agent = agent_name(o->agent ? o->agent : "tuner");
    struct agent probe = {0};
    bool ok = agent_open(agent, t, &probe, e); /* an unknown agent is told before a run is made */
    if (ok)
        agent_close(&probe);
    ok = ok && make_file(o, t, agent, path, e);
    if (!ok)
        *path = NULL;
    free(agent);
    task_free(t);
    return ok;
}

/* ---- the task of a run ------------------------------------------------------------------------
 */

/* What may be edited while a run lasts: prose, and what is proposed; never what is measured. */
static void drop_unmeasured(cJSON *o)
{
    static const char *const free_to_change[] = {"title", "summary", "moves", "tunables", "target"};
    for (size_t i = 0; i < ARRAY_LEN(free_to_change); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(o, free_to_change[i]);
}

static bool same_measure(const struct buf *then, const struct buf *now)
{
    if (then->len == now->len && memcmp(buf_str(then), buf_str(now), now->len) == 0)
        return true;
    cJSON *a = cJSON_ParseWithLength(buf_str(then), then->len),
          *b = cJSON_ParseWithLength(buf_str(now), now->len);
    drop_unmeasured(a);
    drop_unmeasured(b);
    bool same = a && b && cJSON_Compare(a, b, true);
    cJSON_Delete(a);
    cJSON_Delete(b);
    return same;
}

static bool still_same(struct log *log, const struct run_state *s, const struct task *t,
                       const char *reference, struct error *e)
{
    struct buf then = {0};
    const char *what = NULL;
    if (!log_get_blob(log, s->task_hash.hex, &then, e))
        return false;
    struct hash base = hash_bytes(t->c.baseline, strlen(t->c.baseline)),
                ref = hash_bytes(t->c.reference, strlen(t->c.reference));
    if (!same_measure(&then, &t->text))
        what = "task.json (apart from prose, moves and tunables)";
    else if (strcmp(base.hex, state_version(s, 0)->source.hex) != 0)
        what = "the baseline's source";
    else if (*reference && strcmp(ref.hex, reference) != 0)
        what = "the reference's source";
    buf_free(&then);
    return !what ||
           error_set(e, ERR_INPUT,
                     "%s: %s has changed since this run was made, so new numbers could not be "
                     "compared with its old ones: put it back, or begin a new run",
                     t->dir, what);
}

struct task *engine_task(struct log *log, const struct run_state *s, char **agent, struct error *e)
{
    struct event first;
    if (s->nversions < 2 || !log_get(log, 1, &first, e)) {
        if (s->nversions < 2)
            error_set(e, ERR_CORRUPT, "%s is no complete run: begin a new one", log_path(log));
        return NULL;
    }
    struct json_doc doc = {0};
    if (!json_parse(&doc, "run-created", first.body, strlen(first.body), e)) {
        event_free_texts(&first);
        return NULL;
    }
    const char *dir = json_str(doc.root, "dir", NULL);
    struct task *t = task_load(dir && fs_exists(dir) ? dir : s->task, e);
    if (t && !still_same(log, s, t, json_str(doc.root, "reference", ""), e)) {
        task_free(t);
        t = NULL;
    }
    if (t)
        *agent = xstrdup(json_str(doc.root, "agent", "tuner"));
    json_free(&doc);
    event_free_texts(&first);
    return t;
}

/* ---- forks ------------------------------------------------------------------------------------
 */

struct cut {
    int64_t version, upto;
    bool open; /* the events that close the version go on */
};

static bool find_cut(void *ctx, const struct event *ev)
{
    struct cut *c = ctx;
    if (ev->kind == EV_TRY && ev->id == c->version) {
        c->upto = ev->seq;
        c->open = true;
        return true;
    }
    if (c->open && (ev->kind == EV_RECORD || ev->kind == EV_CALL_DONE)) {
        c->upto = ev->seq;
        return true;
    }
    return !c->open;
}

/* The fork begins right after the version was judged. What was in flight beside it then is, for the
 * fork, an effect whose engine died: it is repeated. */
static bool where_to_cut(struct log *log, const char *name, int64_t version, int64_t *upto,
                         struct error *e)
{
    struct cut c = {.version = version};
    if (version < 0) {
        *upto = log_last_seq(log);
        return true;
    }
    if (version == 0)
        c.version = 1; /* the baseline has no verdict; the start is the first that has */
    if (!log_each(log, 0, 0, false, find_cut, &c, e))
        return false;
    *upto = c.upto;
    return c.upto > 0 || error_set(e, ERR_NOTFOUND,
                                   "%s has no judged version v%lld: `warploop show %s` lists them",
                                   name, (long long)version, name);
}

static bool first_own_event(const char *path, const char *parent, int64_t version, int64_t upto,
                            struct error *e)
{
    struct log *log = log_open(path, e);
    if (!log)
        return false;
    struct event ev = event_make(EV_FORKED);
    ev.text = parent;
    ev.ref = version;
    ev.n = upto;
    bool ok = log_lock(log, e) && log_append(log, &ev, e);
    log_close(log);
    return ok;
}

static bool keep_state(void *ctx, const struct event *ev)
{
    state_apply(ctx, ev);
    return true;
}

bool engine_fork(const char *path, int64_t version, char **new_path, struct error *e)
{
    *new_path = NULL;
    struct log *log = log_open_read(path, e);
    if (!log)
        return false;
    struct run_state *s = state_new();
    char *name = runs_name(path), *to = NULL;
    int64_t upto = 0;
    bool ok =
        log_each(log, 0, 0, false, keep_state, s, e) && where_to_cut(log, name, version, &upto, e);
    log_close(log);
    for (int i = 0; ok && !*new_path && i < NAME_RACES; i++) {
        ok = runs_new_path(s->task, &to, e);
        if (ok && log_fork(path, upto, to, e)) {
            *new_path = to;
        } else if (ok) {
            ok = fs_exists(to) && i + 1 < NAME_RACES; /* someone else took the name */
            free(to);
        }
    }
    if (ok)
        ok = first_own_event(*new_path, name, version < 0 ? s->incumbent : version, upto, e);
    if (!ok && *new_path) {
        unlink(*new_path);
        free(*new_path);
        *new_path = NULL;
    }
    state_free(s);
    free(name);
    return ok;
}
