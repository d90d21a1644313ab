#include "core/task/widen.h"

#include <string.h>

#include "core/base/mem.h"

/* Functions of <math.h> that have a form with f. */
static const char *const math[] = {
    "acos",      "acosh",     "asin",      "asinh", "atan",      "atan2",  "atanh",  "cbrt",
    "ceil",      "copysign",  "cos",       "cosh",  "erf",       "erfc",   "exp",    "exp2",
    "exp10",     "expm1",     "fabs",      "fdim",  "floor",     "fma",    "fmax",   "fmin",
    "fmod",      "frexp",     "hypot",     "ilogb", "ldexp",     "lgamma", "llrint", "llround",
    "log",       "log10",     "log1p",     "log2",  "logb",      "lrint",  "lround", "modf",
    "nan",       "nearbyint", "nextafter", "pow",   "remainder", "remquo", "rint",   "round",
    "roundeven", "scalbln",   "scalbn",    "sin",   "sincos",    "sinh",   "sqrt",   "tan",
    "tanh",      "tgamma",    "trunc",     "inf",   "huge_val",
};

static bool whole(const struct token *k, const char *text, size_t n)
{
    return strlen(text) == n && memcmp(k->s, text, n) == 0;
}

/* A word that ends in f and is one of math, also as __builtin_...: without its f. */
static bool is_math(const struct token *k)
{
    static const char builtin[] = "__builtin_";
    size_t skip = k->n > sizeof builtin && memcmp(k->s, builtin, sizeof builtin - 1) == 0
                      ? sizeof builtin - 1
                      : 0;
    if (k->s[k->n - 1] != 'f')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(math); i++)
        if (strlen(math[i]) == k->n - 1 - skip &&
            memcmp(math[i], k->s + skip, k->n - 1 - skip) == 0)
            return true;
    return false;
}

/* Vector types and intrinsics, whose width is part of their name. */
static bool is_vector(const struct token *k)
{
    static const char *const begin[] = {"_mm",      "__m128",      "__m256",         "__m512",
                                        "float32x", "vector_size", "__vector_size__"};
    for (size_t i = 0; i < ARRAY_LEN(begin); i++)
        if (k->n >= strlen(begin[i]) && memcmp(k->s, begin[i], strlen(begin[i])) == 0)
            return true;
    return false;
}

/* 1.5f, 1e-3F, 0x1p3f: ends in f and is no hexadecimal whole number. */
static bool is_float_number(const struct token *k)
{
    bool hex = k->n > 2 && k->s[0] == '0' && (k->s[1] == 'x' || k->s[1] == 'X');
    bool power = memchr(k->s, 'p', k->n) || memchr(k->s, 'P', k->n);
    return (k->s[k->n - 1] == 'f' || k->s[k->n - 1] == 'F') && (!hex || power);
}

/* const float *, float const *: the float at i. */
static bool is_input_type(const struct tokens *t, size_t i)
{
    bool before = i > 0 && token_is(&t->v[i - 1], TOKEN_WORD, "const");
    bool after = i + 1 < t->n && token_is(&t->v[i + 1], TOKEN_WORD, "const");
    size_t next = i + 1 + after;
    if (!before && !after)
        return false;
    if (tokens_punct(t, next, "*"))
        return true;
    if (!tokens_punct(t, ++next, "[")) /* const float x[n]: a parameter, no table */
        return false;
    while (next < t->n && !tokens_punct(t, next, "]"))
        next++;
    return tokens_punct(t, next + 1, ",") || tokens_punct(t, next + 1, ")");
}

static void put_word(const struct token *k, const struct widen_rename *names, size_t n,
                     struct buf *out)
{
    for (size_t i = 0; i < n; i++)
        if (whole(k, names[i].from, k->n)) {
            buf_adds(out, names[i].to);
            return;
        }
    if (k->n > 4 && memcmp(k->s, "FLT_", 4) == 0 && !whole(k, "FLT_RADIX", k->n) &&
        !whole(k, "FLT_EVAL_METHOD", k->n)) {
        buf_adds(out, "DBL_");
        buf_add(out, k->s + 4, k->n - 4);
    } else {
        buf_add(out, k->s, k->n - is_math(k));
    }
}

bool widen_source(const struct tokens *t, const struct widen_rename *names, size_t n,
                  struct buf *out, const struct token **problem)
{
    const char *at = t->text;
    for (size_t i = 0; i < t->n; i++) {
        const struct token *k = &t->v[i];
        bool number = k->kind == TOKEN_NUMBER && is_float_number(k);
        if (k->kind != TOKEN_WORD && !number)
            continue;
        *problem = k;
        if (is_vector(k))
            return false;
        buf_add(out, at, (size_t)(k->s - at));
        if (number)
            buf_add(out, k->s, k->n - 1);
        else if (token_is(k, TOKEN_WORD, "float") && !is_input_type(t, i))
            buf_adds(out, "double");
        else
            put_word(k, names, n, out);
        at = k->s + k->n;
    }
    buf_adds(out, at);
    *problem = NULL;
    return true;
}
