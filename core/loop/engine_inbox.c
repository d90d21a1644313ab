/* What people ask for, from any process: each command becomes events, and is crossed off in the
 * same commit. Everything here is foreign text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/loop/engine_private.h"

void engine_pause(struct engine *g, int code, const char *cause)
{
    if (g->s->paused)
        return;
    struct event ev = event_make(EV_PAUSED);
    ev.code = code;
    ev.text = cause;
    engine_add(g, ev);
}

static char *author_body(const char *author)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "author", author);
    char *body = json_text(o);
    cJSON_Delete(o);
    return body;
}

/* An answer to somebody whose command cannot be carried out. */
static void refuse(struct engine *g, const struct command *c, const char *why)
{
    char *text = xasprintf("%s by %s refused: %s", c->kind, c->author, why);
    struct event ev = event_make(EV_FAULT);
    ev.code = ERR_INPUT;
    ev.text = text;
    engine_add(g, ev);
    free(text);
}

static void do_pause(struct engine *g, const struct command *c)
{
    engine_pause(g, 1, c->author);
}

static void reopen(struct engine *g, const char *cause)
{
    if (!g->s->ended)
        return;
    struct event ev = event_make(EV_REOPENED);
    ev.text = cause;
    engine_add(g, ev);
}

static void do_resume(struct engine *g, const struct command *c)
{
    g->retry_at = g->retry_at ? 1 : 0; /* a full disk is tried at once */
    reopen(g, c->author);
    if (!g->s->paused)
        return;
    struct event ev = event_make(EV_RESUMED);
    ev.text = c->author;
    engine_add(g, ev);
}

static void do_stop(struct engine *g, const struct command *c)
{
    int how = strcmp(c->text, "now") == 0 ? 2 : 1;
    if (!g->inbox_seen)
        return; /* meant for an engine that is gone */
    if (g->stops < how)
        g->stops = how;
    g->stop_why = "stop";
}

static void do_text(struct engine *g, const struct command *c, enum event_kind kind, int64_t id)
{
    char *body = author_body(c->author);
    struct event ev = event_make(kind);
    ev.id = id;
    ev.text = c->text;
    ev.body = body;
    engine_add(g, ev);
    free(body);
}

static void do_steer(struct engine *g, const struct command *c)
{
    do_text(g, c, EV_STEER, g->s->nsteers ? g->s->steers[g->s->nsteers - 1].id + 1 : 1);
}

static void do_note(struct engine *g, const struct command *c)
{
    do_text(g, c, EV_NOTE, g->s->nnotes + 1);
}

static void do_goal(struct engine *g, const struct command *c)
{
    struct json_doc doc;
    struct error e = {0};
    const struct goal *old = state_goal(g->s);
    if (!json_parse(&doc, "goal", c->text, strlen(c->text), &e)) {
        refuse(g, c, e.msg);
        return;
    }
    const cJSON *target = cJSON_GetObjectItemCaseSensitive(doc.root, "target");
    struct event ev = event_make(EV_GOAL);
    char *body = author_body(c->author);
    ev.id = old ? old->id + 1 : 1;
    ev.text = json_str(doc.root, "text", old ? old->text : "");
    ev.x = json_num(doc.root, "target", old && !cJSON_IsNull(target) ? old->target : (double)NAN);
    ev.lo = json_num(doc.root, "hours", old ? old->hours : 0);
    ev.n = json_i64(doc.root, "calls", old ? old->calls : 0);
    ev.body = body;
    if (!(isnan(ev.x) || ev.x > 0) || !(ev.lo >= 0) || ev.n < 0) {
        refuse(g, c, "a target is a speedup above 0; hours and calls are not negative");
    } else {
        engine_add(g, ev);
        reopen(g, "the goal was edited");
    }
    free(body);
    json_free(&doc);
}

