#include "gpu/c/spec.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

static bool bad(struct error *e, const char *field, const char *what)
{
    return error_set(e, ERR_INPUT, "evaluate request: field %s: %s", field, what);
}

/* Names end up in messages and file-free lookups only; still kept short and printable. */
static bool take_name(const cJSON *o, const char *key, char out[EV_NAME], struct error *e)
{
    const char *s = json_str(o, key, NULL);
    if (!s || !*s || strlen(s) >= EV_NAME)
        return bad(e, key, "a name of 1 to 63 characters was expected");
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p == 0x7f)
            return bad(e, key, "a name holds a control character");
    snprintf(out, EV_NAME, "%s", s);
    return true;
}

/* ---------------------------------------------------------------- params */

static bool take_output(const cJSON *o, struct ev_buffer *b, struct error *e)
{
    b->hard = json_num(o, "hard", 1e-4);
    b->soft = json_num(o, "soft", b->hard / 10);
    b->head_axis = (int)json_num(o, "head_axis", -1);
    b->block_axis = (int)json_num(o, "block_axis", -1);
    b->block = (int)json_num(o, "block", 0);
    if (!(b->hard > 0) || !(b->soft > 0) || b->soft > b->hard)
        return bad(e, "params", "an output needs 0 < soft <= hard");
    if (b->head_axis < -1 || b->head_axis >= EXTENT_RANK || b->block_axis < -1 ||
        b->block_axis >= EXTENT_RANK || b->block < 0 || (b->block_axis >= 0 && b->block < 1) ||
        (b->block_axis >= 0 && b->block_axis == b->head_axis))
        return bad(e, "params", "head_axis, block_axis or block of an output makes no sense");
    return true;
}

static bool take_param(const cJSON *o, struct ev_request *r, struct error *e)
{
    const char *kind = json_str(o, "kind", "");
    if (strcmp(kind, "dim") == 0) {
        if (++r->ndims > EV_DIMS)
            return bad(e, "params", "more than 16 dims");
        return true;
    }
    if (strcmp(kind, "scalar") == 0)
        return true; /* its value is compiled into the shim */
    if (r->nbuffers == EV_BUFFERS)
        return bad(e, "params", "more than 24 tensors and workspaces");
    struct ev_buffer *b = &r->buffer[r->nbuffers++];
    *b = (struct ev_buffer){.head_axis = -1, .block_axis = -1};
    if (!take_name(o, "name", b->name, e))
        return false;
    if (strcmp(kind, "workspace") == 0) {
        b->kind = EV_WORKSPACE;
        return true;
    }
    if (strcmp(json_str(o, "type", "f32"), "f32") != 0)
        return bad(e, "params", "only tensors of type f32 are known");
    if (strcmp(kind, "input") == 0) {
        b->kind = EV_INPUT;
        return true;
    }
    b->kind = EV_OUTPUT;
    if (strcmp(kind, "output") != 0)
        return bad(e, "params", "kind must be dim, scalar, input, output or workspace");
    return take_output(o, b, e);
}

/* ---------------------------------------------------------------- shapes */

/* A count: a decimal string or a whole number, 0 .. EV_BYTES_MAX. */
static bool whole(const cJSON *v, size_t *out)
{
    double d;
    if (cJSON_IsNumber(v)) {
        d = v->valuedouble;
    } else if (cJSON_IsString(v) && v->valuestring && *v->valuestring) {
        char *end = NULL;
        d = strtod(v->valuestring, &end);
        if (*end)
            return false;
    } else {
        return false;
    }
    if (!(d >= 0) || d > (double)EV_BYTES_MAX || d != floor(d))
        return false;
    *out = (size_t)d;
    return true;
}

static bool take_extent(const cJSON *list, size_t count, struct extent *x, struct error *e)
{
    size_t product = 1;
    const cJSON *v;
    x->rank = 0;
    cJSON_ArrayForEach(v, list)
    {
        if (x->rank == EXTENT_RANK || !whole(v, &x->n[x->rank]) ||
            (x->n[x->rank] && product > EV_BYTES_MAX / x->n[x->rank]))
            return bad(e, "extents", "at most 8 whole numbers were expected for a tensor");
        product *= x->n[x->rank++];
    }
    if (product != count)
        return bad(e, "extents", "the product of a tensor's extents differs from its count");
    return true;
}

static bool take_buffers(const cJSON *o, const struct ev_request *r, struct ev_shape *s,
                         struct error *e)
{
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(o, "counts"),
                *extents = cJSON_GetObjectItemCaseSensitive(o, "extents");
    if ((size_t)cJSON_GetArraySize(counts) != r->nbuffers)
        return bad(e, "counts", "one count per tensor and workspace was expected");
    bool with_workspaces = (size_t)cJSON_GetArraySize(extents) == r->nbuffers;
    size_t total = 0;
    int at = 0;
    for (size_t i = 0; i < r->nbuffers; i++) {
        const struct ev_buffer *b = &r->buffer[i];
        if (!whole(cJSON_GetArrayItem(counts, (int)i), &s->count[i]))
            return bad(e, "counts", "a whole number of at most 4 Gi was expected");
        if (s->count[i] == 0 && b->kind != EV_WORKSPACE)
            return bad(e, "counts", "a tensor without elements cannot be measured");
        bool tensor = b->kind != EV_WORKSPACE;
        if (tensor && !take_extent(cJSON_GetArrayItem(extents, at), s->count[i], &s->extent[i], e))
            return false;
        at += tensor || with_workspaces;
        if (tensor && (b->head_axis >= s->extent[i].rank || b->block_axis >= s->extent[i].rank))
            return bad(e, "params", "head_axis or block_axis is beyond the tensor's rank");
        total += ev_buffer_bytes(r, s, i, true);
        if (total > EV_BYTES_MAX)
            return bad(e, "counts", "the buffers of one shape are larger than 4 GiB together");
    }
    return true;
}

