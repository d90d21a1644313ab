#include "core/cmd/json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/evidence.h"

void out_text(cJSON *o, const char *key, const char *text)
{
    if (text && *text) {
        cJSON_AddStringToObject(o, key, text);
    } else {
        cJSON_AddNullToObject(o, key);
    }
}

void out_num(cJSON *o, const char *key, double v)
{
    if (isfinite(v)) {
        cJSON_AddNumberToObject(o, key, v);
    } else {
        cJSON_AddNullToObject(o, key);
    }
}

void out_i64(cJSON *o, const char *key, int64_t v)
{
    char text[24]; /* cJSON keeps numbers as double: 53 bits */
    snprintf(text, sizeof text, "%lld", (long long)v);
    cJSON_AddRawToObject(o, key, text);
}

void out_id(cJSON *o, const char *key, int64_t id)
{
    if (id < 0) {
        cJSON_AddNullToObject(o, key);
    } else {
        out_i64(o, key, id);
    }
}

void json_ascii(const char *text, struct buf *out)
{
    for (size_t n = strlen(text), len; n; text += len, n -= len) {
        uint32_t cp;
        len = text_decode(text, n, &cp);
        if (cp >= 0x10000) {
            buf_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)),
                     (unsigned)(0xdc00 + ((cp - 0x10000) & 0x3ff)));
        } else if (cp >= 0x7f) {
            buf_addf(out, "\\u%04x", (unsigned)cp);
        } else {
            buf_addc(out, (char)cp);
        }
    }
}

void print_json(cJSON *o)
{
    struct buf b = {0};
    char *text = json_text(o);
    json_ascii(text, &b);
    buf_addc(&b, '\n');
    free(text);
    cJSON_Delete(o);
    cmd_print(&b);
}

cJSON *json_run(const struct run_view *v)
{
    const struct run_state *s = v->s;
    cJSON *o = cJSON_CreateObject();
    out_text(o, "run", v->name);
    out_text(o, "path", v->path);
    out_text(o, "task", s->task);
    out_text(o, "state", run_status_name(v->status));
    out_text(o, "reason", v->status == RUN_ENDED ? end_reason_name(s->reason) : NULL);
    out_id(o, "pid", v->pid ? v->pid : -1);
    out_text(o, "host", v->pid ? v->host : NULL);
    out_id(o, "best", s->incumbent);
    out_num(o, "speedup", s->best);
    out_num(o, "lo", s->best_lo);
    out_num(o, "hi", s->best_hi);
    out_i64(o, "calls", s->ncalls_done);
    out_i64(o, "created_ns", s->created);
    out_i64(o, "active_ns", s->active_ns);
    out_i64(o, "bytes", v->size);
    out_text(o, "parent", s->parent_run);
    out_id(o, "forked_from", s->parent_run ? s->forked_from : -1);
    return o;
}

cJSON *json_goal(const struct goal *g)
{
    cJSON *o = cJSON_CreateObject();
    out_i64(o, "number", g->id);
    out_text(o, "text", g->text);
    out_num(o, "target", g->target);
    out_num(o, "hours", g->hours > 0 ? g->hours : NO_REAL);
    out_id(o, "calls", g->calls > 0 ? g->calls : -1);
    return o;
}

cJSON *json_version(const struct version *v)
{
    bool judged = v->verdict != VERDICT_NONE;
    cJSON *o = cJSON_CreateObject();
    out_i64(o, "version", v->id);
    out_id(o, "parent", v->id ? v->parent : -1);
    out_text(o, "verdict", judged ? verdict_name(v->verdict) : NULL);
    cJSON_AddBoolToObject(o, "record", v->record);
    out_num(o, "speedup", v->speedup);
    out_num(o, "lo", v->lo);
    out_num(o, "hi", v->hi);
    out_num(o, "gain", v->gain);
    out_id(o, "against", judged ? v->against : -1);
    out_num(o, "predicted", v->predicted);
    out_text(o, "strategy", v->strategy);
    out_text(o, "config", v->config);
    out_text(o, "source", v->source.hex);
    out_text(o, "plan", v->plan.hex);
    out_i64(o, "time_ns", v->time_ns);
    return o;
}

static cJSON *body_json(const char *body)
{
    cJSON *o = *body ? cJSON_Parse(body) : NULL;
    return o ? o : cJSON_CreateNull();
}

cJSON *json_event(const struct event *ev, bool body)
{
    bool judges = ev->kind == EV_TRY || ev->kind == EV_EFFECT_DONE || ev->kind == EV_CALL_DONE;
    cJSON *o = cJSON_CreateObject();
    out_i64(o, "seq", ev->seq);
    out_i64(o, "time_ns", ev->time);
    out_text(o, "kind", event_kind_name(ev->kind));
    out_i64(o, "id", ev->id);
    out_i64(o, "ref", ev->ref);
    out_i64(o, "code", ev->code);
    out_text(o, "verdict", judges ? verdict_name((enum verdict)ev->code) : NULL);
    out_i64(o, "n", ev->n);
    out_num(o, "x", ev->x);
    out_num(o, "lo", ev->lo);
    out_num(o, "hi", ev->hi);
    out_num(o, "y", ev->y);
    out_text(o, "hash", ev->hash);
    out_text(o, "text", ev->text);
    if (body) {
        cJSON_AddItemToObject(o, "body", body_json(ev->body));
    }
    return o;
}

cJSON *json_reply(const cJSON *reply)
{
    static const char *const wire_only[] = {"type", "id", "parts"};
    if (!reply) {
        return cJSON_CreateNull();
    }
    cJSON *o = cJSON_Duplicate(reply, true);
    for (size_t i = 0; i < ARRAY_LEN(wire_only); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(o, wire_only[i]);
    }
    if (json_str(o, "index", NULL)) { /* 64-bit integers are texts on the wire */
        int64_t index = json_i64(o, "index", -1);
        cJSON_DeleteItemFromObjectCaseSensitive(o, "index");
        out_id(o, "index", index);
    }
    return o;
}

void out_message(cJSON *o, struct run_view *v, const struct version *ver)
{
    struct event judged = {0};
    if (ver && ver->try_seq && reader_event(v->r, ver->try_seq, &judged, NULL)) {
        out_text(o, "message", judged.text);
        event_free_texts(&judged);
    } else {
        out_text(o, "message", NULL);
    }
}

cJSON *json_version_full(struct run_view *v, int64_t id)
{
    const struct version *ver = state_version(v->s, id);
    struct evidence ev;
    cJSON *o = json_version(ver);
    out_message(o, v, ver);
    (void)!evidence_open(v->r, id, &ev, NULL);
    cJSON_AddItemToObject(o, "result", json_reply(ev.result.root));
    cJSON_AddItemToObject(o, "build", json_reply(ev.build.root));
    evidence_free(&ev);
    return o;
}