/* The source of a submission: given, or named by the hash of one that this log holds. */
static bool submitted_source(struct engine *g, const cJSON *o, struct buf *out, struct error *e)
{
    const char *source = json_str(o, "source", NULL), *blob = json_str(o, "blob", NULL);
    if (source)
        buf_adds(out, source);
    else if (!blob || strlen(blob) != HASH_LEN || !log_get_blob(g->log, blob, out, NULL))
        return error_set(e, ERR_INPUT, "neither \"source\" nor a \"blob\" of this run is given");
    return (out->len > 0 && out->len <= SOURCE_MAX) ||
           error_set(e, ERR_INPUT, "the source has %zu bytes; 1 to %zu were expected", out->len,
                     SOURCE_MAX);
}

static void do_submit(struct engine *g, const struct command *c)
{
    struct json_doc doc;
    struct error e = {0};
    struct buf source = {0};
    if (!json_parse(&doc, "submit", c->text, strlen(c->text), &e)) {
        refuse(g, c, e.msg);
        return;
    }
    const char *name = json_str(doc.root, "name", json_str(doc.root, "file", "submitted"));
    if (!submitted_source(g, doc.root, &source, &e)) {
        refuse(g, c, e.msg);
        buf_free(&source);
    } else {
        struct proposal p = {.config = xstrdup(name),
                             .strategy = xstrdup(json_str(doc.root, "strategy", "outside")),
                             .hypothesis = xstrdup(json_str(doc.root, "why", "")),
                             .predicted = (double)NAN,
                             .parent = json_i64(doc.root, "parent", -1), /* -1: the best */
                             .source = source};
        if (engine_is_outside(g))
            engine_see_steers(g);
        engine_new_version(g, &p, c->author);
        reopen(g, "a version was submitted");
    }
    json_free(&doc);
}

/* "v7", "7": the version whose effect is meant; else what the device does, else the oldest build.
 */
static int64_t effect_meant(const struct engine *g, const char *text)
{
    const struct run_state *s = g->s;
    int64_t wanted = -1, found = 0;
    const char *digits = text + strcspn(text, "0123456789");
    if (*digits)
        wanted = strtoll(digits, NULL, 10);
    for (size_t i = 0; i < s->ninflight; i++) {
        const struct effect *f = &s->inflight[i];
        bool device = f->kind == EFFECT_BENCH || f->kind == EFFECT_BASELINE;
        if (wanted >= 0 ? f->version == wanted : device)
            return f->id;
        if (!found)
            found = f->id;
    }
    return wanted >= 0 ? 0 : found;
}

static void do_cancel(struct engine *g, const struct command *c)
{
    if (!g->inbox_seen)
        return; /* what was meant is gone */
    const struct effect *f = state_effect(g->s, effect_meant(g, c->text));
    if (!f) {
        refuse(g, c, "nothing of the kind is in flight");
        return;
    }
    /* The baseline would only be measured again at once. */
    bool pause = strstr(c->text, "pause") || f->version == 0;
    char *why = xasprintf("cancelled by %s", c->author);
    engine_cancel(g, f->id, why);
    free(why);
    if (pause)
        engine_pause(g, 1, c->author);
}

static const struct {
    const char *kind;
    void (*run)(struct engine *g, const struct command *c);
} commands[] = {
    {"pause", do_pause}, {"resume", do_resume}, {"stop", do_stop},     {"steer", do_steer},
    {"note", do_note},   {"goal", do_goal},     {"submit", do_submit}, {"cancel", do_cancel},
};

static void take(struct engine *g, struct command *c)
{
    char *author = engine_text(c->author, 200);
    free(c->author);
    c->author = author;
    size_t i = 0;
    while (i < ARRAY_LEN(commands) && strcmp(commands[i].kind, c->kind) != 0)
        i++;
    if (i < ARRAY_LEN(commands))
        commands[i].run(g, c);
    else
        refuse(g, c, "this program does not know that command");
    VEC_ROOM(g->taken, g->ntaken, g->cap_taken);
    g->taken[g->ntaken++] = c->id;
    g->last_taken = c->id;
}

void engine_inbox(struct engine *g)
{
    struct command *list = NULL;
    size_t n = 0;
    struct error e = {0};
    if (!inbox_list(g->log, &list, &n, &e)) {
        if (e.code == ERR_BUSY)
            return; /* looked at again */
        g->broken = true;
        g->failure = e;
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (list[i].id > g->last_taken)
            take(g, &list[i]);
    inbox_free(list, n);
    g->inbox_seen = true;
}