static double take_work(const cJSON *o, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    double d = cJSON_IsNumber(v)                     ? v->valuedouble
               : cJSON_IsString(v) && v->valuestring ? strtod(v->valuestring, NULL)
                                                     : 0;
    return isfinite(d) && d > 0 ? d : 0;
}

static bool take_shape(const cJSON *o, struct ev_request *r, struct error *e)
{
    struct ev_shape *s = &r->shape[r->nshapes++];
    *s = (struct ev_shape){.role = EV_CHECK};
    if (!take_name(o, "name", s->name, e))
        return false;
    const char *role = json_str(o, "role", "");
    if (strcmp(role, "scored") == 0)
        s->role = EV_SCORED;
    else if (strcmp(role, "hidden") == 0)
        s->role = EV_HIDDEN;
    else if (strcmp(role, "check") != 0)
        return bad(e, "role", "scored, check or hidden was expected");
    const cJSON *dims = cJSON_GetObjectItemCaseSensitive(o, "dims"), *v;
    size_t n = 0;
    if ((size_t)cJSON_GetArraySize(dims) != r->ndims)
        return bad(e, "dims", "one value per dim was expected");
    cJSON_ArrayForEach(v, dims)
    {
        size_t d;
        if (!whole(v, &d) || d > INT_MAX)
            return bad(e, "dims", "whole numbers from 0 to 2147483647 were expected");
        s->dims[n++] = (int)d;
    }
    s->flop = take_work(o, "flop");
    s->bytes = take_work(o, "bytes");
    return take_buffers(o, r, s, e);
}

/* ---------------------------------------------------------------- families */

