/* Constants, params and shapes of a task.json. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/task/task_private.h"

#define MAX_PARAMS 48

bool task_take_expr(const struct field *f, char **out, struct error *e)
{
    if (cJSON_IsString(f->v))
        return field_text(f, 300, out, e);
    int64_t v;
    if (!cJSON_IsNumber(f->v))
        return field_error(f, e,
                           "expected an expression over dims and constants in quotes, such "
                           "as \"4*B*T\", or a whole number");
    if (!field_whole(f, 0, (int64_t)1 << 52, &v, e))
        return false;
    *out = xasprintf("%lld", (long long)v);
    return true;
}

const char *task_c_name_use(const struct task *t, const char *name)
{
    for (size_t i = 0; i < t->nparams; i++)
        if (strcmp(t->params[i].name, name) == 0)
            return "a param";
    for (size_t i = 0; i < t->nconstants; i++)
        if (strcmp(t->constants[i].name, name) == 0)
            return "a constant";
    for (size_t i = 0; i < t->nmoves; i++)
        if (t->moves[i].sw && strcmp(t->moves[i].sw, name) == 0)
            return "a switch";
    for (size_t i = 0; i < t->ntunables; i++)
        if (strcmp(t->tunables[i].name, name) == 0)
            return "a tunable";
    if (t->c.entry) {
        size_t n = strlen(t->c.entry);
        if (strncmp(t->c.entry, name, n) == 0 && (!name[n] || strcmp(name + n, "_ref") == 0))
            return "the entry";
    }
    return NULL;
}

int task_dim_index(const struct task *t, const char *name)
{
    int at = 0;
    for (size_t i = 0; i < t->nparams; i++) {
        if (t->params[i].kind != PARAM_DIM)
            continue;
        if (strcmp(t->params[i].name, name) == 0)
            return at;
        at++;
    }
    return -1;
}

size_t task_count(const struct task *t, enum param_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < t->nparams; i++)
        n += t->params[i].kind == kind;
    return n;
}

/* ---------------------------------------------------------------- constants */

bool task_take_constants(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    if (!field_get(root, "constants", &f))
        return true;
    if (!field_object(&f, NULL, e))
        return false;
    t->constants = xcalloc((size_t)cJSON_GetArraySize(f.v) + 1, sizeof *t->constants);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, 0, m);
        const char *why =
            strlen(m->string) > 48 ? "it is longer than 48 letters" : c_name_problem(m->string);
        if (why)
            return field_error(&at, e, "expected a C identifier as the name of a constant: %s",
                               why);
        int64_t v;
        if (!field_whole(&at, -(int64_t)INT32_MAX, INT32_MAX, &v, e))
            return false;
        t->constants[t->nconstants++] = (struct constant){xstrdup(m->string), v};
    }
    return true;
}

/* ---------------------------------------------------------------- params */

static bool take_type(const struct field *o, struct error *e)
{
    struct field f;
    if (!field_need(o, "type", "\"f32\"", &f, e))
        return false;
    if (!cJSON_IsString(f.v) || strcmp(f.v->valuestring, "f32") != 0)
        return field_error(&f, e, "expected \"f32\": tensors and scalars are 32-bit floats");
    return true;
}

static bool take_extents(const struct field *o, struct param *p, struct error *e)
{
    struct field f;
    if (!field_need(o, "shape", "an array of dims, such as [\"B\", \"T\", 128]", &f, e) ||
        !field_array(&f, 1, TASK_MAX_RANK, e))
        return false;
    p->extents = xcalloc((size_t)cJSON_GetArraySize(f.v), sizeof *p->extents);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, (int)p->nextents, m);
        if (!task_take_expr(&at, &p->extents[p->nextents], e))
            return false;
        p->nextents++;
    }
    return true;
}

/* An axis of a tensor, or -1 when the member is absent. */
static bool take_axis(const struct field *o, const char *key, const struct param *p, int *out,
                      struct error *e)
{
    struct field f;
    int64_t v = -1;
    if (field_get(o, key, &f) && !field_whole(&f, 0, (int64_t)p->nextents - 1, &v, e))
        return false;
    *out = (int)v;
    return true;
}

