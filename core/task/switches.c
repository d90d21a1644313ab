#include "core/task/switches.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/task/expr.h"

#define NEST_MAX 64

/* One open conditional. */
struct frame {
    int line;   /* of its #if */
    bool ours;  /* decided and removed; else copied */
    bool outer; /* the text around it is kept */
    bool taken; /* a branch was chosen already */
    bool keep;  /* the present branch is kept */
    bool had_else;
};

struct resolver {
    const struct task *t;
    const struct config *c;
    struct buf *out;
    struct error *e;
    int line;
    struct frame stack[NEST_MAX];
    size_t depth;
    uint32_t defined; /* tunables whose #define was kept */
};

static bool fail(const struct resolver *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fail(const struct resolver *r, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return error_set(r->e, ERR_INPUT, "line %d: %s", r->line, what);
}

/* ---------------------------------------------------------------- names */

static bool same(const char *a, const char *b, size_t n)
{
    return strncmp(a, b, n) == 0 && !a[n];
}

static int switch_of(const struct task *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->nmoves; i++)
        if (same(t->moves[i].sw, name, n))
            return (int)i;
    return -1;
}

static int tunable_of(const struct task *t, const char *name, size_t n)
{
    for (size_t i = 0; i < t->ntunables; i++)
        if (same(t->tunables[i].name, name, n))
            return (int)i;
    return -1;
}

static bool value_of(const void *ctx, const char *name, size_t n, int64_t *out)
{
    const struct resolver *r = ctx;
    int i = switch_of(r->t, name, n);
    if (i >= 0) {
        *out = r->c->moves >> i & 1;
        return true;
    }
    i = tunable_of(r->t, name, n);
    if (i >= 0)
        *out = r->c->values[i];
    return i >= 0;
}

static bool is_defined(const void *ctx, const char *name, size_t n)
{
    const struct resolver *r = ctx;
    int i = switch_of(r->t, name, n);
    return i >= 0 ? r->c->moves >> i & 1 : tunable_of(r->t, name, n) >= 0;
}

enum mention { NONE, OURS, OTHERS, MIXED };

/* Whose names an expression holds. */
static enum mention mentions(const struct resolver *r, const char *text, size_t n)
{
    bool ours = false, others = false;
    size_t at = 0, len;
    while ((len = expr_next_name(text, n, &at))) {
        const char *name = text + at;
        at += len;
        if (len == 7 && memcmp(name, "defined", 7) == 0)
            continue;
        if (switch_of(r->t, name, len) >= 0 || tunable_of(r->t, name, len) >= 0)
            ours = true;
        else
            others = true;
    }
    return ours ? (others ? MIXED : OURS) : (others ? OTHERS : NONE);
}

/* ---------------------------------------------------------------- lines */

static bool starts(const char *s, size_t n, const char *word)
{
    size_t w = strlen(word);
    return n >= w && memcmp(s, word, w) == 0 &&
           (n == w || !(isalnum((unsigned char)s[w]) || s[w] == '_'));
}

/* The text of a condition without comments; false when a comment or the line goes on below, or it
 * is too long: then *len is what there was. */
static bool condition(const char *s, size_t n, char *out, size_t size, size_t *len)
{
    size_t m = 0;
    bool whole = true;
    for (size_t i = 0; i < n && whole; i++) {
        if (s[i] == '/' && i + 1 < n && s[i + 1] == '/')
            break;
        if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') {
            const char *end = memmem(s + i + 2, n - i - 2, "*/", 2);
            whole = end && m < size;
            i = whole ? (size_t)(end - s) + 1 : i;
            if (whole)
                out[m++] = ' ';
        } else if (m == size) {
            whole = false;
        } else {
            out[m++] = s[i];
        }
    }
    while (m && isspace((unsigned char)out[m - 1]))
        m--;
    *len = m;
    return whole && (!m || out[m - 1] != '\\');
}

enum directive { IF, IFDEF, IFNDEF, ELIF };

/* Decide a condition of ours. */
static bool decide(struct resolver *r, enum directive d, const char *text, size_t n, bool *yes)
{
    struct expr_env env = {.value = value_of, .defined = is_defined, .ctx = r};
    struct error why = {0};
    int64_t v = 0;
    if (d == IFDEF || d == IFNDEF) {
        size_t at = 0, len = expr_next_name(text, n, &at);
        *yes = is_defined(r, text + at, len) == (d == IFDEF);
        return true;
    }
    if (!expr_eval(text, n, EXPR_CONDITION, &env, &v, &why))
        return fail(r, "expected a condition over switches: %s", why.msg);
    *yes = v != 0;
    return true;
}

static bool keeping(const struct resolver *r)
{
    return !r->depth || r->stack[r->depth - 1].keep;
}

static void copy(struct resolver *r, const char *line, size_t n)
{
    if (keeping(r))
        buf_add(r->out, line, n);
}

/* #if, #ifdef, #ifndef or #elif; s: what follows the word. */
static bool on_condition(struct resolver *r, enum directive d, const char *s, size_t n,
                         const char *line, size_t whole)
{
    char text[512];
    size_t len = 0;
    bool ended = condition(s, n, text, sizeof text, &len);
    enum mention m = mentions(r, text, len);
    if (m == MIXED)
        return fail(r, "a condition mixes switches with other names; nest two #if instead");
    if (!ended && m == OURS)
        return fail(r,
                    "a condition over switches must stand on one line of at most 500 characters");
    bool ours = m == OURS, yes = false;
    if (ours && !decide(r, d, text, len, &yes))
        return false;
    if (d == ELIF) {
        if (!r->depth)
            return fail(r, "#elif without #if");
        struct frame *f = &r->stack[r->depth - 1];
        if (f->had_else)
            return fail(r, "#elif after #else");
        if (f->ours != ours)
            return fail(r,
                        "a chain mixes conditions over switches with others (it began at line "
                        "%d); nest two #if instead",
                        f->line);
        if (!ours)
            copy(r, line, whole);
        else
            f->keep = f->outer && !f->taken && yes;
        f->taken |= yes;
        return true;
    }
    if (r->depth == NEST_MAX)
        return fail(r, "conditionals are nested deeper than %d", NEST_MAX);
    bool outer = keeping(r);
    if (!ours)
        copy(r, line, whole);
    r->stack[r->depth++] = (struct frame){.line = r->line,
                                          .ours = ours,
                                          .outer = outer,
                                          .taken = yes,
                                          .keep = ours ? outer && yes : outer};
    return true;
}

