#include "core/task/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define BUILD_TIMEOUT_MS 60000
#define EVAL_TIMEOUT_MS  120000 /* at least; more when the task allows long calls */
#define EVAL_CALLS       100

static const char *const role_names[] = {
    [ROLE_CANDIDATE] = "candidate", [ROLE_BASELINE] = "baseline", [ROLE_REFERENCE] = "reference"};
static const char *const mode_names[] = {
    [EVAL_FULL] = "full", [EVAL_CHECK] = "check", [EVAL_BASELINE] = "baseline"};
static const char *const kind_names[] = {[PARAM_DIM] = "dim",
                                         [PARAM_SCALAR] = "scalar",
                                         [PARAM_INPUT] = "input",
                                         [PARAM_OUTPUT] = "output",
                                         [PARAM_WORKSPACE] = "workspace"};
static const char *const shape_roles[] = {
    [SHAPE_SCORED] = "scored", [SHAPE_CHECK] = "check", [SHAPE_HIDDEN] = "hidden"};

static cJSON *head(const struct task *t, const char *op, const struct spec_opts *o)
{
    cJSON *h = cJSON_CreateObject();
    cJSON_AddStringToObject(h, "op", op);
    json_put_i64(h, "id", o->id);
    cJSON_AddStringToObject(h, "backend", "c");
    cJSON_AddStringToObject(h, "task", t->name);
    cJSON_AddStringToObject(h, "jail", o->jail ? o->jail : "auto");
    return h;
}

void spec_build(const struct task *t, enum build_role role, const char *source, size_t n,
                const struct spec_opts *o, struct wire_msg *m)
{
    struct buf header = {0}, shim = {0};
    bool reference = role == ROLE_REFERENCE;
    char *symbol = xasprintf("%s%s", t->c.entry, reference ? "_ref" : "");
    *m = (struct wire_msg){.head = head(t, "build", o)};
    cJSON_AddStringToObject(m->head, "role", role_names[role]);
    cJSON_AddStringToObject(m->head, "entry", t->c.entry);
    cJSON_AddStringToObject(m->head, "symbol", symbol);
    cJSON *headers = cJSON_AddArrayToObject(m->head, "headers");
    for (size_t i = 0; i < t->c.nheaders; i++)
        cJSON_AddItemToArray(headers, cJSON_CreateString(t->c.headers[i]));
    cJSON_AddNumberToObject(m->head, "timeout_ms", BUILD_TIMEOUT_MS);
    task_header(t, &header);
    task_shim(t, reference, &shim);
    wire_add_part(m, "source", source, n);
    wire_add_part(m, "header", header.s, header.len);
    wire_add_part(m, "shim", shim.s, shim.len);
    buf_free(&header);
    buf_free(&shim);
    free(symbol);
}

/* ---------------------------------------------------------------- evaluate */

static cJSON *param_json(const struct param *p)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", p->name);
    cJSON_AddStringToObject(o, "kind", kind_names[p->kind]);
    if (p->kind == PARAM_SCALAR || p->kind == PARAM_INPUT || p->kind == PARAM_OUTPUT)
        cJSON_AddStringToObject(o, "type", "f32");
    if (p->kind == PARAM_SCALAR)
        json_put_num(o, "value", p->value);
    if (p->kind != PARAM_OUTPUT)
        return o;
    json_put_num(o, "hard", p->hard);
    json_put_num(o, "soft", p->soft);
    if (p->head_axis >= 0)
        cJSON_AddNumberToObject(o, "head_axis", p->head_axis);
    if (p->block_axis >= 0) {
        cJSON_AddNumberToObject(o, "block_axis", p->block_axis);
        cJSON_AddNumberToObject(o, "block", p->block);
    }
    return o;
}