static bool take_limits(const struct field *o, struct param *p, struct error *e)
{
    struct field f;
    int64_t block = 0;
    if (!field_need(o, "hard", "the largest error ratio that may ever pass, such as 1e-4", &f, e) ||
        !field_number(&f, 1e-12, 1, &p->hard, e) ||
        !field_need(o, "soft", "the error ratio that always passes, such as 1e-5", &f, e) ||
        !field_number(&f, 1e-12, 1, &p->soft, e))
        return false;
    if (p->soft > p->hard)
        return field_error(&f, e, "expected at most hard (%g), got %g", p->hard, p->soft);
    if (!take_axis(o, "head_axis", p, &p->head_axis, e) ||
        !take_axis(o, "block_axis", p, &p->block_axis, e))
        return false;
    if (p->block_axis >= 0 && p->block_axis == p->head_axis)
        return field_error(o, e, "expected head_axis and block_axis to differ");
    if (p->block_axis < 0 && field_get(o, "block", &f))
        return field_error(&f, e, "expected block_axis beside it: which axis is cut into blocks");
    if (p->block_axis >= 0 &&
        (!field_need(o, "block", "how many indices of block_axis make one block", &f, e) ||
         !field_whole(&f, 1, INT32_MAX, &block, e)))
        return false;
    p->block = (int)block;
    return true;
}

static const struct {
    const char *name;
    const char *const known[12];
} kinds[] = {
    [PARAM_DIM] = {"dim", {"name", "kind", NULL}},
    [PARAM_SCALAR] = {"scalar", {"name", "kind", "type", "value", NULL}},
    [PARAM_INPUT] = {"input", {"name", "kind", "type", "shape", NULL}},
    [PARAM_OUTPUT] = {"output",
                      {"name", "kind", "type", "shape", "hard", "soft", "head_axis", "block_axis",
                       "block", NULL}},
    [PARAM_WORKSPACE] = {"workspace", {"name", "kind", "bytes", NULL}},
};

static bool take_kind(const struct field *o, struct param *p, struct error *e)
{
    struct field f;
    if (!field_object(o, NULL, e) ||
        !field_need(o, "kind", "dim, scalar, input, output or workspace", &f, e))
        return false;
    size_t k = 0;
    while (k < ARRAY_LEN(kinds) &&
           (!cJSON_IsString(f.v) || strcmp(f.v->valuestring, kinds[k].name) != 0))
        k++;
    if (k == ARRAY_LEN(kinds))
        return field_error(&f, e, "expected dim, scalar, input, output or workspace");
    p->kind = (enum param_kind)k;
    return field_object(o, kinds[k].known, e);
}

static bool take_param(const struct task *t, const struct field *o, struct param *p,
                       struct error *e)
{
    struct field f;
    if (!take_kind(o, p, e) || !field_need(o, "name", "the argument's name", &f, e) ||
        !field_identifier(&f, &p->name, e))
        return false;
    const char *use = task_c_name_use(t, p->name);
    if (use)
        return field_error(&f, e, "expected a name of its own; \"%s\" is %s already", p->name, use);
    switch (p->kind) {
    case PARAM_DIM:
        return true;
    case PARAM_SCALAR:
        return take_type(o, e) && field_need(o, "value", "the scalar's value", &f, e) &&
               field_number(&f, -(double)FLT_MAX, (double)FLT_MAX, &p->value, e);
    case PARAM_INPUT:
        return take_type(o, e) && take_extents(o, p, e);
    case PARAM_OUTPUT:
        return take_type(o, e) && take_extents(o, p, e) && take_limits(o, p, e);
    case PARAM_WORKSPACE:
        return field_need(o, "bytes", "the workspace's size in bytes, such as \"4*B*T\"", &f, e) &&
               task_take_expr(&f, &p->bytes, e);
    }
    return false;
}

