#include "core/task/guess.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/task/expr.h"

#define MAX_DEPTH  12
#define MAX_FACTOR 64 /* of a constant extent */
#define MAX_VARS   4000
#define MAX_STEPS  20000 /* of one expression: variables may be made of each other */

/* A variable at its largest, or a pointer into an array. */
struct var {
    char *name, *text; /* text: expression; of a pointer the offset */
    int array;         /* index of the parameter; -1: a whole number */
    bool loop;         /* counts a loop */
    bool met;          /* indexes something in this statement */
};

struct guesser {
    const struct tokens *t;
    const struct c_function *f;
    struct guess *out;
    int64_t *most; /* by parameter: the largest product so far, with the first primes */
    struct var *vars;
    size_t nvars, cap;
    const int64_t *primes; /* the sizes stand for these */
    int depth;
    long *left;   /* steps that may still be taken */
    int64_t work; /* of the statement with the most so far, and its text */
    char *flop;
};

/* Large primes, so that a product of sizes is taken apart in one way. */
static const int64_t primes[2][8] = {{1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049},
                                     {1061, 1063, 1069, 1087, 1091, 1093, 1097, 1103}};

static bool same(const char *name, const char *s, size_t n)
{
    return strlen(name) == n && memcmp(name, s, n) == 0;
}

/* Which of the sizes a name is; -1 none. */
static int size_index(const struct c_function *f, const char *s, size_t n)
{
    int at = 0;
    for (size_t i = 0; i < f->nparams; i++) {
        if (f->params[i].kind != C_SIZE)
            continue;
        if (same(f->params[i].name, s, n))
            return at;
        at++;
    }
    return -1;
}

static const struct var *find_var(const struct guesser *g, const char *s, size_t n)
{
    for (size_t i = g->nvars; i-- > 0;)
        if (same(g->vars[i].name, s, n))
            return &g->vars[i];
    return NULL;
}

static void set_var(struct guesser *g, const struct token *name, int array, char *text_take)
{
    if (g->nvars == MAX_VARS) {
        free(text_take);
        return;
    }
    VEC_ROOM(g->vars, g->nvars, g->cap);
    g->vars[g->nvars++] =
        (struct var){.name = xstrndup(name->s, name->n), .text = text_take, .array = array};
}

static bool value_of(const void *ctx, const char *name, size_t n, int64_t *out)
{
    struct guesser g = *(const struct guesser *)ctx; /* a depth of its own */
    int size = size_index(g.f, name, n);
    const struct var *v = find_var(&g, name, n);
    if (v && v->array < 0) {
        struct expr_env env = {.value = value_of, .ctx = &g};
        size_t at = (size_t)(v - g.vars);
        g.nvars = at; /* what it is made of was there before it */
        return ++g.depth < MAX_DEPTH && --*g.left > 0 &&
               expr_eval(v->text, strlen(v->text), EXPR_ARITHMETIC, &env, out, NULL);
    }
    if (size < 0 || size >= 8)
        return false;
    *out = g.primes[size];
    return true;
}

static bool eval(struct guesser *g, const char *text, int64_t *out)
{
    struct expr_env env = {.value = value_of, .ctx = g};
    *g->left = MAX_STEPS;
    return expr_eval(text, strlen(text), EXPR_ARITHMETIC, &env, out, NULL);
}

/* ---------------------------------------------------------------- reading the text */

static bool word(const struct tokens *t, size_t i, const char *text)
{
    return i < t->n && token_is(&t->v[i], TOKEN_WORD, text);
}

/* The end of an expression that begins at i: the first of `stops` outside brackets. */
static size_t expr_end(const struct tokens *t, size_t i, size_t end, const char *stops)
{
    int depth = 0;
    for (; i < end; i++) {
        const struct token *k = &t->v[i];
        if (k->kind != TOKEN_PUNCT)
            continue;
        if (depth == 0 && strchr(stops, *k->s))
            return i;
        depth += strchr("([{", *k->s) ? 1 : strchr(")]}", *k->s) ? -1 : 0;
    }
    return end;
}

/* (size_t), (int) ...: its length in tokens, 0 when there is none at i. */
static size_t cast_at(const struct tokens *t, size_t i, size_t end)
{
    size_t k = i + 1;
    if (!tokens_punct(t, i, "("))
        return 0;
    while (k < end && c_integer_word(&t->v[k]))
        k++;
    return k > i + 1 && tokens_punct(t, k, ")") ? k + 1 - i : 0;
}

