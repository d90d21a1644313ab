#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/task/lex.h"
#include "core/task/rules.h"
#include "core/task/task_private.h"

#define LIST_MAX         300
#define ATTRIBUTE_TOKENS 2000 /* of one list: a hostile one may never end */

/* The finding that stands first in the source. */
struct finding {
    int line; /* 0: none */
    char text[600];
};

struct checker {
    const struct task *t;
    struct tokens k;
    struct finding found;
};

static void report(struct checker *c, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void report(struct checker *c, int line, const char *fmt, ...)
{
    if (c->found.line && c->found.line <= line)
        return;
    c->found.line = line;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->found.text, sizeof c->found.text, fmt, ap);
    va_end(ap);
}

static int shown(size_t n)
{
    return n > 60 ? 60 : (int)n;
}

/* ---------------------------------------------------------------- words */

static const struct {
    const char *word, *why;
} words[] = {
    {"asm", "no assembly: write it in C, with vector types or the intrinsics of immintrin.h"},
    {"__asm", "no assembly: write it in C, with vector types or the intrinsics of immintrin.h"},
    {"__asm__", "no assembly: write it in C, with vector types or the intrinsics of immintrin.h"},
    {"_Pragma", "no pragmas but \"#pragma GCC unroll N\" and \"#pragma GCC ivdep\", on a line"},
    {"__pragma", "no pragmas but \"#pragma GCC unroll N\" and \"#pragma GCC ivdep\", on a line"},
    {"__has_include", "no question for files: the allowed headers are there, no other is"},
    {"__has_include_next", "no question for files: the allowed headers are there, no other is"},
    {"__has_embed", "no question for files: the allowed headers are there, no other is"},
    {"__thread", "no thread-local variables: there is one thread; use a local or static one"},
    {"_Thread_local", "no thread-local variables: there is one thread; use a local or static one"},
    {"thread_local", "no thread-local variables: there is one thread; use a local or static one"},
    {"syscall", "no system calls: a kernel only computes"},
    {"__syscall", "no system calls: a kernel only computes"},
};

static const char *word_problem(const char *s, size_t n)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strncmp(words[i].word, s, n) == 0 && words[i].word[n] == '\0')
            return words[i].why;
    if ((n > 4 && memcmp(s, "SYS_", 4) == 0) || (n > 5 && memcmp(s, "__NR_", 5) == 0))
        return "no system calls: a kernel only computes";
    return NULL;
}

static const char *pasted_problem(const char *s, size_t n)
{
    bool attribute = (n == 13 && memcmp(s, "__attribute__", 13) == 0) ||
                     (n == 11 && memcmp(s, "__attribute", 11) == 0);
    return attribute ? "write attributes in one piece" : word_problem(s, n);
}

static void check_word(struct checker *c, size_t i)
{
    const struct token *k = &c->k.v[i];
    const char *why = word_problem(k->s, k->n);
    if (why)
        report(c, k->line, "\"%.*s\": %s", shown(k->n), k->s, why);
    static const char *const raw[] = {"R", "LR", "uR", "UR", "u8R"};
    bool string = i + 1 < c->k.n && c->k.v[i + 1].kind == TOKEN_STRING && c->k.v[i + 1].glued;
    for (size_t r = 0; string && r < ARRAY_LEN(raw); r++)
        if (token_is(k, TOKEN_WORD, raw[r]))
            report(c, k->line, "no raw strings: write an ordinary string");
}

/* Words that ## (or a macro that uses it) may glue: runs of words with only , ( ) ## between. */
static void check_pasted(struct checker *c)
{
    bool pastes = false;
    for (size_t i = 0; i < c->k.n; i++)
        pastes |= tokens_punct(&c->k, i, "##");
    for (size_t i = 0; pastes && i < c->k.n; i++) {
        char glued[64];
        size_t n = 0, parts = 0;
        for (size_t k = i; k < c->k.n && k < i + 24 && parts < 5; k++) {
            const struct token *w = &c->k.v[k];
            bool between = tokens_punct(&c->k, k, ",") || tokens_punct(&c->k, k, "(") ||
                           tokens_punct(&c->k, k, ")") || tokens_punct(&c->k, k, "##");
            if (k > i && between)
                continue;
            if (w->kind != TOKEN_WORD || n + w->n >= sizeof glued)
                break;
            memcpy(glued + n, w->s, w->n);
            n += w->n;
            const char *why = ++parts > 1 ? pasted_problem(glued, n) : NULL;
            if (why)
                report(c, c->k.v[i].line, "pieces that ## makes \"%.*s\" of: %s", shown(n), glued,
                       why);
        }
    }
}

/* ---------------------------------------------------------------- directives */

static void allowed_headers(const struct checker *c, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "%s.h", c->t->name);
    for (size_t i = 0; i < c->t->c.nheaders && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, ", %s", c->t->c.headers[i]);
}

