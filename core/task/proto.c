#include "core/task/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/task/field.h"

#define MAX_PARAMS    40
#define LIST_BYTES    300
#define MAX_FUNCTIONS 200

struct reader {
    const char *file;
    const struct tokens *t;
    struct c_function *f;
    struct error *e;
};

int token_column(const struct tokens *t, const struct token *k)
{
    const char *line = k->s;
    if (k->s < t->text)
        return 1;
    while (line > t->text && line[-1] != '\n')
        line--;
    return (int)(k->s - line) + 1;
}

static bool fail(const struct reader *r, const struct token *k, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static bool fail(const struct reader *r, const struct token *k, const char *fmt, ...)
{
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return error_set(r->e, ERR_INPUT, "%.200s:%d:%d: %s", r->file, k->line, token_column(r->t, k),
                     what);
}

static bool is(const struct token *k, const char *const *words)
{
    for (; *words; words++)
        if (token_is(k, TOKEN_WORD, *words))
            return true;
    return false;
}

bool c_integer_word(const struct token *k)
{
    static const char *const words[] = {"int",     "long",      "unsigned", "signed",   "short",
                                        "int64_t", "int32_t",   "uint32_t", "uint64_t", "size_t",
                                        "ssize_t", "ptrdiff_t", "intptr_t", NULL};
    return is(k, words);
}

/* The token after the bracket that matches the one at i; t->n when there is none. */
static size_t past(const struct tokens *t, size_t i, const char *open, const char *close)
{
    int depth = 0;
    for (; i < t->n; i++) {
        depth += tokens_punct(t, i, open);
        depth -= tokens_punct(t, i, close);
        if (depth == 0)
            return i + 1;
    }
    return t->n;
}

/* ---------------------------------------------------------------- finding */

/* The next function name at file level at or after *i: its token; *i is then past what was looked
 * at. false at the end. */
static bool next_function(const struct tokens *t, size_t *i, size_t *name)
{
    while (*i < t->n) {
        const struct token *k = &t->v[*i];
        bool called = k->kind == TOKEN_WORD && tokens_punct(t, *i + 1, "(") &&
                      !token_is(k, TOKEN_WORD, "__attribute__");
        if (!k->directive && called) {
            *name = (*i)++;
            return true;
        }
        if (!k->directive && tokens_punct(t, *i, "{"))
            *i = past(t, *i, "{", "}");
        else if (!k->directive && tokens_punct(t, *i, "("))
            *i = past(t, *i, "(", ")");
        else
            ++*i;
    }
    return false;
}

/* The { of the body when the function named at `name` is defined, else t->n. */
static size_t body_of(const struct tokens *t, size_t name)
{
    size_t i = past(t, name + 1, "(", ")");
    while (i < t->n && token_is(&t->v[i], TOKEN_WORD, "__attribute__"))
        i = past(t, i + 1, "(", ")");
    return tokens_punct(t, i, "{") ? i : t->n;
}

static bool missing(const struct reader *r, const char *entry, int declared)
{
    struct buf list = {0};
    char *names[32];
    size_t n = 0, i = 0, at;
    while (n < ARRAY_LEN(names) && next_function(r->t, &i, &at))
        if (body_of(r->t, at) < r->t->n)
            names[n++] = xstrndup(r->t->v[at].s, r->t->v[at].n);
    for (size_t k = 0; k < n && list.len < LIST_BYTES; k++)
        buf_addf(&list, "%s%s", k ? ", " : "", names[k]);
    const char *near = name_nearest(entry, (const char *const *)names, n);
    if (declared)
        error_set(r->e, ERR_INPUT,
                  "%.200s:%d: \"%.60s\" is only declared here; give the file that defines it",
                  r->file, declared, entry);
    else
        error_set(r->e, ERR_INPUT, "%.200s: expected a definition of \"%.60s\"%s%s%s%s", r->file,
                  entry, near ? "; did you mean \"" : "", near ? near : "",
                  near ? "\"? The file defines: " : "; the file defines: ",
                  n ? buf_str(&list) : "no function");
    for (size_t k = 0; k < n; k++)
        free(names[k]);
    buf_free(&list);
    return false;
}

/* ---------------------------------------------------------------- the signature */

/* What stands before the name: void, and words that change nothing. */
static bool take_return(struct reader *r, size_t name)
{
    static const char *const passed[] = {"static",   "inline",     "extern",
                                         "__inline", "__inline__", NULL};
    const struct tokens *t = r->t;
    size_t i = name;
    while (i > 0 && !t->v[i - 1].directive && !tokens_punct(t, i - 1, ";") &&
           !tokens_punct(t, i - 1, "}"))
        i--;
    const struct token *bad = NULL;
    bool is_void = false;
    for (; i < name; i++) {
        const struct token *k = &t->v[i];
        r->f->is_static |= token_is(k, TOKEN_WORD, "static");
        if (token_is(k, TOKEN_WORD, "__attribute__"))
            i = past(t, i + 1, "(", ")") - 1;
        else if (token_is(k, TOKEN_WORD, "void"))
            is_void = true;
        else if (!is(k, passed) && !bad)
            bad = k;
    }
    if (is_void && !bad)
        return true;
    return fail(r, bad ? bad : &t->v[name],
                "%s returns %.*s; expected void: let it write its result through a pointer, such "
                "as `float *out`",
                r->f->name, bad ? (int)(bad->n > 40 ? 40 : bad->n) : 3, bad ? bad->s : "int");
}

/* One parameter in parts. */
struct parts {
    const struct token *name, *star, *bad;
    struct buf type;
    char *extent;
    size_t stars, brackets;
    bool is_const, floating, integer, narrow; /* narrow: the type is float */
};

static char *joined(const struct tokens *t, size_t from, size_t to)
{
    struct buf b = {0};
    for (size_t i = from; i < to; i++) {
        if (b.len && !t->v[i].glued)
            buf_addc(&b, ' ');
        buf_add(&b, t->v[i].s, t->v[i].n);
    }
    return buf_take(&b);
}

static void take_brackets(const struct tokens *t, size_t *i, struct parts *p)
{
    static const char *const passed[] = {"static", "restrict", "const", NULL};
    size_t end = past(t, *i, "[", "]"), from = *i + 1;
    while (from + 1 < end && is(&t->v[from], passed))
        from++;
    if (!p->star)
        p->star = &t->v[*i];
    if (p->brackets++ == 0 && from + 1 < end)
        p->extent = joined(t, from, end - 1);
    *i = end - 1;
}

static void split(const struct tokens *t, size_t from, size_t to, struct parts *p)
{
    static const char *const passed[] = {"restrict", "__restrict", "__restrict__", "register",
                                         NULL};
    for (size_t i = from; i < to; i++) {
        const struct token *k = &t->v[i];
        bool is_word = k->kind == TOKEN_WORD;
        bool last = i + 1 == to || tokens_punct(t, i + 1, "[");
        if (is(k, passed)) {
            continue;
        } else if (token_is(k, TOKEN_WORD, "const")) {
            p->is_const |= p->stars == 0;
        } else if (tokens_punct(t, i, "*")) {
            p->stars++;
            p->star = p->star ? p->star : k;
        } else if (tokens_punct(t, i, "[")) {
            take_brackets(t, &i, p);
        } else if (is_word && last && p->type.len) {
            p->name = k;
        } else if (is_word && p->stars == 0) {
            bool number = token_is(k, TOKEN_WORD, "float") || token_is(k, TOKEN_WORD, "double");
            p->narrow |= token_is(k, TOKEN_WORD, "float");
            p->floating |= number;
            p->integer |= c_integer_word(k);
            p->bad = number || c_integer_word(k) ? p->bad : k;
            buf_addf(&p->type, "%s%.*s", p->type.len ? " " : "", (int)k->n, k->s);
        } else if (!p->bad) {
            p->bad = k;
        }
    }
}

static const char expected[] =
    "expected int, long, int64_t or size_t (a size), float or double (a scalar), const float * (an "
    "input) or float * (an output)";

static bool judge(struct reader *r, const struct parts *p, const struct token *first,
                  struct c_param *out)
{
    const char *type = buf_str(&p->type);
    if (!p->name)
        return fail(r, first, "a parameter without a name or type; %s", expected);
    char *name = xstrndup(p->name->s, p->name->n);
    out->name = name;
    const char *why = c_name_problem(name);
    if (why)
        return fail(r, p->name, "%.60s cannot be the name of an argument: %s; rename it", name,
                    why);
    if (p->stars + p->brackets > 1)
        return fail(r, p->star,
                    "%.60s is an array of arrays; expected one flat pointer, such as `const float "
                    "*%.60s`, indexed as %.60s[i * n + j]",
                    name, name, name);
    bool pointer = p->stars + p->brackets == 1;
    if (pointer && !p->bad && p->floating && !p->narrow)
        return fail(r, p->name,
                    "%.60s points to %.40s; expected float: the tensors of a task are 32-bit "
                    "floats. Give it a float parameter (it may compute in double inside)",
                    name, type);
    if (pointer && !p->bad && p->integer)
        return fail(r, p->name,
                    "%.60s points to %.40s; expected float: the tensors of a task are 32-bit "
                    "floats, whole numbers are not compared yet. Pass indices or counts as "
                    "floats, or compute them inside",
                    name, type);
    if (p->bad || (pointer && !p->floating) || p->floating == p->integer)
        return fail(r, p->bad ? p->bad : first, "%.60s has the type \"%.60s%s\"; %s", name, type,
                    pointer ? " *" : "", expected);
    out->kind = pointer ? (p->is_const ? C_CONST : C_MUTABLE) : p->integer ? C_SIZE : C_SCALAR;
    out->type = xstrdup(type);
    out->extent = p->extent ? xstrdup(p->extent) : NULL;
    out->line = p->name->line;
    out->column = token_column(r->t, p->name);
    return true;
}

static bool take_param(struct reader *r, size_t from, size_t to)
{
    struct parts p = {0};
    struct c_function *f = r->f;
    if (f->nparams == MAX_PARAMS)
        return fail(r, &r->t->v[from], "expected at most %d parameters", MAX_PARAMS);
    split(r->t, from, to, &p);
    struct c_param *param = &f->params[f->nparams++];
    bool ok = judge(r, &p, &r->t->v[from], param);
    buf_free(&p.type);
    free(p.extent);
    return ok;
}

static bool take_params(struct reader *r, size_t name)
{
    const struct tokens *t = r->t;
    size_t end = past(t, name + 1, "(", ")") - 1, from = name + 2, out = 0;
    int depth = 0;
    bool none = from >= end || (from + 1 == end && token_is(&t->v[from], TOKEN_WORD, "void"));
    r->f->params = xcalloc(MAX_PARAMS, sizeof *r->f->params);
    for (size_t i = from; i <= end && !none; i++) {
        bool stop = i == end || (depth == 0 && tokens_punct(t, i, ","));
        depth += tokens_punct(t, i, "(") || tokens_punct(t, i, "[");
        depth -= tokens_punct(t, i, ")") || tokens_punct(t, i, "]");
        if (!stop)
            continue;
        if (!take_param(r, from, i))
            return false;
        from = i + 1;
    }
    for (size_t i = 0; i < r->f->nparams; i++) {
        out += r->f->params[i].kind == C_MUTABLE;
    }
    if (!out)
        return fail(r, &t->v[name], "%s writes nothing; expected an output, such as `float *out`",
                    r->f->name);
    return true;
}

bool c_function_read(const char *file, const struct tokens *t, const char *entry,
                     struct c_function *out, struct error *e)
{
    struct reader r = {file, t, out, e};
    size_t i = 0, at, body = t->n;
    int declared = 0;
    *out = (struct c_function){.name = xstrdup(entry)};
    while (body == t->n && next_function(t, &i, &at)) {
        if (!token_is(&t->v[at], TOKEN_WORD, entry))
            continue;
        body = body_of(t, at);
        declared = declared ? declared : t->v[at].line;
    }
    bool ok =
        body < t->n ? take_return(&r, at) && take_params(&r, at) : missing(&r, entry, declared);
    out->body = body;
    out->end = body < t->n ? past(t, body, "{", "}") - 1 : t->n;
    if (!ok)
        c_function_free(out);
    return ok;
}

void c_function_free(struct c_function *f)
{
    for (size_t i = 0; i < f->nparams; i++) {
        free(f->params[i].name);
        free(f->params[i].type);
        free(f->params[i].extent);
    }
    free(f->params);
    free(f->name);
    *f = (struct c_function){0};
}

/* ---------------------------------------------------------------- alone */

/* A definition: its tokens from the first word to its }. */
struct definition {
    size_t first, name, body, last;
    bool needed, fixed; /* fixed: holds a directive */
};

static struct definition *definitions(const struct tokens *t, size_t *n)
{
    struct definition *v = NULL;
    size_t cap = 0, i = 0, at;
    *n = 0;
    while (next_function(t, &i, &at)) {
        size_t body = body_of(t, at), first = at;
        if (body == t->n)
            continue;
        while (first > 0 && !t->v[first - 1].directive && !tokens_punct(t, first - 1, ";") &&
               !tokens_punct(t, first - 1, "}"))
            first--;
        struct definition d = {first, at, body, past(t, body, "{", "}") - 1, false, false};
        for (size_t k = first; k <= d.last; k++)
            d.fixed |= t->v[k].directive;
        VEC_ROOM(v, *n, cap);
        v[(*n)++] = d;
    }
    return v;
}

static bool mentions(const struct tokens *t, size_t from, size_t to, const struct token *name)
{
    for (size_t i = from; i < to; i++)
        if (t->v[i].kind == TOKEN_WORD && t->v[i].n == name->n &&
            memcmp(t->v[i].s, name->s, name->n) == 0)
            return true;
    return false;
}

/* Mark what the entry, what it needs, and what stands outside of functions mention. */
static void mark(const struct tokens *t, struct definition *v, size_t n, const char *entry)
{
    for (size_t i = 0; i < n; i++) {
        const struct token *name = &t->v[v[i].name];
        size_t from = 0;
        v[i].needed = v[i].fixed || token_is(name, TOKEN_WORD, entry);
        for (size_t k = 0; k <= n && !v[i].needed; k++) {
            size_t to = k < n ? v[k].first : t->n;
            for (size_t w = from; w < to; w++) /* a declaration needs nothing */
                if (!tokens_punct(t, w + 1, "(") || t->v[w].directive)
                    v[i].needed |= mentions(t, w, w + 1, name);
            from = k < n ? v[k].last + 1 : t->n;
        }
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < n && v[i].needed; k++)
                if (!v[k].needed && mentions(t, v[i].body, v[i].last, &t->v[v[k].name]))
                    more = v[k].needed = true;
    }
}

void c_function_alone(const struct tokens *t, const char *entry, struct buf *out, struct buf *names)
{
    size_t n, begin = out->len;
    struct definition *v = definitions(t, &n);
    if (n > MAX_FUNCTIONS) /* each is looked for in all others */
        n = 0;
    mark(t, v, n, entry);
    buf_adds(out, t->text);
    for (size_t i = 0; i < n; i++) {
        if (v[i].needed)
            continue;
        const struct token *name = &t->v[v[i].name];
        buf_addf(names, "%s%.*s", names->len ? ", " : "", (int)name->n, name->s);
        char *from = out->s + begin + (t->v[v[i].first].s - t->text),
             *to = out->s + begin + (t->v[v[i].last].s - t->text);
        for (char *s = from; s <= to; s++)
            if (*s != '\n')
                *s = ' ';
    }
    free(v);
}