static void add_i64(cJSON *list, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

/* Count and extents of one tensor or workspace. */
static bool add_buffer(const struct task *t, const struct shape *s, const struct param *p,
                       cJSON *counts, cJSON *extents, struct error *e)
{
    cJSON *extent = cJSON_CreateArray();
    cJSON_AddItemToArray(extents, extent);
    int64_t count = 1, v;
    if (p->kind == PARAM_WORKSPACE) {
        if (!task_eval(t, s, p->bytes, &count, e))
            return false;
        cJSON_AddItemToArray(extent, cJSON_CreateNumber((double)count));
    }
    for (size_t i = 0; i < p->nextents; i++) {
        if (!task_eval(t, s, p->extents[i], &v, e))
            return false;
        count *= v; /* checked at load: at most 4 Gi */
        cJSON_AddItemToArray(extent, cJSON_CreateNumber((double)v));
    }
    add_i64(counts, count);
    return true;
}

static bool shape_json(const struct task *t, const struct shape *s, cJSON *o, struct error *e)
{
    int64_t flop, bytes;
    if (!task_eval(t, s, t->flop, &flop, e) || !task_eval(t, s, t->bytes, &bytes, e))
        return false;
    cJSON_AddStringToObject(o, "name", s->name);
    cJSON_AddStringToObject(o, "role", shape_roles[s->role]);
    cJSON_AddStringToObject(o, "family",
                            s->family ? s->family : json_str(t->families->child, "name", ""));
    cJSON *dims = cJSON_AddArrayToObject(o, "dims");
    cJSON *counts = cJSON_AddArrayToObject(o, "counts");
    cJSON *extents = cJSON_AddArrayToObject(o, "extents");
    size_t d = 0;
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        if (p->kind == PARAM_DIM)
            cJSON_AddItemToArray(dims, cJSON_CreateNumber((double)s->dims[d++]));
        else if (p->kind != PARAM_SCALAR && !add_buffer(t, s, p, counts, extents, e))
            return false;
    }
    json_put_i64(o, "flop", flop);
    json_put_i64(o, "bytes", bytes);
    return true;
}

static void limits(const struct task *t, enum eval_mode mode, const struct spec_opts *o, cJSON *h)
{
    int64_t timeout = t->c.call_ms * EVAL_CALLS;
    cJSON_AddNumberToObject(h, "margin", t->margin);
    cJSON_AddNumberToObject(h, "max_shape_loss", t->max_shape_loss);
    cJSON_AddNumberToObject(h, "call_ms", (double)t->c.call_ms);
    if (timeout < EVAL_TIMEOUT_MS)
        timeout = EVAL_TIMEOUT_MS;
    if (timeout > 24 * 3600000)
        timeout = 24 * 3600000;
    cJSON_AddNumberToObject(h, "timeout_ms", (double)timeout);
    cJSON *sets = o->sets_min > 0 || o->sets_max > 0 ? cJSON_AddObjectToObject(h, "sets") : NULL;
    if (o->sets_min > 0)
        cJSON_AddNumberToObject(sets, "min", o->sets_min);
    if (o->sets_max > 0)
        cJSON_AddNumberToObject(sets, "max", o->sets_max);
    cJSON_AddBoolToObject(h, "profile", mode != EVAL_CHECK);
}

static bool add_parts(const struct eval_parts *p, enum eval_mode mode, struct wire_msg *m,
                      struct error *e)
{
    const struct {
        const char *name;
        const struct buf *bytes;
        bool needed;
    } parts[] = {
        {"candidate", p->candidate, mode != EVAL_BASELINE},
        {"baseline", p->baseline, true},
        {"reference", p->reference, mode != EVAL_BASELINE},
        {"incumbent", p->incumbent, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].bytes)
            wire_add_part(m, parts[i].name, parts[i].bytes->s, parts[i].bytes->len);
        else if (parts[i].needed)
            return error_set(e, ERR_INPUT, "an evaluation needs the built object of the %s",
                             parts[i].name);
    }
    return true;
}

bool spec_evaluate(const struct task *t, enum eval_mode mode, const struct eval_parts *parts,
                   const struct spec_opts *o, struct wire_msg *m, struct error *e)
{
    char seed[24];
    *m = (struct wire_msg){.head = head(t, "evaluate", o)};
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)o->seed);
    cJSON_AddStringToObject(m->head, "mode", mode_names[mode]);
    cJSON_AddStringToObject(m->head, "seed", seed);
    cJSON *params = cJSON_AddArrayToObject(m->head, "params");
    for (size_t i = 0; i < t->nparams; i++)
        cJSON_AddItemToArray(params, param_json(&t->params[i]));
    cJSON *shapes = cJSON_AddArrayToObject(m->head, "shapes");
    bool ok = true;
    for (size_t i = 0; i < t->nshapes && ok; i++) {
        cJSON *s = cJSON_CreateObject();
        cJSON_AddItemToArray(shapes, s);
        ok = shape_json(t, &t->shapes[i], s, e);
    }
    cJSON_AddItemToObject(m->head, "families", cJSON_Duplicate(t->families, true));
    limits(t, mode, o, m->head);
    ok = ok && add_parts(parts, mode, m, e);
    if (!ok)
        wire_msg_free(m);
    return ok;
}
