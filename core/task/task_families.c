/* Input families of a task.json, and the fills in them. What a fill means stands in
 * gpu/c/inputs.h; here is checked that warploop-bench will take it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fills.h"
#include "core/base/mem.h"
#include "core/task/task_private.h"

#define FLOAT_LIMIT 1e30
#define NEST_MAX    2

#define FILL_ID(id, name)   FILL_##id,
#define FILL_NAME(id, name) name,
enum fill_dist { FILL_DISTS(FILL_ID) FILL_COUNT };
static const char *const dists[] = {FILL_DISTS(FILL_NAME)};
static const char *const modifiers[] = {FILL_MODIFIERS(FILL_NAME)};
#undef FILL_ID
#undef FILL_NAME

/* Members of each distribution beside "dist" and the modifiers. */
static const char *const members[FILL_COUNT][5] = {
    [FILL_NORMAL] = {"mean", "std"},
    [FILL_UNIFORM] = {"lo", "hi"},
    [FILL_CONSTANT] = {"value"},
    [FILL_CHOICE] = {"values"},
    [FILL_LOGSIGMOID] = {"mean", "std"},
    [FILL_LOWER_BOUND] = {"lb", "a_log", "bias", "raw"},
    [FILL_ARANGE] = {NULL},
};

static bool take_dist(const struct field *o, enum fill_dist *out, struct error *e)
{
    struct field f;
    char list[200] = "";
    for (size_t i = 0; i < ARRAY_LEN(dists); i++) {
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", dists[i]);
    }
    if (!field_object(o, NULL, e) || !field_need(o, "dist", list, &f, e))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(dists); i++)
        if (cJSON_IsString(f.v) && strcmp(f.v->valuestring, dists[i]) == 0) {
            *out = (enum fill_dist)i;
            return true;
        }
    return field_error(&f, e, "unknown distribution; expected one of %s", list);
}

/* A number that a 32-bit float holds, absent or right; *out keeps its value when absent. */
static bool number(const struct field *o, const char *key, double lo, double hi, double *out,
                   struct error *e)
{
    struct field f;
    return !field_get(o, key, &f) || field_number(&f, lo, hi, out, e);
}

static bool range(const struct field *o, const char *key, struct error *e)
{
    struct field f;
    double lo = 0, hi = 0;
    if (!field_get(o, key, &f))
        return true;
    if (!field_array(&f, 2, 2, e))
        return false;
    struct field a = field_item(&f, 0, cJSON_GetArrayItem(f.v, 0)),
                 b = field_item(&f, 1, cJSON_GetArrayItem(f.v, 1));
    if (!field_number(&a, -FLOAT_LIMIT, FLOAT_LIMIT, &lo, e) ||
        !field_number(&b, -FLOAT_LIMIT, FLOAT_LIMIT, &hi, e))
        return false;
    return lo <= hi || field_error(&f, e, "expected [low, high] with low <= high");
}

static bool values(const struct field *o, struct error *e)
{
    struct field f;
    if (!field_need(o, "values", "an array of numbers to choose from", &f, e) ||
        !field_array(&f, 1, 4096, e))
        return false;
    const cJSON *m;
    int i = 0;
    double v;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        if (!field_number(&at, -FLOAT_LIMIT, FLOAT_LIMIT, &v, e))
            return false;
    }
    return true;
}

static bool check_modifiers(const struct field *o, size_t rank, struct error *e)
{
    static const char *const spike_members[] = {"fraction", "value", NULL};
    struct field f, at;
    double v;
    int64_t rows;
    if (!number(o, "zero_fraction", 0, 1, &v, e) ||
        !number(o, "scale", -FLOAT_LIMIT, FLOAT_LIMIT, &v, e))
        return false;
    if (field_get(o, "unit", &f) && !cJSON_IsBool(f.v))
        return field_error(&f, e, "expected true or false");
    if (field_get(o, "spike", &f) &&
        (!field_object(&f, spike_members, e) ||
         !field_need(&f, "fraction", "the share of elements, 0 to 1", &at, e) ||
         !field_number(&at, 0, 1, &v, e) || !field_need(&f, "value", "their value", &at, e) ||
         !field_number(&at, -FLOAT_LIMIT, FLOAT_LIMIT, &v, e)))
        return false;
    if (!field_get(o, "repeat_rows", &f))
        return true;
    if (!field_whole(&f, 1, 1000000000, &rows, e))
        return false;
    return rank >= 2 || field_error(&f, e, "expected only for a tensor with a second axis");
}

