#include "core/task/expr.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

struct parser {
    const char *text, *at, *end;
    enum expr_kind kind;
    const struct expr_env *env;
    struct error *e;
    int depth;
    int dead; /* > 0: on the side of && or || that is not decided: names and overflows do not matter
               */
    bool failed;
};

static bool sum(struct parser *p, int64_t *out);
static bool unary(struct parser *p, int64_t *out);

static bool fail(struct parser *p, const char *at, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool fail(struct parser *p, const char *at, const char *fmt, ...)
{
    if (p->failed)
        return false;
    p->failed = true;
    char what[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    int shown = p->end - p->text > 120 ? 120 : (int)(p->end - p->text);
    return error_set(p->e, ERR_INPUT, "\"%.*s\", column %d: %s", shown, p->text,
                     (int)(at - p->text) + 1, what);
}

static void space(struct parser *p)
{
    while (p->at < p->end && isspace((unsigned char)*p->at))
        p->at++;
}

/* Whether `token` stands here; then it is passed. A one-character operator is not taken from a
 * longer one (`<` from `<=`, `!` from `!=`). */
static bool take(struct parser *p, const char *token)
{
    space(p);
    size_t n = strlen(token);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, token, n) != 0)
        return false;
    if (n == 1 && strchr("<>!", *token) && p->at + 1 < p->end && p->at[1] == '=')
        return false;
    p->at += n;
    return true;
}

static bool word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool word_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t word(struct parser *p)
{
    space(p);
    if (p->at == p->end || !word_start(*p->at))
        return 0;
    size_t n = 1;
    while (p->at + n < p->end && word_part(p->at[n]))
        n++;
    return n;
}

static bool number(struct parser *p, int64_t *out)
{
    const char *start = p->at;
    int64_t v = 0;
    for (; p->at < p->end && isdigit((unsigned char)*p->at); p->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v))
            return fail(p, start, "the number does not fit in 64 bits");
    if (*start == '0' && p->at - start > 1)
        return fail(p, start, "a leading zero would mean an octal number; write it without");
    if (p->at < p->end && word_part(*p->at))
        return fail(p, p->at, "a decimal whole number was expected");
    *out = v;
    return true;
}

static bool is_defined(struct parser *p, int64_t *out)
{
    bool paren = take(p, "(");
    size_t n = word(p);
    if (!n)
        return fail(p, p->at, "a name was expected after \"defined\"");
    *out = p->env->defined && p->env->defined(p->env->ctx, p->at, n);
    p->at += n;
    if (paren && !take(p, ")"))
        return fail(p, p->at, "\")\" was expected");
    return true;
}

static bool primary(struct parser *p, int64_t *out)
{
    space(p);
    if (take(p, "(")) {
        if (++p->depth > DEPTH_MAX)
            return fail(p, p->at, "nested deeper than %d", DEPTH_MAX);
        if (!sum(p, out))
            return false;
        p->depth--;
        return take(p, ")") || fail(p, p->at, "\")\" was expected");
    }
    if (p->at < p->end && isdigit((unsigned char)*p->at))
        return number(p, out);
    size_t n = word(p);
    if (!n)
        return fail(p, p->at,
                    p->at == p->end ? "a number or name was expected, but it ends here"
                                    : "a number, a name or \"(\" was expected");
    const char *name = p->at;
    p->at += n;
    if (p->kind == EXPR_CONDITION && n == 7 && memcmp(name, "defined", 7) == 0)
        return is_defined(p, out);
    *out = 0;
    if (!p->env->value(p->env->ctx, name, n, out) && !p->dead)
        return fail(p, name, "unknown name %.*s", n > 60 ? 60 : (int)n, name);
    return true;
}

static bool unary(struct parser *p, int64_t *out)
{
    const char *at = p->at;
    bool minus = take(p, "-"), plus = !minus && take(p, "+"),
         not = !minus && !plus && p->kind == EXPR_CONDITION && take(p, "!");
    if (!minus && !plus && !not )
        return primary(p, out);
    if (++p->depth > DEPTH_MAX)
        return fail(p, p->at, "nested deeper than %d", DEPTH_MAX);
    if (!unary(p, out))
        return false;
    p->depth--;
    if (not )
        *out = !*out;
    else if (minus && __builtin_sub_overflow((int64_t)0, *out, out) && !p->dead)
        return fail(p, at, "the value does not fit in 64 bits");
    return true;
}

