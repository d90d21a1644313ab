#include "core/loop/replay.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/log/log.h"

struct replay {
    struct log *log;
    struct run_state *recorded;
};

static bool fold(void *ctx, const struct event *ev)
{
    state_apply(ctx, ev);
    return true;
}

static void replay_free(void *self)
{
    struct replay *r = self;
    log_close(r->log);
    state_free(r->recorded);
    free(r);
}

/* The author's hypothesis stands in the body of the version's event. */
static bool read_hypothesis(struct replay *r, const struct version *v, char **out, struct error *e)
{
    struct event ev;
    if (!log_get(r->log, v->seq, &ev, e))
        return false;
    cJSON *body = cJSON_Parse(ev.body);
    *out = xstrdup(json_str(body, "hypothesis", ""));
    cJSON_Delete(body);
    event_free_texts(&ev);
    return true;
}

static enum agent_answer replay_propose(void *self, const struct run_state *s, struct proposal *p,
                                        struct error *e)
{
    struct replay *r = self;
    const struct version *v = state_version(r->recorded, (int64_t)s->nversions);
    if (!v)
        return AGENT_FINISHED;
    struct buf source = {0};
    char *hypothesis = NULL;
    if (!log_get_blob(r->log, v->source.hex, &source, e) ||
        !read_hypothesis(r, v, &hypothesis, e)) {
        buf_free(&source);
        error_prefix(e, "version %lld of the recorded run", (long long)v->id);
        return AGENT_FAILED;
    }
    *p = (struct proposal){.config = xstrdup(v->config),
                           .strategy = xstrdup(v->strategy),
                           .hypothesis = hypothesis,
                           .predicted = v->predicted,
                           .parent = v->parent,
                           .source = source};
    return AGENT_PROPOSES;
}

bool replay_open(const char *path, const struct task *t, struct agent *out, struct error *e)
{
    struct log *log = log_open_read(path, e);
    if (!log)
        return false;
    struct replay *r = xcalloc(1, sizeof *r);
    r->log = log;
    r->recorded = state_new();
    bool ok = log_each(log, 0, 0, false, fold, r->recorded, e);
    if (ok && strcmp(r->recorded->task, t->name) != 0)
        ok = error_set(e, ERR_INPUT,
                       "%s is a run of task \"%.80s\", not of \"%s\": give a recorded "
                       "run of the same task",
                       path, r->recorded->task, t->name);
    if (!ok) {
        replay_free(r);
        return false;
    }
    *out =
        (struct agent){.name = "replay", .propose = replay_propose, .free = replay_free, .self = r};
    return true;
}