/* Tokens as text for expr_eval: without casts and the suffixes of numbers. */
static char *expr_text(const struct tokens *t, size_t from, size_t to)
{
    struct buf b = {0};
    for (size_t i = from; i < to; i++) {
        size_t cast = cast_at(t, i, to), n = t->v[i].n;
        if (cast) {
            i += cast - 1;
            continue;
        }
        if (t->v[i].kind == TOKEN_NUMBER)
            while (n > 1 && strchr("uUlL", t->v[i].s[n - 1]))
                n--;
        buf_addc(&b, ' ');
        buf_add(&b, t->v[i].s, n);
    }
    return buf_take(&b);
}

/* for (v = a; v < b; ...): v is at most b - 1. Counting down: at most a. Returns where to go on. */
static size_t take_for(struct guesser *g, size_t i)
{
    const struct tokens *t = g->t;
    size_t end = g->f->end, first = i + 2, semi = expr_end(t, first, end, ";"), cond = semi + 1,
           stop = expr_end(t, cond, end, ";&");
    if (!tokens_punct(t, i + 1, "(") || stop >= end || cond + 2 >= stop ||
        t->v[cond].kind != TOKEN_WORD)
        return i;
    bool equal = tokens_punct(t, cond + 2, "=");
    char *text = NULL;
    if (tokens_punct(t, cond + 1, "<") && !tokens_punct(t, cond + 2, "<")) {
        char *bound = expr_text(t, cond + 2 + equal, stop);
        text = equal ? xasprintf("(%s)", bound) : xasprintf("(%s) - 1", bound);
        free(bound);
    } else if (tokens_punct(t, cond + 1, ">")) {
        size_t eq = expr_end(t, first, semi, "=");
        text = eq < semi ? expr_text(t, eq + 1, expr_end(t, eq + 1, semi, ",")) : NULL;
    }
    set_var(g, &t->v[cond], -1, text ? text : xstrdup("?"));
    if (g->nvars)
        g->vars[g->nvars - 1].loop = true;
    return semi;
}

/* int at = EXPR; at token i (its name), with the = after it. */
static void take_number(struct guesser *g, size_t i)
{
    size_t end = expr_end(g->t, i + 2, g->f->end, ";,");
    set_var(g, &g->t->v[i], -1, expr_text(g->t, i + 2, end));
}

/* Which array a name is or points into; *offset (may be NULL) the text of where. -1 none. */
static int array_of(const struct guesser *g, const struct token *k, const char **offset)
{
    const struct var *v = k->kind == TOKEN_WORD ? find_var(g, k->s, k->n) : NULL;
    if (offset)
        *offset = v && v->array >= 0 ? v->text : "0";
    if (v)
        return v->array;
    for (size_t i = 0; i < g->f->nparams && k->kind == TOKEN_WORD; i++)
        if (g->f->params[i].kind >= C_CONST && same(g->f->params[i].name, k->s, k->n))
            return (int)i;
    return -1;
}

/* P = x + EXPR; or P = &x[EXPR]; at token i (P): a pointer into x. */
static bool take_pointer(struct guesser *g, size_t i)
{
    const struct tokens *t = g->t;
    size_t at = i + 2, end = expr_end(t, at, g->f->end, ";,");
    bool address = tokens_punct(t, at, "&");
    at += address;
    const char *offset;
    int array = at < end ? array_of(g, &t->v[at], &offset) : -1;
    char *more = NULL;
    if (array < 0)
        return false;
    if (!address && at + 1 == end)
        more = xstrdup("0");
    else if (!address && tokens_punct(t, at + 1, "+"))
        more = expr_text(t, at + 2, end);
    else if (address && tokens_punct(t, at + 1, "["))
        more = expr_text(t, at + 2, expr_end(t, at + 2, end, "]"));
    if (!more)
        return false;
    set_var(g, &t->v[i], array, xasprintf("(%s) + (%s)", offset, more));
    free(more);
    return true;
}

/* ---------------------------------------------------------------- extents */

/* Take `total` apart into sizes and a constant: powers by size; false when it is no such product.
 */
static bool factor(int64_t total, const int64_t *by, size_t n, int *power, int64_t *constant)
{
    int all = 0;
    for (size_t i = 0; i < n; i++)
        for (power[i] = 0; total > 0 && total % by[i] == 0 && all < GUESS_RANK - 1; all++) {
            total /= by[i];
            power[i]++;
        }
    *constant = total;
    return all > 0 && total >= 1 && total <= MAX_FACTOR;
}

