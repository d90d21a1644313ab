/* New versions: from the agent, and from what people ask for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/loop/engine_private.h"
#include "core/task/switches.h"

static void say(struct engine *g, int64_t version, const char *text)
{
    struct event ev = event_make(EV_SAY);
    ev.ref = version;
    ev.text = text;
    engine_add(g, ev);
}

static char *version_body(const struct proposal *p, const char *author)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "strategy", p->strategy);
    cJSON_AddStringToObject(o, "hypothesis", p->hypothesis);
    json_put_num(o, "prediction", p->predicted);
    cJSON_AddStringToObject(o, "author", author);
    char *body = json_text(o);
    cJSON_Delete(o);
    return body;
}

static void own_text(char **s, size_t keep)
{
    char *text = engine_text(*s ? *s : "", keep);
    free(*s);
    *s = text;
}

int64_t engine_new_version(struct engine *g, struct proposal *p, const char *author)
{
    int64_t id = (int64_t)g->s->nversions, number = g->s->ncalls + 1;
    own_text(&p->config, 500);
    own_text(&p->strategy, 100);
    own_text(&p->hypothesis, TEXT_KEEP);
    if (p->parent < 0 || p->parent >= id)
        p->parent = g->s->incumbent >= 0 ? g->s->incumbent : 1;
    struct hash source = engine_put_blob(g, &p->source);
    char *body = version_body(p, author);

    struct event call = event_make(EV_CALL);
    call.id = number;
    call.code = TOOL_SUBMIT;
    call.ref = id;
    call.text = p->hypothesis;
    engine_add(g, call);

    struct event version = event_make(EV_VERSION);
    version.id = id;
    version.ref = p->parent;
    version.hash = source.hex;
    version.text = p->config;
    version.n = number;
    version.body = body;
    engine_add(g, version);

    struct event strategy = event_make(EV_STRATEGY);
    strategy.id = id;
    strategy.text = p->strategy;
    strategy.x = p->predicted;
    engine_add(g, strategy);
    if (*p->hypothesis)
        say(g, id, p->hypothesis);
    free(body);
    proposal_free(p);
    return id;
}

/* ---- steers -----------------------------------------------------------------------------------
 */

/* "try MOVE MOVE TUN=16": a configuration that a person wants to see. */
static bool try_config(struct engine *g, const char *text, struct proposal *p, struct error *e)
{
    const struct task *t = g->task;
    struct config c;
    if (!t->c.moves)
        return error_set(e, ERR_INPUT, "this task has no moves to combine");
    if (!config_parse(t, text, &c, e))
        return false;
    config_normalise(t, &c);
    if (!config_valid(t, &c))
        return error_set(e, ERR_INPUT,
                         "\"%.200s\" is no configuration of this task: a move lacks "
                         "what it requires, or excludes another",
                         text);
    *p = (struct proposal){.config = config_text(t, &c),
                           .predicted = (double)NAN,
                           .parent = g->s->incumbent >= 0 ? g->s->incumbent : 1};
    int64_t known = state_find_config(g->s, p->config);
    if (known >= 0) {
        error_set(e, ERR_INPUT, "\"%.200s\" is v%lld", p->config, (long long)known);
        proposal_free(p);
        return false;
    }
    if (!switches_resolve(t, t->c.moves, &c, &p->source, e)) {
        proposal_free(p);
        return false;
    }
    p->strategy = xstrdup("steer");
    p->hypothesis = xasprintf("a person asked to try %s", p->config);
    return true;
}

/* The built-in agents cannot read; the answer says so, and what words are known. */
static bool obey(struct engine *g, const char *text)
{
    struct proposal p = {0};
    struct error e = {0};
    while (*text == ' ' || *text == '\n' || *text == '\t')
        text++;
    if (strncmp(text, "try ", 4) != 0) {
        char *answer = xasprintf(
            "the agent \"%s\" cannot read prose; a steer that is understood is \"try MOVE MOVE "
            "NAME=VALUE\" with the names that `warploop task show %s` lists",
            g->agent.name, g->task->name);
        say(g, 0, answer);
        free(answer);
        return false;
    }
    char *config = engine_text(text + 4, TEXT_KEEP);
    config[strcspn(config, "\r\n")] = '\0';
    bool ok = try_config(g, config, &p, &e);
    free(config);
    if (!ok) {
        say(g, 0, e.msg);
        return false;
    }
    engine_new_version(g, &p, "steer");
    return true;
}

static void seen(struct engine *g, const struct steer *steer)
{
    struct event ev = event_make(EV_STEER_SEEN);
    ev.id = steer->id;
    ev.ref = (int64_t)g->s->nversions;
    engine_add(g, ev);
}

void engine_see_steers(struct engine *g)
{
    for (size_t i = 0; i < g->s->nsteers; i++)
        if (!g->s->steers[i].seen)
            seen(g, &g->s->steers[i]);
}

/* What is new is seen by the version about to be made. True: it made one by itself. */
static bool heed_steers(struct engine *g)
{
    bool made = false;
    for (size_t i = 0; i < g->s->nsteers && !made; i++) {
        if (g->s->steers[i].seen)
            continue;
        char *text = engine_event_text(g, g->s->steers[i].seq);
        seen(g, &g->s->steers[i]);
        made = obey(g, text);
        free(text);
    }
    return made;
}

bool engine_is_outside(const struct engine *g)
{
    return strcmp(g->agent.name, "outside") == 0;
}

void engine_propose(struct engine *g)
{
    struct proposal p = {.predicted = (double)NAN};
    struct error e = {0};
    if (!engine_is_outside(g) && heed_steers(g))
        return;
    switch (g->agent.propose(g->agent.self, g->s, &p, &e)) {
    case AGENT_PROPOSES:
        if (p.source.len == 0 || p.source.len > SOURCE_MAX) {
            if (!g->fatal)
                g->fatal = xasprintf("the agent %s proposed a source of %zu bytes", g->agent.name,
                                     p.source.len);
            proposal_free(&p);
            break;
        }
        engine_new_version(g, &p, g->agent.name);
        break;
    case AGENT_WAITS:
        g->agent_waits = true;
        break;
    case AGENT_FINISHED:
        g->agent_finished = true;
        free(g->agent_why);
        g->agent_why = *e.msg ? xstrdup(e.msg) : NULL;
        break;
    case AGENT_FAILED:
        if (!g->fatal)
            g->fatal = xasprintf("the agent %s cannot go on: %s", g->agent.name, e.msg);
        break;
    }
}