static bool header_allowed(const struct task *t, const char *s, size_t n)
{
    size_t own = strlen(t->name);
    if (n == own + 2 && memcmp(s, t->name, own) == 0 && memcmp(s + own, ".h", 2) == 0)
        return true;
    for (size_t i = 0; i < t->c.nheaders; i++)
        if (strlen(t->c.headers[i]) == n && memcmp(t->c.headers[i], s, n) == 0)
            return true;
    return false;
}

static void check_include(struct checker *c, size_t hash)
{
    char list[LIST_MAX];
    const struct token *k = hash + 2 < c->k.n ? &c->k.v[hash + 2] : NULL;
    int line = c->k.v[hash].line;
    allowed_headers(c, list, sizeof list);
    if (!k || !k->directive || k->first || (k->kind != TOKEN_HEADER && k->kind != TOKEN_STRING))
        report(c, line, "#include needs the header's name itself, not a macro; allowed: %s", list);
    else if (!header_allowed(c->t, k->s, k->n))
        report(c, line, "header \"%.*s\" is not allowed; allowed: %s", shown(k->n), k->s, list);
}

static void check_pragma(struct checker *c, size_t hash)
{
    const struct token *a = hash + 2 < c->k.n ? &c->k.v[hash + 2] : NULL,
                       *b = hash + 3 < c->k.n ? &c->k.v[hash + 3] : NULL;
    if (a && b && !a->first && !b->first && token_is(a, TOKEN_WORD, "GCC") &&
        (token_is(b, TOKEN_WORD, "unroll") || token_is(b, TOKEN_WORD, "ivdep")))
        return;
    report(c, c->k.v[hash].line,
           "only \"#pragma GCC unroll N\" and \"#pragma GCC ivdep\" are "
           "allowed; the compiler's options are the same for all");
}

static const struct {
    const char *word, *why; /* why NULL: allowed */
} directives[] = {
    {"define", NULL},
    {"undef", NULL},
    {"if", NULL},
    {"ifdef", NULL},
    {"ifndef", NULL},
    {"elif", NULL},
    {"elifdef", NULL},
    {"elifndef", NULL},
    {"else", NULL},
    {"endif", NULL},
    {"error", NULL},
    {"warning", NULL},
    {"line", "not allowed: messages must name the true line; remove it"},
    {"include_next", "not allowed: write #include"},
    {"import", "not allowed: write #include"},
    {"embed", "not allowed: no file is read while compiling; write the numbers out"},
    {"ident", "not allowed: remove it"},
    {"sccs", "not allowed: remove it"},
    {"assert", "not allowed: use #define and #if"},
    {"unassert", "not allowed: use #define and #if"},
};

static void check_directive(struct checker *c, size_t hash)
{
    const struct token *k = hash + 1 < c->k.n ? &c->k.v[hash + 1] : NULL;
    int line = c->k.v[hash].line;
    if (!k || !k->directive || k->first)
        return; /* a lone # does nothing */
    if (k->kind == TOKEN_NUMBER) {
        report(c, line, "no line markers: messages must name the true line; remove it");
        return;
    }
    if (token_is(k, TOKEN_WORD, "include")) {
        check_include(c, hash);
        return;
    }
    if (token_is(k, TOKEN_WORD, "pragma")) {
        check_pragma(c, hash);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(directives); i++)
        if (token_is(k, TOKEN_WORD, directives[i].word)) {
            if (directives[i].why)
                report(c, line, "#%s is %s", directives[i].word, directives[i].why);
            return;
        }
    report(c, line, "#%.*s is not a directive that is allowed; remove it", shown(k->n), k->s);
}

/* ---------------------------------------------------------------- attributes */

static const char *const attributes[] = {
    "access",
    "aligned",
    "alloc_align",
    "alloc_size",
    "always_inline",
    "artificial",
    "assume_aligned",
    "cold",
    "const",
    "deprecated",
    "designated_init",
    "fallthrough",
    "flatten",
    "gnu_inline",
    "hot",
    "leaf",
    "malloc",
    "may_alias",
    "maybe_unused",
    "mode",
    "noclone",
    "nodiscard",
    "noinline",
    "noipa",
    "nonnull",
    "noreturn",
    "nothrow",
    "packed",
    "pure",
    "reproducible",
    "returns_nonnull",
    "simd",
    "unsequenced",
    "unused",
    "used",
    "vector_size",
    "warn_unused_result",
};

static void check_attribute(struct checker *c, const struct token *k)
{
    const char *s = k->s;
    size_t n = k->n;
    if (n > 4 && memcmp(s, "__", 2) == 0 && memcmp(s + n - 2, "__", 2) == 0) {
        s += 2;
        n -= 4;
    }
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        if (strncmp(attributes[i], s, n) == 0 && attributes[i][n] == '\0')
            return;
    report(c, k->line,
           "attribute \"%.*s\" is not allowed; those that align, vectorise, inline or "
           "inform are (aligned, vector_size, may_alias, always_inline, noinline, "
           "assume_aligned, unused ...), by name and not by macro",
           shown(k->n), k->s);
}

