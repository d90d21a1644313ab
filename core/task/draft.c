#include "core/task/draft.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/task/draft_private.h"
#include "core/task/field.h"

#define START_ELEMENTS 65536.0 /* of all auto sizes multiplied, before anything is measured */

bool draft_name_ok(const char *name, struct error *e)
{
    size_t n = strlen(name);
    bool ok = n > 0 && n <= 48 && isalnum((unsigned char)*name) && strcmp(name, "start") != 0;
    for (const char *s = name; *s; s++)
        ok = ok &&
             (islower((unsigned char)*s) || isdigit((unsigned char)*s) || *s == '-' || *s == '_');
    return ok || error_set(e, ERR_INPUT,
                           "task new: field NAME: expected 1 to 48 of a-z 0-9 - _, a letter or "
                           "digit first (not \"start\"), got \"%.60s\"",
                           name);
}

/* ---------------------------------------------------------------- guesses */

static void guess_size(const struct draft *d, struct draft_param *p, size_t at)
{
    static const int64_t check[] = {37, 50, 23, 20, 12, 9}, hidden[] = {70, 33, 65, 18, 15, 11};
    bool only = true;
    for (size_t i = 0; i < d->f.nparams; i++)
        only = only && (d->f.params[i].kind != C_SIZE || p == &d->params[i]);
    p->is_auto = true;
    p->check[0] = 1;
    p->check[1] = check[at % ARRAY_LEN(check)];
    p->check[2] = 1000;
    p->nchecks = only ? 3 : 2;
    p->hidden[0] = only ? 4099 : hidden[at % ARRAY_LEN(hidden)];
    p->nhidden = 1;
}

/* The extents of `float x[n]`, of the index expressions, of the only size; in this order. */
static void guess_extents(const struct draft *d, const struct c_param *c, const struct guess *g,
                          struct draft_param *p)
{
    const char *only = NULL;
    size_t sizes = 0;
    for (size_t i = 0; i < d->f.nparams; i++)
        if (d->f.params[i].kind == C_SIZE) {
            only = d->f.params[i].name;
            sizes++;
        }
    if (c->extent && draft_extent_ok(d, c->extent, NULL)) {
        p->extents[p->nextents++] = xstrdup(c->extent);
        return;
    }
    for (size_t i = 0; i < g->nextents; i++)
        p->extents[p->nextents++] = xstrdup(g->extents[i]);
    p->guessed = p->nextents > 0;
    if (!p->nextents && sizes == 1 && !g->odd)
        p->extents[p->nextents++] = xstrdup(only);
}

static void guess_param(const struct draft *d, const struct guess *g, size_t i, size_t *sizes)
{
    const struct c_param *c = &d->f.params[i];
    struct draft_param *p = &d->params[i];
    p->name = c->name;
    p->soft = 1e-5;
    p->hard = 1e-3;
    p->value = 0.5; /* also as a decay it leads to no infinity */
    switch (c->kind) {
    case C_SIZE:
        p->kind = DRAFT_SIZE;
        guess_size(d, p, (*sizes)++);
        return;
    case C_SCALAR:
        p->kind = DRAFT_SCALAR;
        return;
    case C_CONST:
        p->kind = DRAFT_INPUT;
        break;
    case C_MUTABLE:
        p->kind = g->reads_first ? DRAFT_INOUT : DRAFT_OUTPUT;
        break;
    }
    p->fill = xstrdup("normal 0 1");
    guess_extents(d, c, g, p);
}

/* The elements of an array: m*n. */
static void put_product(const struct draft_param *p, struct buf *out)
{
    for (size_t k = 0; k < p->nextents; k++) {
        bool plain = p->extents[k][strspn(p->extents[k], DRAFT_NAME_LETTERS)] == '\0';
        buf_addf(out, plain ? "%s%s" : "%s(%s)", k ? "*" : "", p->extents[k]);
    }
}

/* 4*(a + b + ...): every tensor once. */
char *draft_bytes_guess(const struct draft *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        if (!p->nextents)
            continue;
        buf_addf(&b, "%s%s", b.len ? " + " : "4*(", p->kind == DRAFT_INOUT ? "2*" : "");
        put_product(p, &b);
    }
    buf_adds(&b, b.len ? ")" : "4");
    return buf_take(&b);
}

char *draft_flop_guess(const struct draft *d)
{
    struct buf b = {0};
    for (size_t i = 0; i < d->f.nparams && !b.len; i++)
        if (d->params[i].kind >= DRAFT_OUTPUT)
            put_product(&d->params[i], &b);
    if (!b.len)
        buf_adds(&b, DRAFT_FLOP_UNKNOWN);
    return buf_take(&b);
}

/* "saxpy() of saxpy.c"; a file's name may hold anything, a title may not. */
static char *title_of(const struct draft *d)
{
    const char *slash = strrchr(d->file, '/'), *base = slash ? slash + 1 : d->file;
    bool plain = strlen(base) <= 60;
    for (const char *s = base; *s; s++)
        plain = plain && isprint((unsigned char)*s) && *s != '#';
    return plain ? xasprintf("%s() of %s", d->f.name, base) : xasprintf("%s()", d->f.name);
}

static void guess_all(struct draft *d)
{
    size_t sizes = 0;
    struct guess *g = guess_arrays(&d->tokens, &d->f, &d->flop);
    d->params = xcalloc(d->f.nparams + 1, sizeof *d->params);
    for (size_t i = 0; i < d->f.nparams; i++)
        guess_param(d, &g[i], i, &sizes);
    guess_free(g, d->f.nparams);
    d->bytes = draft_bytes_guess(d);
    if (!d->flop)
        d->flop = draft_flop_guess(d);
    d->wide = d->sparse = true;
    d->title = title_of(d);
    draft_scale(d, 1);
}