bool task_take_params(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    if (!field_need(root, "params", "the arguments of the entry, in order", &f, e) ||
        !field_array(&f, 1, MAX_PARAMS, e))
        return false;
    t->params = xcalloc((size_t)cJSON_GetArraySize(f.v), sizeof *t->params);
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        struct param *p = &t->params[t->nparams];
        p->head_axis = p->block_axis = -1;
        bool ok = take_param(t, &at, p, e);
        if (!p->name) /* not far enough to be freed with the rest */
            return false;
        t->nparams++;
        if (!ok)
            return false;
    }
    size_t in = task_count(t, PARAM_INPUT), out = task_count(t, PARAM_OUTPUT);
    if (!in || !out)
        return field_error(&f, e, "expected at least one %s", in ? "output" : "input");
    if (task_count(t, PARAM_DIM) > TASK_MAX_DIMS)
        return field_error(&f, e, "expected at most %d dims", TASK_MAX_DIMS);
    if (in + out + task_count(t, PARAM_WORKSPACE) > TASK_MAX_BUFFERS)
        return field_error(&f, e, "expected at most %d tensors and workspaces", TASK_MAX_BUFFERS);
    return true;
}

/* ---------------------------------------------------------------- shapes */

static const char *const roles[] = {
    [SHAPE_SCORED] = "scored", [SHAPE_CHECK] = "check", [SHAPE_HIDDEN] = "hidden"};

/* dims: exactly the dim params. */
static bool take_dims(const struct task *t, const struct field *o, struct shape *s, struct error *e)
{
    const char *known[TASK_MAX_DIMS + 1] = {NULL};
    size_t n = 0;
    for (size_t i = 0; i < t->nparams; i++)
        if (t->params[i].kind == PARAM_DIM)
            known[n++] = t->params[i].name;
    struct field f, at;
    if (!field_need(o, "dims", "a value for each dim", &f, e) || !field_object(&f, known, e))
        return false;
    s->dims = xcalloc(n + 1, sizeof *s->dims);
    for (size_t i = 0; i < n; i++)
        if (!field_need(&f, known[i], "the value of this dim", &at, e) ||
            !field_whole(&at, 1, INT32_MAX, &s->dims[i], e))
            return false;
    return true;
}

static bool take_shape(const struct task *t, const struct field *o, struct shape *s,
                       struct error *e)
{
    static const char *const known[] = {"name", "dims", "family", NULL};
    struct field f;
    if (!field_object(o, known, e) || !field_need(o, "name", "the shape's name", &f, e) ||
        !field_name(&f, &s->name, e))
        return false;
    for (size_t i = 0; i < t->nshapes; i++)
        if (strcmp(t->shapes[i].name, s->name) == 0)
            return field_error(&f, e, "expected a name of its own; \"%s\" stands above", s->name);
    if (field_get(o, "family", &f)) {
        if (s->role != SHAPE_SCORED)
            return field_error(&f, e,
                               "expected only in scored shapes: check and hidden ones are "
                               "filled with every family that does not say otherwise");
        if (!field_text(&f, 48, &s->family, e))
            return false;
    }
    return take_dims(t, o, s, e);
}

static bool take_role(struct task *t, const struct field *o, enum shape_role role, struct error *e)
{
    struct field f;
    if (!field_get(o, roles[role], &f)) {
        if (role == SHAPE_HIDDEN)
            return true;
        return field_need(o, roles[role], "a list of shapes", &f, e);
    }
    if (!field_array(&f, role == SHAPE_HIDDEN ? 0 : 1, TASK_MAX_SHAPES, e))
        return false;
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        if (t->nshapes == TASK_MAX_SHAPES)
            return field_error(o, e, "expected at most %d shapes together", TASK_MAX_SHAPES);
        struct shape *s = &t->shapes[t->nshapes];
        *s = (struct shape){.role = role};
        bool ok = take_shape(t, &at, s, e);
        t->nshapes++;
        if (!ok)
            return false;
    }
    return true;
}

bool task_take_shapes(struct task *t, const struct field *root, struct error *e)
{
    static const char *const known[] = {"scored", "check", "hidden", NULL};
    struct field f;
    if (!field_need(root, "shapes", "{\"scored\": [...], \"check\": [...], \"hidden\": [...]}", &f,
                    e) ||
        !field_object(&f, known, e))
        return false;
    t->shapes = xcalloc(TASK_MAX_SHAPES, sizeof *t->shapes);
    return take_role(t, &f, SHAPE_SCORED, e) && take_role(t, &f, SHAPE_CHECK, e) &&
           take_role(t, &f, SHAPE_HIDDEN, e);
}