/* The sizes in the order in which an expression meets them, each as often as its power says. */
static void order(const struct guesser *g, const char *text, int depth, int *power, int *list,
                  size_t *n)
{
    size_t at = 0, len = strlen(text), word_len;
    for (; depth < MAX_DEPTH && --*g->left > 0 && (word_len = expr_next_name(text, len, &at)) > 0;
         at += word_len) {
        int size = size_index(g->f, text + at, word_len);
        const struct var *v = find_var(g, text + at, word_len);
        if (v && v->array < 0)
            order(g, v->text, depth + 1, power, list, n);
        else if (size >= 0 && size < 8 && power[size] > 0 && *n < GUESS_RANK) {
            power[size]--;
            list[(*n)++] = size;
        }
    }
}

static const char *size_name(const struct c_function *f, int size)
{
    for (size_t i = 0; i < f->nparams; i++)
        if (f->params[i].kind == C_SIZE && size-- == 0)
            return f->params[i].name;
    return "?";
}

static size_t size_count(const struct c_function *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->nparams; i++)
        n += f->params[i].kind == C_SIZE;
    return n > 8 ? 8 : n;
}

static void clear(struct guess *g)
{
    for (size_t i = 0; i < g->nextents; i++)
        free(g->extents[i]);
    g->nextents = 0;
}

/* A total that is n + 2 or n + k - 1, as text; NULL when it is neither. */
static char *sum_extent(const struct guesser *g, const int64_t total[2], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i; k < n; k++) { /* k == i: no other */
            bool pair = k > i;
            int64_t off = total[0] - primes[0][i] - (pair ? primes[0][k] : 0);
            if (total[1] - primes[1][i] - (pair ? primes[1][k] : 0) != off || off < -MAX_FACTOR ||
                off > MAX_FACTOR || (!pair && off < 0))
                continue;
            const char *first = size_name(g->f, (int)i);
            if (!pair)
                return xasprintf("%s + %lld", first, (long long)off);
            return xasprintf("%s + %s %c %lld", first, size_name(g->f, (int)k), off < 0 ? '-' : '+',
                             (long long)(off < 0 ? -off : off));
        }
    return NULL;
}

/* A total a little below a product of some of the sizes: the ends of an array, or of its rows, are
 * often left out. */
static bool near_product(const int64_t total[2], size_t n, int *power)
{
    for (unsigned set = 1; set < 1U << n; set++) {
        int64_t p[2] = {1, 1};
        bool near = true;
        for (int k = 0; k < 2; k++) {
            for (size_t i = 0; i < n; i++)
                if (set >> i & 1 && __builtin_mul_overflow(p[k], primes[k][i], &p[k]))
                    near = false;
            near = near && total[k] <= p[k] && p[k] - total[k] <= p[k] / 100;
        }
        for (size_t i = 0; i < n; i++)
            power[i] = set >> i & 1;
        if (near)
            return true;
    }
    return false;
}

/* Mark the loops whose counters an index expression holds. */
static void meet(struct guesser *g, const char *text, int depth)
{
    size_t at = 0, len = strlen(text), word_len;
    for (; depth < MAX_DEPTH && --*g->left > 0 && (word_len = expr_next_name(text, len, &at)) > 0;
         at += word_len) {
        const struct var *v = find_var(g, text + at, word_len);
        if (!v || v->array >= 0)
            continue;
        if (v->loop)
            g->vars[v - g->vars].met = true;
        else
            meet(g, v->text, depth + 1);
    }
}

/* Replace the extents of `out` by a product: the sizes in the order of the index expression. */
static void set_product(struct guesser *g, struct guess *out, const char *text, int *power,
                        int64_t constant)
{
    int list[GUESS_RANK];
    size_t found = 0, n = size_count(g->f);
    clear(out);
    *g->left = MAX_STEPS;
    order(g, text, 0, power, list, &found);
    for (size_t s = 0; s < n; s++) /* what the expression meets less often */
        for (; power[s] > 0 && found < GUESS_RANK - 1; power[s]--)
            list[found++] = (int)s;
    for (size_t i = 0; i < found; i++)
        out->extents[out->nextents++] = xstrdup(size_name(g->f, list[i]));
    if (constant > 1)
        out->extents[out->nextents++] = xasprintf("%lld", (long long)constant);
}