/* ---------------------------------------------------------------- opening */

/* What no kernel may have, told before anything is written. */
static bool check_includes(const struct draft *d, struct error *e)
{
    const struct tokens *t = &d->tokens;
    for (size_t i = 0; i + 2 < t->n; i++) {
        const struct token *k = &t->v[i + 2];
        if (!t->v[i].first || !token_is(&t->v[i], TOKEN_PUNCT, "#") ||
            !token_is(&t->v[i + 1], TOKEN_WORD, "include") || k->kind != TOKEN_STRING)
            continue;
        return error_set(e, ERR_INPUT,
                         "%.200s:%d: includes \"%.*s\"; expected one file that stands alone: paste "
                         "what it needs from there (headers in <> are fine)",
                         d->file, k->line, (int)(k->n > 80 ? 80 : k->n), k->s);
    }
    return true;
}

static bool check_sides(const struct draft *d, struct error *e)
{
    bool in = false;
    for (size_t i = 0; i < d->f.nparams; i++)
        in = in || d->params[i].kind == DRAFT_INPUT || d->params[i].kind == DRAFT_INOUT;
    return in || error_set(e, ERR_INPUT,
                           "%.200s:%d: %s reads no array; expected at least one input: make the "
                           "pointer that it reads `const float *`",
                           d->file, d->f.params[0].line, d->f.name);
}

/* Other functions of the file may do what no kernel may: print, allocate, be main. */
static void leave_out(struct draft *d, const char *entry)
{
    struct buf alone = {0};
    c_function_alone(&d->tokens, entry, &alone, &d->left_out);
    if (d->left_out.len) {
        struct tokens tokens;
        struct c_function f;
        lex_c(alone.s, alone.len, &tokens);
        if (c_function_read(d->file, &tokens, entry, &f, NULL)) {
            c_function_free(&d->f);
            tokens_free(&d->tokens);
            buf_free(&d->source);
            d->f = f;
            d->tokens = tokens;
            d->source = alone;
            return;
        }
        tokens_free(&tokens); /* cannot be: what was read is all there */
        buf_clear(&d->left_out);
    }
    buf_free(&alone);
}

bool draft_open(struct draft *d, const char *name, const char *file, const char *entry,
                struct error *e)
{
    *d = (struct draft){.name = xstrdup(name), .file = xstrdup(file)};
    if (!draft_name_ok(name, e))
        return false;
    if (!fs_read(file, TASK_MAX_SOURCE, &d->source, e))
        return false;
    if (d->source.len == 0 || memchr(d->source.s, '\0', d->source.len))
        return error_set(e, ERR_INPUT, "%.200s: expected C source: it is empty or holds a NUL byte",
                         file);
    const char *why = c_name_problem(entry);
    if (why)
        return error_set(e, ERR_INPUT,
                         "task new: field --entry: expected a C function's name, got "
                         "\"%.60s\": %s",
                         entry, why);
    lex_c(d->source.s, d->source.len, &d->tokens);
    if (!check_includes(d, e) || !c_function_read(file, &d->tokens, entry, &d->f, e))
        return false;
    leave_out(d, entry);
    guess_all(d);
    draft_entry(d);
    return check_sides(d, e);
}

static void clear_param(struct draft_param *p)
{
    for (size_t k = 0; k < p->nextents; k++)
        free(p->extents[k]);
    free(p->fill);
}

void draft_free(struct draft *d)
{
    for (size_t i = 0; i < d->f.nparams && d->params; i++)
        clear_param(&d->params[i]);
    void *const owned[] = {d->name, d->file, d->title, d->flop, d->bytes, d->entry, d->params};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    c_function_free(&d->f);
    tokens_free(&d->tokens);
    buf_free(&d->source);
    buf_free(&d->left_out);
    *d = (struct draft){0};
}

/* ---------------------------------------------------------------- sizes */

size_t draft_autos(const struct draft *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->f.nparams; i++)
        n += d->params[i].kind == DRAFT_SIZE && d->params[i].is_auto;
    return n;
}

void draft_scale(struct draft *d, double factor)
{
    size_t n = draft_autos(d);
    double start = n ? floor(pow(START_ELEMENTS, 1.0 / (double)n) + 0.5) : 0;
    for (size_t i = 0; i < d->f.nparams; i++) {
        struct draft_param *p = &d->params[i];
        if (p->kind != DRAFT_SIZE || !p->is_auto)
            continue;
        double v = start * factor, step = v >= 4096 ? 1024 : v >= 64 ? 16 : 1;
        v = floor(v / step + 0.5) * step;
        p->scored = v < 1 ? 1 : v > 2e9 ? 2000000000 : (int64_t)v;
    }
}

void draft_put_sizes(const struct draft *d, struct buf *out)
{
    const char *gap = "";
    for (size_t i = 0; i < d->f.nparams; i++)
        if (d->params[i].kind == DRAFT_SIZE) {
            buf_addf(out, "%s%s=%lld", gap, d->params[i].name, (long long)d->params[i].scored);
            gap = " ";
        }
    if (!*gap)
        buf_adds(out, "(no dims)");
}

size_t draft_unknown(const struct draft *d, struct buf *names)
{
    size_t n = 0;
    for (size_t i = 0; i < d->f.nparams; i++)
        if (d->params[i].kind >= DRAFT_INPUT && !d->params[i].nextents) {
            if (names)
                buf_addf(names, "%s%s", n ? ", " : "", d->params[i].name);
            n++;
        }
    return n;
}
