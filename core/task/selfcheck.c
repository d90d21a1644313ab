#include "core/task/selfcheck.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/task/switches.h"
#include "core/task/task_private.h"

struct list {
    struct selfcheck_case *v;
    size_t n, cap;
};

static void add(struct list *l, enum selfcheck_kind kind, char *name_take, char *source_take)
{
    VEC_ROOM(l->v, l->n, l->cap);
    l->v[l->n++] = (struct selfcheck_case){kind, name_take, source_take};
}

/* ---------------------------------------------------------------- combinations */

static bool has(const struct list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return true;
    return false;
}

static bool add_config(const struct task *t, struct config c, struct list *l, struct error *e)
{
    struct buf source = {0};
    config_normalise(t, &c);
    char *name = config_text(t, &c);
    if (!config_valid(t, &c) || has(l, name)) {
        free(name);
        return true;
    }
    if (!switches_resolve(t, t->c.moves, &c, &source, e)) {
        buf_free(&source);
        error_prefix(e, "the moves' source, %s", name);
        free(name);
        return false;
    }
    add(l, SELFCHECK_COMBINATION, name, buf_take(&source));
    return true;
}

/* Half of the moves, drawn by number, with what they require; tunables too. */
static struct config drawn(const struct task *t, uint64_t number)
{
    struct config c = config_default(t);
    for (size_t i = 0; i < t->nmoves; i++)
        if (hash_mix(number, i) & 1) {
            struct config more = c;
            more.moves |= config_closure(t, i);
            if (config_valid(t, &more))
                c = more;
        }
    for (size_t i = 0; i < t->ntunables; i++) {
        const struct tunable *v = &t->tunables[i];
        c.values[i] = v->values[hash_mix(number, 100 + i) % v->nvalues];
    }
    return c;
}

static bool add_combinations(const struct task *t, size_t wanted, struct list *l, struct error *e)
{
    struct config all = config_default(t);
    size_t before = l->n;
    if (!t->c.moves)
        return true;
    for (size_t i = 0; i < t->nmoves; i++) {
        struct config c = config_default(t), more = all;
        c.moves = config_closure(t, i);
        more.moves |= c.moves;
        if (l->n - before < wanted && !add_config(t, c, l, e))
            return false;
        if (config_valid(t, &more))
            all = more;
    }
    if (l->n - before < wanted && !add_config(t, all, l, e))
        return false;
    for (uint64_t k = 0; k < 50 * wanted && l->n - before < wanted; k++)
        if (!add_config(t, drawn(t, k), l, e))
            return false;
    return true;
}

/* ---------------------------------------------------------------- cheats */

/* `unsigned long wl_n_NAME = elements;` for each input and output. */
static void add_counts(const struct task *t, struct buf *b)
{
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        if (p->kind != PARAM_INPUT && p->kind != PARAM_OUTPUT)
            continue;
        buf_addf(b, "    unsigned long wl_n_%s = 1", p->name);
        for (size_t k = 0; k < p->nextents; k++)
            buf_addf(b, " * (unsigned long)(%s)", p->extents[k]);
        buf_addf(b, ";\n    (void)wl_n_%s;\n", p->name);
    }
    for (size_t i = 0; i < t->nparams; i++)
        buf_addf(b, "    (void)%s;\n", t->params[i].name);
}

/* The definition up to and with its opening brace and the counts. */
static void add_entry(const struct task *t, struct buf *b)
{
    task_prototype(t, false, b);
    buf_adds(b, "\n{\n");
    add_counts(t, b);
}

static void add_fill(struct buf *b, const struct param *p, const char *from, const char *value)
{
    buf_addf(b,
             "    for (unsigned long wl_i = %s; wl_i < wl_n_%s; wl_i++)\n"
             "        %s[wl_i] = %s;\n",
             from, p->name, p->name, value);
}

/* Every output filled with one expression; value NULL: left as it is. */
static void add_filled(const struct task *t, const char *name, const char *value, struct list *l)
{
    struct buf b = {0};
    buf_addf(&b, "#include \"%s.h\"\n\n", t->name);
    add_entry(t, &b);
    for (size_t i = 0; i < t->nparams && value; i++)
        if (t->params[i].kind == PARAM_OUTPUT)
            add_fill(&b, &t->params[i], "0", value);
    buf_adds(&b, "}\n");
    add(l, SELFCHECK_CHEAT, xstrdup(name), buf_take(&b));
}