/* An element of array `a` is used at an index that is at most `text`. */
static void note_index(struct guesser *g, int a, const char *text)
{
    int power[2][8] = {{0}}, rough[8];
    int64_t constant[2] = {0}, total[2];
    size_t n = size_count(g->f);
    struct guess *out = &g->out[a];
    bool product = true;
    for (int k = 0; k < 2; k++) {
        g->primes = primes[k];
        if (!eval(g, text, &total[k]))
            return;
        total[k]++;
        product = factor(total[k], primes[k], n, power[k], &constant[k]) && product;
    }
    *g->left = MAX_STEPS;
    meet(g, text, 0);
    if (total[0] <= g->most[a] || total[0] <= MAX_FACTOR)
        return; /* less than is known, or single elements */
    g->most[a] = total[0];
    out->odd = false;
    if (product && memcmp(power[0], power[1], sizeof power[0]) == 0 && constant[0] == constant[1]) {
        set_product(g, out, text, power[0], constant[0]);
    } else if (near_product(total, n, rough)) {
        set_product(g, out, text, rough, 1);
    } else {
        char *sum = sum_extent(g, total, n);
        clear(out);
        out->odd = !sum;
        if (sum)
            out->extents[out->nextents++] = sum;
    }
}

/* The end of a statement: it runs once for each value of the loop counters that it met. */
static void note_work(struct guesser *g)
{
    struct buf text = {0};
    int64_t work = 1, trips;
    buf_addc(&text, '2');
    g->primes = primes[0];
    for (size_t i = 0; i < g->nvars; i++) {
        struct var *v = &g->vars[i];
        int power[8] = {1, 1, 1, 1, 1, 1, 1, 1}, list[GUESS_RANK];
        size_t n = 0;
        if (v->met && eval(g, v->name, &trips) && trips >= 1) {
            order(g, v->text, 0, power, list, &n);
            for (size_t k = 0; k < n && !__builtin_mul_overflow(work, trips, &work); k++)
                buf_addf(&text, "*%s", size_name(g->f, list[k]));
        }
        v->met = false;
    }
    if (work > g->work) {
        free(g->flop);
        g->work = work;
        g->flop = buf_take(&text);
    }
    buf_free(&text);
}

/* Whether the statement from i on (its right side) reads array a. */
static bool read_in(const struct guesser *g, size_t i, int a)
{
    size_t end = expr_end(g->t, i, g->f->end, ";");
    for (; i < end; i++)
        if (array_of(g, &g->t->v[i], NULL) == a)
            return true;
    return false;
}

/* x[...] at token i. */
static void take_element(struct guesser *g, size_t i, int a, const char *offset)
{
    const struct tokens *t = g->t;
    size_t close = expr_end(t, i + 2, g->f->end, "]"), after = close + 1;
    char *index = expr_text(t, i + 2, close);
    char *text = xasprintf("(%s) + (%s)", offset, index);
    note_index(g, a, text);
    struct guess *out = &g->out[a];
    if (!out->seen) {
        bool plain = tokens_punct(t, after, "=") && !tokens_punct(t, after + 1, "=");
        out->reads_first = !plain || read_in(g, after, a);
    }
    out->seen = true;
    free(text);
    free(index);
}

struct guess *guess_arrays(const struct tokens *t, const struct c_function *f, char **flop)
{
    long left = MAX_STEPS;
    struct guesser g = {.t = t, .f = f, .primes = primes[0], .work = 1, .left = &left};
    g.out = xcalloc(f->nparams + 1, sizeof *g.out);
    g.most = xcalloc(f->nparams + 1, sizeof *g.most);
    for (size_t i = f->body; i < f->end; i++) {
        const struct token *k = &t->v[i];
        const char *offset;
        if (tokens_punct(t, i, ";"))
            note_work(&g);
        if (k->kind != TOKEN_WORD || k->directive)
            continue;
        int a = array_of(&g, k, &offset);
        bool set = tokens_punct(t, i + 1, "=") && !tokens_punct(t, i + 2, "=");
        if (word(t, i, "for"))
            i = take_for(&g, i);
        else if (set && take_pointer(&g, i))
            continue;
        else if (set && c_integer_word(&t->v[i - 1]))
            take_number(&g, i);
        else if (a >= 0 && tokens_punct(t, i + 1, "[") && !tokens_punct(t, i - 1, "&"))
            take_element(&g, i, a, offset);
    }
    for (size_t i = 0; i < g.nvars; i++) {
        free(g.vars[i].name);
        free(g.vars[i].text);
    }
    free(g.vars);
    free(g.most);
    *flop = g.flop;
    return g.out;
}

void guess_free(struct guess *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clear(&g[i]);
    free(g);
}