static bool on_else(struct resolver *r, const char *line, size_t whole)
{
    if (!r->depth)
        return fail(r, "#else without #if");
    struct frame *f = &r->stack[r->depth - 1];
    if (f->had_else)
        return fail(r, "a second #else (the #if is at line %d)", f->line);
    f->had_else = true;
    if (f->ours)
        f->keep = f->outer && !f->taken;
    else
        copy(r, line, whole);
    return true;
}

static bool on_endif(struct resolver *r, const char *line, size_t whole)
{
    if (!r->depth)
        return fail(r, "#endif without #if");
    bool ours = r->stack[--r->depth].ours;
    if (!ours)
        copy(r, line, whole);
    return true;
}

/* `#define NAME value` of a tunable; at: the name. */
static bool on_tunable(struct resolver *r, int i, const char *at, const char *line, size_t whole)
{
    const struct tunable *v = &r->t->tunables[i];
    const char *end = line + whole, *p = at + strlen(v->name), *digits;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    digits = p;
    if (p < end && *p == '-')
        p++;
    while (p < end && isdigit((unsigned char)*p))
        p++;
    if (p == digits || (p < end && !isspace((unsigned char)*p) && *p != '/'))
        return fail(r, "expected \"#define %s NUMBER\": it is a tunable", v->name);
    if (!keeping(r))
        return true;
    if (r->defined >> i & 1)
        return fail(r, "tunable %s is defined twice", v->name);
    r->defined |= (uint32_t)1 << i;
    if (!config_applies(r->t, r->c, (size_t)i))
        return true; /* dropped */
    buf_add(r->out, line, (size_t)(digits - line));
    buf_addf(r->out, "%lld", (long long)r->c->values[i]);
    buf_add(r->out, p, (size_t)(end - p));
    return true;
}

/* Any other directive; s: what follows #. */
static bool on_other(struct resolver *r, const char *s, size_t n, const char *line, size_t whole)
{
    size_t at = 0, len;
    while (n && (*s == ' ' || *s == '\t'))
        s++, n--;
    bool define = starts(s, n, "define"), undef = starts(s, n, "undef"), first = true;
    at = define ? 6 : undef ? 5 : 0;
    while ((len = expr_next_name(s, n, &at))) {
        int tunable = tunable_of(r->t, s + at, len);
        if (define && first && tunable >= 0)
            return on_tunable(r, tunable, s + at, line, whole);
        if (switch_of(r->t, s + at, len) >= 0)
            return fail(r,
                        "switch %.*s may stand only in #if lines (written without a space after "
                        "#)",
                        (int)len, s + at);
        if (undef && tunable >= 0)
            return fail(r, "tunable %.*s may not be undefined", (int)len, s + at);
        first = false;
        at += len;
    }
    copy(r, line, whole);
    return true;
}

static bool on_line(struct resolver *r, const char *line, size_t whole)
{
    static const struct {
        const char *word;
        enum directive d;
    } words[] = {{"if", IF}, {"ifdef", IFDEF}, {"ifndef", IFNDEF}, {"elif", ELIF}};
    size_t i = 0;
    while (i < whole && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (i == whole || line[i] != '#') {
        copy(r, line, whole);
        return true;
    }
    const char *s = line + i + 1;
    size_t n = whole - i - 1;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (starts(s, n, words[k].word)) {
            size_t w = strlen(words[k].word);
            return on_condition(r, words[k].d, s + w, n - w, line, whole);
        }
    if (starts(s, n, "else"))
        return on_else(r, line, whole);
    if (starts(s, n, "endif"))
        return on_endif(r, line, whole);
    return on_other(r, s, n, line, whole);
}

static bool finish(struct resolver *r)
{
    if (r->depth) {
        r->line = r->stack[r->depth - 1].line;
        return fail(r, "#if without #endif");
    }
    for (size_t i = 0; i < r->t->ntunables; i++)
        if (config_applies(r->t, r->c, i) && !(r->defined >> i & 1))
            return error_set(r->e, ERR_INPUT,
                             "the source has no line \"#define %s %lld\": it is a "
                             "tunable of the task",
                             r->t->tunables[i].name, (long long)r->t->tunables[i].fallback);
    return true;
}

bool switches_resolve(const struct task *t, const char *source, const struct config *c,
                      struct buf *out, struct error *e)
{
    struct resolver r = {.t = t, .c = c, .out = out, .e = e};
    bool goes_on = false; /* the line above ended in a backslash: this one is no directive */
    for (const char *p = source; *p;) {
        const char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) + 1 : strlen(p);
        r.line++;
        bool ok = true;
        if (goes_on)
            copy(&r, p, n);
        else
            ok = on_line(&r, p, n);
        if (!ok)
            return false;
        size_t last = n;
        while (last && (p[last - 1] == '\n' || p[last - 1] == '\r'))
            last--;
        goes_on = last && p[last - 1] == '\\';
        p += n;
    }
    return finish(&r);
}