/* The names of an attribute list that begins at token i (past the opening marks) and ends with an
 * unmatched `close`. */
static void check_list(struct checker *c, size_t i, const char *close)
{
    int depth = 0, line = c->k.v[i - 1].line;
    bool name = true;
    size_t end = i + ATTRIBUTE_TOKENS;
    for (; i < c->k.n && i < end && depth >= 0; i++) {
        const struct token *k = &c->k.v[i];
        if (tokens_punct(&c->k, i, close) && depth == 0)
            return;
        if (tokens_punct(&c->k, i, "(")) {
            depth++;
        } else if (tokens_punct(&c->k, i, ")")) {
            depth--;
        } else if (tokens_punct(&c->k, i, ",") && depth == 0) {
            name = true;
        } else if (depth == 0 && name && k->kind == TOKEN_WORD) {
            if (tokens_punct(&c->k, i + 1, "::") || /* as gcc has it, also ": :" */
                (tokens_punct(&c->k, i + 1, ":") && tokens_punct(&c->k, i + 2, ":")))
                continue;
            check_attribute(c, k);
            name = false;
        }
    }
    report(c, line, "this list of attributes does not end");
}

static void check_attributes(struct checker *c, size_t i)
{
    const struct token *k = &c->k.v[i];
    if (c->found.line && c->found.line <= k->line)
        return; /* an earlier finding is what is told */
    if (token_is(k, TOKEN_WORD, "__attribute__") || token_is(k, TOKEN_WORD, "__attribute")) {
        if (tokens_punct(&c->k, i + 1, "(") && tokens_punct(&c->k, i + 2, "("))
            check_list(c, i + 3, ")");
        else
            report(c, k->line, "write the whole __attribute__((...)) in one place");
    } else if (tokens_punct(&c->k, i, "[") && tokens_punct(&c->k, i + 1, "[")) {
        check_list(c, i + 2, "]");
    }
}

/* ---------------------------------------------------------------- texts */

/* Assembler directives that read files, in strings as the compiler joins them. */
static void check_strings(struct checker *c)
{
    struct buf text = {0};
    for (size_t i = 0; i < c->k.n; i++) {
        if (c->k.v[i].kind != TOKEN_STRING)
            continue;
        int line = c->k.v[i].line;
        buf_clear(&text);
        for (; i < c->k.n && c->k.v[i].kind == TOKEN_STRING; i++)
            buf_add(&text, c->k.v[i].s, c->k.v[i].n);
        if (text.len && (strcasestr(text.s, ".incbin") || strcasestr(text.s, ".include")))
            report(c, line, "no assembler directives in strings: no file is read while compiling");
    }
    buf_free(&text);
}

static void check_bytes(struct checker *c, const char *s, size_t n)
{
    int line = 1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\0')
            report(c, line, "the source holds a NUL byte; remove it");
        if (s[i] == '?' && i + 2 < n && s[i + 1] == '?' && strchr("=/'()!<>-", s[i + 2]))
            report(c, line, "no trigraphs: write the character that ??%c stands for", s[i + 2]);
        line += s[i] == '\n';
    }
}

static void check_entry(struct checker *c)
{
    for (size_t i = 0; i < c->k.n; i++)
        if (!c->k.v[i].directive && token_is(&c->k.v[i], TOKEN_WORD, c->t->c.entry) &&
            tokens_punct(&c->k, i + 1, "("))
            return;
    struct buf proto = {0};
    task_prototype(c->t, false, &proto);
    if (!c->found.line)
        report(c, 1, "the entry is missing: define %s { ... }", buf_str(&proto));
    buf_free(&proto);
}

bool rules_check_c(const struct task *t, const char *source, size_t n, int *line, struct error *e)
{
    struct checker c = {.t = t};
    if (n > TASK_MAX_SOURCE) {
        *line = 1;
        return error_set(e, ERR_INPUT, "line 1: the source has %zu bytes; at most 1 MiB is allowed",
                         n);
    }
    check_bytes(&c, source, n);
    lex_c(source, n, &c.k);
    for (size_t i = 0; i < c.k.n; i++) {
        const struct token *k = &c.k.v[i];
        if (k->kind == TOKEN_PUNCT && k->first && k->directive)
            check_directive(&c, i);
        if (k->kind == TOKEN_WORD)
            check_word(&c, i);
        check_attributes(&c, i);
    }
    check_pasted(&c);
    check_strings(&c);
    check_entry(&c);
    tokens_free(&c.k);
    if (!c.found.line)
        return true;
    *line = c.found.line;
    return error_set(e, ERR_INPUT, "line %d: %s", c.found.line, c.found.text);
}