static bool check_fill(const struct field *o, size_t rank, int depth, struct error *e)
{
    enum fill_dist dist = FILL_NORMAL;
    if (!take_dist(o, &dist, e))
        return false;
    const char *known[16] = {"dist"};
    size_t n = 1;
    for (size_t i = 0; i < ARRAY_LEN(members[dist]) && members[dist][i]; i++)
        known[n++] = members[dist][i];
    for (size_t i = 0; i < ARRAY_LEN(modifiers); i++)
        known[n++] = modifiers[i];
    if (!field_object(o, known, e))
        return false;
    double v, lo = 0, hi = 1;
    struct field f;
    if (!number(o, "mean", -FLOAT_LIMIT, FLOAT_LIMIT, &v, e) ||
        !number(o, "std", 0, FLOAT_LIMIT, &v, e) ||
        !number(o, "lo", -FLOAT_LIMIT, FLOAT_LIMIT, &lo, e) ||
        !number(o, "hi", -FLOAT_LIMIT, FLOAT_LIMIT, &hi, e) ||
        !number(o, "value", -FLOAT_LIMIT, FLOAT_LIMIT, &v, e) ||
        !number(o, "lb", -FLOAT_LIMIT, FLOAT_LIMIT, &v, e) || !range(o, "a_log", e) ||
        !range(o, "bias", e) || !check_modifiers(o, rank, e))
        return false;
    if (dist == FILL_UNIFORM && lo > hi)
        return field_error(o, e, "expected lo <= hi (default 0 and 1), got %g and %g", lo, hi);
    if (dist == FILL_CONSTANT && !field_need(o, "value", "the value of every element", &f, e))
        return false;
    if (dist == FILL_LOWER_BOUND && rank < 2)
        return field_error(o, e, "expected only for a tensor with a second axis");
    if (dist == FILL_CHOICE && !values(o, e))
        return false;
    if (!field_get(o, "raw", &f))
        return true;
    if (depth == NEST_MAX)
        return field_error(&f, e, "expected fills nested at most %d deep", NEST_MAX);
    return check_fill(&f, rank, depth + 1, e);
}

/* ---------------------------------------------------------------- families */

static bool check_fills(const struct task *t, const struct field *o, bool first, struct error *e)
{
    const char *known[TASK_MAX_BUFFERS + 1] = {NULL};
    size_t n = 0;
    struct field f, at;
    for (size_t i = 0; i < t->nparams; i++)
        if (t->params[i].kind == PARAM_INPUT)
            known[n++] = t->params[i].name;
    if (!field_need(o, "fill", "a fill for each input that differs from the first family", &f, e) ||
        !field_object(&f, known, e))
        return false;
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        if (p->kind != PARAM_INPUT)
            continue;
        if (!field_get(&f, p->name, &at)) {
            if (first &&
                !field_need(&f, p->name, "a fill: the first family fills every input", &at, e))
                return false;
        } else if (!check_fill(&at, p->nextents, 0, e)) {
            return false;
        }
    }
    return true;
}

