/* Moves and tunables of a task.json. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/task/switches.h"
#include "core/task/task_private.h"

#define MAX_VALUES 64

/* Index of a move by name, or -1. */
static int move_index(const struct task *t, const char *name)
{
    for (size_t i = 0; i < t->nmoves; i++)
        if (strcmp(t->moves[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* A list of moves by name; self: the move that names them, or -1. */
static bool take_list(const struct task *t, const struct field *o, const char *key, int self,
                      size_t **list, size_t *n, struct error *e)
{
    struct field f;
    if (!field_get(o, key, &f))
        return true;
    if (!field_array(&f, 0, SWITCHES_MAX_MOVES, e))
        return false;
    *list = xcalloc((size_t)cJSON_GetArraySize(f.v) + 1, sizeof **list);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, (int)*n, m);
        int k = cJSON_IsString(m) ? move_index(t, m->valuestring) : -1;
        if (!cJSON_IsString(m))
            return field_error(&at, e, "expected the name of a move");
        if (k < 0) {
            const char *names[SWITCHES_MAX_MOVES];
            for (size_t i = 0; i < t->nmoves; i++)
                names[i] = t->moves[i].name;
            const char *near = name_nearest(m->valuestring, names, t->nmoves);
            return field_error(&at, e, "expected the name of a move; there is no \"%.48s\"%s%s%s",
                               m->valuestring, near ? "; did you mean \"" : "", near ? near : "",
                               near ? "\"?" : "");
        }
        if (k == self)
            return field_error(&at, e, "expected another move than itself");
        for (size_t i = 0; i < *n; i++)
            if ((*list)[i] == (size_t)k)
                return field_error(&at, e, "expected each move once");
        (*list)[(*n)++] = (size_t)k;
    }
    return true;
}

static bool take_move(const struct task *t, const struct field *o, struct move *v, struct error *e)
{
    static const char *const known[] = {"name", "switch",   "title",    "why",
                                        "gain", "requires", "excludes", NULL};
    struct field f;
    if (!field_object(o, known, e) || !field_need(o, "name", "the move's name", &f, e) ||
        !field_name(&f, &v->name, e))
        return false;
    if (move_index(t, v->name) >= 0 || strcmp(v->name, "start") == 0)
        return field_error(&f, e, "expected a name of its own; \"%s\" is taken", v->name);
    if (!field_need(o, "switch", "the macro in the moves source, such as \"CHUNKWISE\"", &f, e) ||
        !field_identifier(&f, &v->sw, e))
        return false;
    const char *use = task_c_name_use(t, v->sw);
    if (use)
        return field_error(&f, e, "expected a name of its own; \"%s\" is %s already", v->sw, use);
    return field_need(o, "title", "what it does, in a few words", &f, e) &&
           field_text(&f, 120, &v->title, e) &&
           field_need(o, "why", "what it predicts and why, one line", &f, e) &&
           field_text(&f, 400, &v->why, e) &&
           field_need(o, "gain", "the predicted gain, such as 1.3", &f, e) &&
           field_number(&f, 0.01, 1000, &v->gain, e);
}

static bool possible(const struct task *t, uint64_t on)
{
    for (size_t i = 0; i < t->nmoves; i++)
        for (size_t k = 0; (on >> i & 1) && k < t->moves[i].nexcludes; k++)
            if (on >> t->moves[i].excludes[k] & 1)
                return false;
    return true;
}

static bool check_graph(const struct task *t, const struct field *list, struct error *e)
{
    for (size_t i = 0; i < t->nmoves; i++) {
        struct field at = field_item(list, (int)i, cJSON_GetArrayItem(list->v, (int)i));
        uint64_t need = 0;
        for (size_t k = 0; k < t->moves[i].nrequires; k++)
            need |= config_closure(t, t->moves[i].requires[k]);
        if (need >> i & 1)
            return field_error(&at, e, "expected no circle: \"%s\" requires itself through others",
                               t->moves[i].name);
        if (!possible(t, need | (uint64_t)1 << i))
            return field_error(&at, e,
                               "expected a move that can be on: \"%s\" requires what it, or "
                               "another that it requires, excludes",
                               t->moves[i].name);
    }
    return true;
}

bool task_take_moves(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    if (!field_get(root, "moves", &f))
        return true;
    if (!field_array(&f, 0, SWITCHES_MAX_MOVES, e))
        return false;
    if (cJSON_GetArraySize(f.v) && !t->c.moves)
        return field_error(&f, e,
                           "expected a source with switches beside it: name it as "
                           "backends/c/moves");
    t->moves = xcalloc((size_t)cJSON_GetArraySize(f.v) + 1, sizeof *t->moves);
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        struct move *v = &t->moves[t->nmoves];
        bool ok = take_move(t, &at, v, e);
        if (!v->name)
            return false;
        t->nmoves++;
        if (!ok)
            return false;
    }
    i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i, m);
        struct move *v = &t->moves[i];
        if (!take_list(t, &at, "requires", i, &v->requires, &v->nrequires, e) ||
            !take_list(t, &at, "excludes", i, &v->excludes, &v->nexcludes, e))
            return false;
        i++;
    }
    return check_graph(t, &f, e);
}

