/* The sizes and the work of every shape of a task, worked out at load. */
#include <stdio.h>
#include <string.h>

#include "core/task/expr.h"
#include "core/task/task_private.h"

struct names {
    const struct task *t;
    const struct shape *s;
};

static bool value_of(const void *ctx, const char *name, size_t n, int64_t *out)
{
    const struct names *names = ctx;
    char key[64];
    if (n >= sizeof key)
        return false;
    memcpy(key, name, n);
    key[n] = '\0';
    int dim = task_dim_index(names->t, key);
    if (dim >= 0) {
        *out = names->s->dims[dim];
        return true;
    }
    for (size_t i = 0; i < names->t->nconstants; i++)
        if (strcmp(names->t->constants[i].name, key) == 0) {
            *out = names->t->constants[i].value;
            return true;
        }
    return false;
}

bool task_eval(const struct task *t, const struct shape *s, const char *expr, int64_t *out,
               struct error *e)
{
    struct names names = {t, s};
    struct expr_env env = {.value = value_of, .ctx = &names};
    return expr_eval(expr, strlen(expr), EXPR_ARITHMETIC, &env, out, e);
}

/* An expression at a field for one shape, within [lo, hi]. */
static bool eval_at(const struct task *t, const struct shape *s, const char *expr,
                    const struct field *f, int64_t lo, int64_t hi, int64_t *out, struct error *e)
{
    struct error why = {0};
    if (!task_eval(t, s, expr, out, &why))
        return field_error(f, e,
                           "expected an expression over dims and constants, for shape "
                           "\"%s\": %s",
                           s->name, why.msg);
    if (*out < lo || *out > hi)
        return field_error(f, e, "expected %lld to %lld, got %lld for shape \"%s\"", (long long)lo,
                           (long long)hi, (long long)*out, s->name);
    return true;
}

/* Bytes of param i for shape s; 0 for dims and scalars. */
static bool param_bytes(const struct task *t, const struct shape *s, const struct field *params,
                        size_t i, int64_t *out, struct error *e)
{
    const struct param *p = &t->params[i];
    struct field o = field_item(params, (int)i, cJSON_GetArrayItem(params->v, (int)i)), f = o;
    *out = 0;
    if (p->kind == PARAM_WORKSPACE) {
        field_get(&o, "bytes", &f);
        return eval_at(t, s, p->bytes, &f, 0, TASK_MAX_BYTES, out, e);
    }
    if (p->kind != PARAM_INPUT && p->kind != PARAM_OUTPUT)
        return true;
    field_get(&o, "shape", &f);
    int64_t n = p->kind == PARAM_OUTPUT ? 8 : 4; /* the reference's outputs are float64 */
    for (size_t k = 0; k < p->nextents; k++) {
        struct field at = field_item(&f, (int)k, cJSON_GetArrayItem(f.v, (int)k));
        int64_t v = 0;
        if (!eval_at(t, s, p->extents[k], &at, 1, TASK_MAX_BYTES, &v, e))
            return false;
        if (__builtin_mul_overflow(n, v, &n) || n > TASK_MAX_BYTES)
            return field_error(&f, e,
                               "expected at most 4 GiB; tensor %s is larger for shape "
                               "\"%s\"",
                               p->name, s->name);
    }
    *out = n;
    return true;
}

static bool check_shape(const struct task *t, const struct shape *s, const struct field *root,
                        struct error *e)
{
    struct field params = *root, f = *root;
    int64_t total = 0, bytes = 0, work = 0;
    field_get(root, "params", &params);
    for (size_t i = 0; i < t->nparams; i++) {
        if (!param_bytes(t, s, &params, i, &bytes, e))
            return false;
        total += bytes; /* at most 48 times 4 GiB */
    }
    if (total > TASK_MAX_BYTES)
        return field_error(&params, e,
                           "expected at most 4 GiB for all tensors and workspaces of a "
                           "shape (outputs count as float64); \"%s\" has %.1f GiB",
                           s->name, (double)total / (double)((int64_t)1 << 30));
    const int64_t most = (int64_t)1 << 60;
    return field_get(root, "flop", &f) && eval_at(t, s, t->flop, &f, 1, most, &work, e) &&
           field_get(root, "bytes", &f) && eval_at(t, s, t->bytes, &f, 1, most, &work, e);
}

bool task_check_sizes(const struct task *t, const struct field *root, struct error *e)
{
    for (size_t i = 0; i < t->nshapes; i++)
        if (!check_shape(t, &t->shapes[i], root, e))
            return false;
    return true;
}