/* `covered` marks the shapes that this family is checked on. */
static bool check_family_shapes(const struct task *t, const struct field *o, bool *covered,
                                struct error *e)
{
    struct field f;
    if (!field_get(o, "shapes", &f)) {
        for (size_t i = 0; i < t->nshapes; i++)
            covered[i] = true;
        return true;
    }
    if (!field_array(&f, 1, TASK_MAX_SHAPES, e))
        return false;
    bool mine[TASK_MAX_SHAPES] = {false};
    const char *names[TASK_MAX_SHAPES];
    for (size_t i = 0; i < t->nshapes; i++)
        names[i] = t->shapes[i].name;
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        size_t k = 0;
        if (!cJSON_IsString(m))
            return field_error(&at, e, "expected the name of a check or hidden shape");
        while (k < t->nshapes && strcmp(names[k], m->valuestring) != 0)
            k++;
        if (k == t->nshapes) {
            const char *near = name_nearest(m->valuestring, names, t->nshapes);
            return field_error(&at, e,
                               "expected the name of a check or hidden shape; there is no "
                               "\"%.48s\"%s%s%s",
                               m->valuestring, near ? "; did you mean \"" : "", near ? near : "",
                               near ? "\"?" : "");
        }
        if (t->shapes[k].role == SHAPE_SCORED)
            return field_error(&at, e,
                               "expected a check or hidden shape; \"%s\" is scored (a "
                               "scored shape names its family itself)",
                               names[k]);
        if (mine[k])
            return field_error(&at, e, "expected each shape once; \"%s\" stands above", names[k]);
        mine[k] = covered[k] = true;
    }
    return true;
}

static bool check_family(const struct task *t, const struct field *o, bool first, bool *covered,
                         struct error *e)
{
    static const char *const known[] = {"name", "class", "fill", "shapes", NULL};
    static const char *const classes[] = {"ordinary", "extreme", "long-memory", "ragged",
                                          "structured"};
    struct field f;
    char *name = NULL;
    if (!field_object(o, known, e) || !field_need(o, "name", "the family's name", &f, e) ||
        !field_name(&f, &name, e))
        return false;
    free(name);
    if (!field_need(o, "class", "ordinary, extreme, long-memory, ragged or structured", &f, e))
        return false;
    size_t k = 0;
    while (k < ARRAY_LEN(classes) &&
           (!cJSON_IsString(f.v) || strcmp(f.v->valuestring, classes[k]) != 0))
        k++;
    if (k == ARRAY_LEN(classes))
        return field_error(&f, e, "expected ordinary, extreme, long-memory, ragged or structured");
    return check_fills(t, o, first, e) && check_family_shapes(t, o, covered, e);
}

static const cJSON *family_named(const cJSON *families, const char *name)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, families)
    {
        if (strcmp(json_str(m, "name", ""), name) == 0)
            return m;
    }
    return NULL;
}

/* Every shape is checked by some family, and scored ones name one that there is. */
static bool link_shapes(const struct task *t, const struct field *families, const bool *covered,
                        struct error *e)
{
    for (size_t i = 0; i < t->nshapes; i++) {
        const struct shape *s = &t->shapes[i];
        if (s->role != SHAPE_SCORED && !covered[i])
            return field_error(families, e,
                               "expected a family that is checked on shape \"%s\"; "
                               "every family leaves it out",
                               s->name);
        if (s->family && !family_named(families->v, s->family))
            return field_error(families, e,
                               "expected a family \"%s\": scored shape \"%s\" names "
                               "it",
                               s->family, s->name);
    }
    return true;
}

bool task_take_families(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    bool covered[TASK_MAX_SHAPES] = {false};
    if (!field_need(root, "families", "how the inputs are filled", &f, e) ||
        !field_array(&f, 1, TASK_MAX_FAMILIES, e))
        return false;
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i, m), name;
        if (!check_family(t, &at, i == 0, covered, e))
            return false;
        if (family_named(f.v, json_str(m, "name", "")) != m && field_get(&at, "name", &name))
            return field_error(&name, e, "expected a name of its own; it stands above");
        i++;
    }
    if (!link_shapes(t, &f, covered, e))
        return false;
    t->families = cJSON_Duplicate(f.v, true);
    return true;
}