/* ---------------------------------------------------------------- tunables */

static bool take_values(const struct field *o, struct tunable *v, struct error *e)
{
    struct field f;
    if (!field_need(o, "values", "the values to try, in ascending order", &f, e) ||
        !field_array(&f, 1, MAX_VALUES, e))
        return false;
    v->values = xcalloc((size_t)cJSON_GetArraySize(f.v), sizeof *v->values);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, (int)v->nvalues, m);
        int64_t x;
        if (!field_whole(&at, -(int64_t)INT32_MAX, INT32_MAX, &x, e))
            return false;
        if (v->nvalues && v->values[v->nvalues - 1] >= x)
            return field_error(&at, e, "expected values in ascending order, each once");
        v->values[v->nvalues++] = x;
    }
    if (!field_need(o, "default", "one of the values", &f, e) ||
        !field_whole(&f, -(int64_t)INT32_MAX, INT32_MAX, &v->fallback, e))
        return false;
    for (size_t i = 0; i < v->nvalues; i++)
        if (v->values[i] == v->fallback)
            return true;
    return field_error(&f, e, "expected one of the values; %lld is not among them",
                       (long long)v->fallback);
}

static bool take_tunable(const struct task *t, const struct field *o, struct tunable *v,
                         struct error *e)
{
    static const char *const known[] = {"name", "values", "default", "requires", "why", NULL};
    struct field f;
    if (!field_object(o, known, e) || !field_need(o, "name", "the macro's name", &f, e) ||
        !field_identifier(&f, &v->name, e))
        return false;
    const char *use = task_c_name_use(t, v->name);
    if (use)
        return field_error(&f, e, "expected a name of its own; \"%s\" is %s already", v->name, use);
    if (!take_values(o, v, e) ||
        !field_need(o, "why", "what it trades for what, one line", &f, e) ||
        !field_text(&f, 400, &v->why, e) ||
        !take_list(t, o, "requires", -1, &v->requires, &v->nrequires, e))
        return false;
    uint64_t need = 0;
    for (size_t i = 0; i < v->nrequires; i++)
        need |= config_closure(t, v->requires[i]);
    if (!possible(t, need))
        return field_error(o, e, "expected requirements that can be on together");
    return true;
}

bool task_take_tunables(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    if (!field_get(root, "tunables", &f))
        return true;
    if (!field_array(&f, 0, SWITCHES_MAX_TUNABLES, e))
        return false;
    if (cJSON_GetArraySize(f.v) && !t->c.moves)
        return field_error(&f, e,
                           "expected a source with these macros beside it: name it as "
                           "backends/c/moves");
    t->tunables = xcalloc((size_t)cJSON_GetArraySize(f.v) + 1, sizeof *t->tunables);
    const cJSON *m;
    int i = 0;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, i++, m);
        struct tunable *v = &t->tunables[t->ntunables];
        bool ok = take_tunable(t, &at, v, e);
        if (!v->name)
            return false;
        t->ntunables++;
        if (!ok)
            return false;
    }
    return true;
}
