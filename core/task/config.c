/* Configurations: which moves are on, what the tunables are, as bits and as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/task/field.h"
#include "core/task/switches.h"

static bool on(const struct config *c, size_t move)
{
    return c->moves >> move & 1;
}

struct config config_default(const struct task *t)
{
    struct config c = {0};
    for (size_t i = 0; i < t->ntunables; i++)
        c.values[i] = t->tunables[i].fallback;
    return c;
}

uint64_t config_closure(const struct task *t, size_t move)
{
    uint64_t all = (uint64_t)1 << move, before = 0;
    while (all != before) {
        before = all;
        for (size_t i = 0; i < t->nmoves; i++)
            for (size_t k = 0; (all >> i & 1) && k < t->moves[i].nrequires; k++)
        all |= (uint64_t)1 << t->moves[i].requires[k];
    }
    return all;
}

/* NULL when the moves go together, else what is wrong with move i and the other one. */
static const char *conflict(const struct task *t, const struct config *c, size_t *a, size_t *b)
{
    for (size_t i = 0; i < t->nmoves; i++) {
        const struct move *m = &t->moves[i];
        *a = i;
        for (size_t k = 0; on(c, i) && k < m->nrequires; k++)
            if (!on(c, *b = m->requires[k]))
                return "requires";
        for (size_t k = 0; on(c, i) && k < m->nexcludes; k++)
            if (on(c, *b = m->excludes[k]))
                return "excludes";
    }
    return NULL;
}

static bool allowed(const struct tunable *v, int64_t value)
{
    for (size_t i = 0; i < v->nvalues; i++)
        if (v->values[i] == value)
            return true;
    return false;
}

bool config_valid(const struct task *t, const struct config *c)
{
    size_t a, b;
    if (t->nmoves < SWITCHES_MAX_MOVES && c->moves >> t->nmoves)
        return false;
    if (conflict(t, c, &a, &b))
        return false;
    for (size_t i = 0; i < t->ntunables; i++)
        if (!allowed(&t->tunables[i], c->values[i]))
            return false;
    return true;
}

bool config_applies(const struct task *t, const struct config *c, size_t tunable)
{
    const struct tunable *v = &t->tunables[tunable];
    for (size_t i = 0; i < v->nrequires; i++)
        if (!on(c, v->requires[i]))
            return false;
    return true;
}

void config_normalise(const struct task *t, struct config *c)
{
    for (size_t i = 0; i < t->ntunables; i++)
        if (!config_applies(t, c, i))
            c->values[i] = t->tunables[i].fallback;
    for (size_t i = t->ntunables; i < SWITCHES_MAX_TUNABLES; i++)
        c->values[i] = 0;
}

char *config_text(const struct task *t, const struct config *c)
{
    struct buf out = {0};
    bool changed = c->moves != 0;
    for (size_t i = 0; i < t->ntunables; i++)
        changed |= config_applies(t, c, i) && c->values[i] != t->tunables[i].fallback;
    if (!changed)
        return xstrdup("start");
    for (size_t i = 0; i < t->nmoves; i++)
        if (on(c, i))
            buf_addf(&out, "%s%s", out.len ? " " : "", t->moves[i].name);
    for (size_t i = 0; i < t->ntunables; i++)
        if (config_applies(t, c, i))
            buf_addf(&out, "%s%s=%lld", out.len ? " " : "", t->tunables[i].name,
                     (long long)c->values[i]);
    return buf_take(&out);
}

static bool unknown_word(const struct task *t, const char *word, struct error *e)
{
    const char *names[SWITCHES_MAX_MOVES + SWITCHES_MAX_TUNABLES];
    size_t n = 0;
    for (size_t i = 0; i < t->nmoves; i++)
        names[n++] = t->moves[i].name;
    for (size_t i = 0; i < t->ntunables; i++)
        names[n++] = t->tunables[i].name;
    const char *near = name_nearest(word, names, n);
    return error_set(e, ERR_INPUT, "task %s has no move or tunable \"%.60s\"%s%s%s", t->name, word,
                     near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* "NAME=16"; *set marks the tunables that were given. */
static bool parse_tunable(const struct task *t, const char *word, const char *equals,
                          struct config *c, uint64_t *set, struct error *e)
{
    size_t n = (size_t)(equals - word), i = 0;
    while (i < t->ntunables &&
           (strlen(t->tunables[i].name) != n || memcmp(t->tunables[i].name, word, n) != 0))
        i++;
    if (i == t->ntunables) {
        char name[64];
        memcpy(name, word, n < sizeof name ? n : sizeof name - 1);
        name[n < sizeof name ? n : sizeof name - 1] = '\0';
        return unknown_word(t, name, e);
    }
    char *end;
    errno = 0;
    long long v = strtoll(equals + 1, &end, 10);
    if (errno || end == equals + 1 || *end || !allowed(&t->tunables[i], v)) {
        struct buf list = {0};
        for (size_t k = 0; k < t->tunables[i].nvalues; k++)
            buf_addf(&list, "%s%lld", k ? ", " : "", (long long)t->tunables[i].values[k]);
        error_set(e, ERR_INPUT, "\"%.80s\": expected one of %s", word, buf_str(&list));
        buf_free(&list);
        return false;
    }
    if (*set >> i & 1)
        return error_set(e, ERR_INPUT, "\"%.80s\": the tunable is given twice", word);
    *set |= (uint64_t)1 << i;
    c->values[i] = v;
    return true;
}

static bool parse_word(const struct task *t, const char *word, struct config *c, uint64_t *set,
                       struct error *e)
{
    const char *equals = strchr(word, '=');
    if (equals)
        return parse_tunable(t, word, equals, c, set, e);
    for (size_t i = 0; i < t->nmoves; i++)
        if (strcmp(t->moves[i].name, word) == 0) {
            if (on(c, i))
                return error_set(e, ERR_INPUT, "move \"%s\" is given twice", word);
            c->moves |= (uint64_t)1 << i;
            return true;
        }
    return unknown_word(t, word, e);
}

bool config_parse(const struct task *t, const char *text, struct config *c, struct error *e)
{
    struct config made = config_default(t);
    uint64_t set = 0;
    bool ok = true, any = false;
    char *copy = xstrdup(text), *save = NULL;
    for (char *w = strtok_r(copy, " ", &save); w && ok; w = strtok_r(NULL, " ", &save)) {
        any = true;
        if (strcmp(text, "start") != 0)
            ok = parse_word(t, w, &made, &set, e);
    }
    free(copy);
    if (!ok)
        return false;
    if (!any)
        return error_set(e, ERR_INPUT, "an empty configuration; expected moves, or \"start\"");
    size_t a, b;
    const char *wrong = conflict(t, &made, &a, &b);
    if (wrong)
        return error_set(e, ERR_INPUT, "move \"%s\" %s \"%s\"", t->moves[a].name, wrong,
                         t->moves[b].name);
    for (size_t i = 0; i < t->ntunables; i++)
        if ((set >> i & 1) && !config_applies(t, &made, i))
            return error_set(e, ERR_INPUT, "tunable %s has no meaning without move \"%s\"",
                             t->tunables[i].name, t->moves[t->tunables[i].requires[0]].name);
    config_normalise(t, &made);
    *c = made;
    return true;
}