static int shape_index(const struct ev_request *r, const char *name)
{
    for (size_t i = 0; i < r->nshapes; i++)
        if (strcmp(r->shape[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool take_fills(const cJSON *fills, const struct ev_request *r, struct ev_family *f,
                       const cJSON *first, struct error *e)
{
    for (size_t i = 0; i < r->nbuffers; i++) {
        if (r->buffer[i].kind != EV_INPUT)
            continue;
        const cJSON *v = cJSON_GetObjectItemCaseSensitive(fills, r->buffer[i].name);
        if (!v)
            v = cJSON_GetObjectItemCaseSensitive(first, r->buffer[i].name);
        if (!v)
            return error_set(e, ERR_INPUT,
                             "evaluate request: family %s: no fill for input %s, here or in the "
                             "first family",
                             f->name, r->buffer[i].name);
        if (!fill_parse(v, &f->fill[i], e))
            return error_prefix(e, "evaluate request: family %s, input %s", f->name,
                                r->buffer[i].name);
    }
    return true;
}

static bool take_family(const cJSON *o, const cJSON *first, struct ev_request *r, struct error *e)
{
    struct ev_family *f = &r->family[r->nfamilies++];
    *f = (struct ev_family){.name = ""};
    if (!take_name(o, "name", f->name, e))
        return false;
    snprintf(f->class_, sizeof f->class_, "%s", json_str(o, "class", "ordinary"));
    const cJSON *only = cJSON_GetObjectItemCaseSensitive(o, "shapes"), *v;
    for (size_t i = 0; i < r->nshapes; i++)
        f->shapes[i] = !cJSON_IsArray(only) && r->shape[i].role != EV_SCORED;
    cJSON_ArrayForEach(v, only)
    {
        int i = cJSON_IsString(v) ? shape_index(r, v->valuestring) : -1;
        if (i < 0)
            return bad(e, "families", "a family names a shape that there is not");
        f->shapes[i] = r->shape[i].role != EV_SCORED;
    }
    return take_fills(cJSON_GetObjectItemCaseSensitive(o, "fill"), r, f,
                      cJSON_GetObjectItemCaseSensitive(first, "fill"), e);
}

static bool link_families(const cJSON *shapes, struct ev_request *r, struct error *e)
{
    for (size_t i = 0; i < r->nshapes; i++) {
        const char *name = json_str(cJSON_GetArrayItem(shapes, (int)i), "family", NULL);
        if (!name || !*name)
            continue;
        size_t k = 0;
        while (k < r->nfamilies && strcmp(r->family[k].name, name) != 0)
            k++;
        if (k == r->nfamilies)
            return bad(e, "family", "a shape names a family that there is not");
        r->shape[i].family = (int)k;
    }
    return true;
}

/* ---------------------------------------------------------------- the whole */

static bool take_lists(const cJSON *head, struct ev_request *r, struct error *e)
{
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(head, "params"),
                *shapes = cJSON_GetObjectItemCaseSensitive(head, "shapes"),
                *families = cJSON_GetObjectItemCaseSensitive(head, "families"), *v;
    int ns = cJSON_GetArraySize(shapes), nf = cJSON_GetArraySize(families);
    if (cJSON_GetArraySize(params) < 1 || ns < 1 || ns > EV_SHAPES || nf < 1 || nf > EV_FAMILIES)
        return bad(e, "params, shapes, families",
                   "1 to 96 shapes and 1 to 48 families were expected");
    r->shape = xcalloc((size_t)ns, sizeof *r->shape);
    r->family = xcalloc((size_t)nf, sizeof *r->family);
    cJSON_ArrayForEach(v, params)
    {
        if (!take_param(v, r, e))
            return false;
    }
    cJSON_ArrayForEach(v, shapes)
    {
        if (!take_shape(v, r, e))
            return false;
    }
    cJSON_ArrayForEach(v, families)
    {
        if (!take_family(v, cJSON_GetArrayItem(families, 0), r, e))
            return false;
    }
    return link_families(shapes, r, e);
}

/* All 64 bits count: a seed above INT64_MAX must not fall back to a constant. */
static uint64_t take_seed(const cJSON *head)
{
    const char *s = json_str(head, "seed", NULL);
    return s ? strtoull(s, NULL, 10) : (uint64_t)json_i64(head, "seed", 1);
}

static bool take_limits(const cJSON *head, struct ev_request *r, struct error *e)
{
    const cJSON *sets = cJSON_GetObjectItemCaseSensitive(head, "sets");
    double call_ms = json_num(head, "call_ms", 2000), all_ms = json_num(head, "timeout_ms", 120000),
           lo = json_num(sets, "min", 0), hi = json_num(sets, "max", 0);
    r->margin = json_num(head, "margin", 0.005);
    r->max_shape_loss = json_num(head, "max_shape_loss", 0.03);
    if (!(r->margin >= 0) || r->margin > 1 || !(r->max_shape_loss >= 0) || r->max_shape_loss > 1)
        return bad(e, "margin", "margin and max_shape_loss lie between 0 and 1");
    if (!(call_ms >= 1) || call_ms > 3.6e6 || !(all_ms >= 1) || all_ms > 8.64e7)
        return bad(e, "call_ms", "call_ms and timeout_ms are positive milliseconds");
    if (lo < 0 || lo > 1000 || hi < 0 || hi > 1000)
        return bad(e, "sets", "min and max lie between 2 and 1000");
    r->sets_min = lo < 2 ? 5 : (int)lo;
    r->sets_max = hi < 2 ? 2 * r->sets_min : (int)hi;
    if (r->sets_max < r->sets_min)
        r->sets_max = r->sets_min;
    r->call_ns = (int64_t)(call_ms * 1e6);
    r->timeout_ns = (int64_t)(all_ms * 1e6);
    r->seed = take_seed(head);
    r->jail_none = strcmp(json_str(head, "jail", "auto"), "none") == 0;
    r->profile = json_bool(head, "profile", false);
    return true;
}

static bool take_mode(const cJSON *head, struct ev_request *r, struct error *e)
{
    const char *mode = json_str(head, "mode", "full");
    if (strcmp(mode, "check") == 0)
        r->mode = EV_MODE_CHECK;
    else if (strcmp(mode, "baseline") == 0)
        r->mode = EV_MODE_BASELINE;
    else if (strcmp(mode, "full") == 0)
        r->mode = EV_MODE_FULL;
    else
        return bad(e, "mode", "full, check or baseline was expected");
    return true;
}

bool ev_request_parse(const cJSON *head, struct ev_request *r, struct error *e)
{
    *r = (struct ev_request){.mode = EV_MODE_FULL};
    snprintf(r->id, sizeof r->id, "%s", json_str(head, "id", "0"));
    snprintf(r->task, sizeof r->task, "%s", json_str(head, "task", "?"));
    if (take_mode(head, r, e) && take_limits(head, r, e) && take_lists(head, r, e))
        return true;
    ev_request_free(r);
    return false;
}

void ev_request_free(struct ev_request *r)
{
    for (size_t i = 0; i < r->nfamilies; i++)
        for (size_t k = 0; k < EV_BUFFERS; k++)
            fill_free(r->family[i].fill[k]);
    free(r->family);
    free(r->shape);
    r->family = NULL;
    r->shape = NULL;
    r->nfamilies = r->nshapes = 0;
}

size_t ev_buffer_bytes(const struct ev_request *r, const struct ev_shape *s, size_t buffer,
                       bool wide)
{
    switch (r->buffer[buffer].kind) {
    case EV_INPUT:
        return s->count[buffer] * sizeof(float);
    case EV_OUTPUT:
        return s->count[buffer] * (wide ? sizeof(double) : sizeof(float));
    case EV_WORKSPACE:
        break;
    }
    return s->count[buffer];
}