/* How tightly binary operators bind; the longer token stands first. */
static const struct operator
{
    const char *token;
    int level;
    bool condition_only;
}
operators[] = {
    {"||", 1, true}, {"&&", 2, true}, {"==", 3, true}, {"!=", 3, true}, {"<=", 4, true},
    {">=", 4, true}, {"<", 4, true},  {">", 4, true},  {"+", 5, false}, {"-", 5, false},
    {"*", 6, false}, {"/", 6, false}, {"%", 6, true},
};

static const struct operator* take_operator(struct parser *p, int level)
{
    space(p);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        const struct operator* o = & operators[i];
        const char *before = p->at;
        if ((o->condition_only && p->kind != EXPR_CONDITION) || !take(p, o->token))
            continue;
        if (o->level >= level)
            return o;
        p->at = before;
        return NULL;
    }
    return NULL;
}

static bool divide(struct parser *p, const char *at, bool rest, int64_t a, int64_t b, int64_t *out)
{
    *out = 0;
    if (p->dead)
        return true;
    if (b == 0)
        return fail(p, at, "division by zero");
    if (a == INT64_MIN && b == -1)
        return fail(p, at, "the value does not fit in 64 bits");
    if (p->kind == EXPR_ARITHMETIC && a % b != 0)
        return fail(p, at, "%lld is not a multiple of %lld: a size must be a whole number",
                    (long long)a, (long long)b);
    *out = rest ? a % b : a / b;
    return true;
}

static bool apply(struct parser *p, const char *at, const char *op, int64_t a, int64_t b,
                  int64_t *out)
{
    bool over = false;
    switch (op[0]) {
    case '|':
        *out = a || b;
        return true;
    case '&':
        *out = a && b;
        return true;
    case '=':
        *out = a == b;
        return true;
    case '!':
        *out = a != b;
        return true;
    case '<':
        *out = op[1] ? a <= b : a < b;
        return true;
    case '>':
        *out = op[1] ? a >= b : a > b;
        return true;
    case '+':
        over = __builtin_add_overflow(a, b, out);
        break;
    case '-':
        over = __builtin_sub_overflow(a, b, out);
        break;
    case '*':
        over = __builtin_mul_overflow(a, b, out);
        break;
    default:
        return divide(p, at, op[0] == '%', a, b, out);
    }
    return !over || p->dead || fail(p, at, "the value does not fit in 64 bits");
}

/* Precedence climbing: everything that binds at `level` or tighter. */
static bool binary(struct parser *p, int level, int64_t *out)
{
    if (!unary(p, out))
        return false;
    for (;;) {
        const struct operator* o = take_operator(p, level);
        if (!o)
            return true;
        const char *at = p->at - strlen(o->token);
        bool skip = (o->level == 1 && *out) || (o->level == 2 && !*out);
        int64_t right = 0;
        p->dead += skip;
        if (!binary(p, o->level + 1, &right))
            return false;
        p->dead -= skip;
        if (!apply(p, at, o->token, *out, right, out))
            return false;
    }
}

static bool sum(struct parser *p, int64_t *out)
{
    return binary(p, 1, out);
}

bool expr_eval(const char *text, size_t n, enum expr_kind kind, const struct expr_env *env,
               int64_t *out, struct error *e)
{
    struct parser p = {.text = text, .at = text, .end = text + n, .kind = kind, .env = env, .e = e};
    int64_t v = 0;
    if (!sum(&p, &v))
        return false;
    space(&p);
    if (p.at != p.end)
        return fail(&p, p.at, "an operator was expected");
    *out = v;
    return true;
}

size_t expr_next_name(const char *text, size_t n, size_t *at)
{
    size_t i = *at;
    while (i < n) {
        size_t start = i;
        if (isdigit((unsigned char)text[i])) {
            while (i < n && word_part(text[i]))
                i++;
            continue;
        }
        if (!word_start(text[i])) {
            i++;
            continue;
        }
        while (i < n && word_part(text[i]))
            i++;
        *at = start;
        return i - start;
    }
    *at = n;
    return 0;
}