/* The baseline does its work, then the end of one output is wiped. */
static void add_wiped(const struct task *t, const char *what, const struct param *p,
                      const char *divisor, struct list *l)
{
    struct buf b = {0};
    buf_addf(&b, "#define %s honest_%s\n%s\n#undef %s\n", t->c.entry, t->c.entry, t->c.baseline,
             t->c.entry);
    task_prototype(t, false, &b);
    buf_adds(&b, ";\n");
    add_entry(t, &b);
    buf_addf(&b, "    honest_%s(", t->c.entry);
    for (size_t i = 0; i < t->nparams; i++)
        buf_addf(&b, "%s%s", i ? ", " : "", t->params[i].name);
    buf_adds(&b, ");\n");
    char *from = xasprintf("wl_n_%s / %s", p->name, divisor);
    add_fill(&b, p, *divisor == '0' ? "0" : from, "0");
    buf_adds(&b, "}\n");
    free(from);
    add(l, SELFCHECK_CHEAT, xasprintf("%s %s", what, p->name), buf_take(&b));
}

static void add_cheats(const struct task *t, struct list *l)
{
    const char *input = NULL;
    for (size_t i = 0; i < t->nparams && !input; i++)
        if (t->params[i].kind == PARAM_INPUT)
            input = t->params[i].name;
    add_filled(t, "zeros", "0", l);
    add_filled(t, "ones", "1", l);
    add_filled(t, "NaN", "__builtin_nanf(\"\")", l);
    add_filled(t, "untouched", NULL, l);
    char *copy = xasprintf("%s[wl_i %% wl_n_%s]", input, input);
    add_filled(t, "input copied", copy, l);
    free(copy);
    for (size_t i = 0; i < t->nparams; i++)
        if (t->params[i].kind == PARAM_OUTPUT) {
            add_wiped(t, "missing", &t->params[i], "0", l);
            add_wiped(t, "half of", &t->params[i], "2", l);
        }
    for (size_t i = 0; i < t->ncheats; i++)
        add(l, SELFCHECK_CHEAT, xstrdup(t->cheats[i].name), xstrdup(t->cheats[i].source));
}

/* ---------------------------------------------------------------- the whole */

static bool check_start(const struct task *t, struct error *e)
{
    struct config c = config_default(t);
    struct buf source = {0};
    if (!t->c.moves)
        return true;
    bool ok = switches_resolve(t, t->c.moves, &c, &source, e);
    const char *want = buf_str(&source), *got = t->c.start;
    size_t i = 0, begin = 0; /* the first difference, and where its line begins */
    int line = 1;
    for (; ok && want[i] && want[i] == got[i]; i++)
        if (want[i] == '\n') {
            begin = i + 1;
            line++;
        }
    if (ok && want[i] != got[i])
        ok = error_set(e, ERR_INPUT,
                       "task %s: the start source, line %d: expected \"%.*s\", got \"%.*s\": with "
                       "every move off the moves' source has to be the start",
                       t->name, line, (int)strcspn(want + begin, "\n"), want + begin,
                       (int)strcspn(got + begin, "\n"), got + begin);
    buf_free(&source);
    return ok;
}

bool selfcheck_cases(const struct task *t, size_t combinations, struct selfcheck_case **cases,
                     size_t *n, struct error *e)
{
    struct list l = {0};
    *cases = NULL;
    *n = 0;
    if (!check_start(t, e))
        return false;
    add(&l, SELFCHECK_HONEST, xstrdup("baseline"), xstrdup(t->c.baseline));
    add(&l, SELFCHECK_HONEST, xstrdup("start"), xstrdup(t->c.start));
    if (!add_combinations(t, combinations, &l, e)) {
        selfcheck_free(l.v, l.n);
        return false;
    }
    add_cheats(t, &l);
    *cases = l.v;
    *n = l.n;
    return true;
}

void selfcheck_free(struct selfcheck_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(cases[i].name);
        free(cases[i].source);
    }
    free(cases);
}

bool selfcheck_holds(enum selfcheck_kind kind, enum verdict verdict)
{
    if (kind == SELFCHECK_CHEAT)
        return verdict == VERDICT_WRONG || verdict == VERDICT_INACCURATE;
    return verdict == VERDICT_OK;
}
