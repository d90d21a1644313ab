#include "core/task/lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct lexer {
    struct tokens *out;
    size_t at, n;
    bool line_start, in_directive, want_header, glued;
};

/* Join lines that end in a backslash (blanks after it do not count, as gcc has it). */
static size_t join_lines(const char *s, size_t n, char *text, int *lines)
{
    size_t m = 0;
    int line = 1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\') {
            size_t k = i + 1;
            while (k < n && s[k] != '\n' && isspace((unsigned char)s[k]))
                k++;
            if (k < n && s[k] == '\n') {
                i = k;
                line++;
                continue;
            }
        }
        text[m] = s[i];
        lines[m++] = line;
        line += s[i] == '\n';
    }
    return m;
}

static bool letter(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static char peek(const struct lexer *x, size_t ahead)
{
    return x->at + ahead < x->n ? x->out->text[x->at + ahead] : '\0';
}

static void add(struct lexer *x, enum token_kind kind, size_t start, const char *s, size_t n)
{
    struct tokens *t = x->out;
    VEC_ROOM(t->v, t->n, t->cap);
    bool hash = kind == TOKEN_PUNCT && n == 1 && *s == '#';
    if (x->line_start && hash)
        x->in_directive = true;
    t->v[t->n++] = (struct token){.kind = kind,
                                  .line = t->lines[start],
                                  .first = x->line_start,
                                  .directive = x->in_directive,
                                  .glued = x->glued,
                                  .s = s,
                                  .n = n};
    x->line_start = false;
    x->glued = true;
}

/* Blanks, comments and line ends; false when a token begins here. */
static bool skip(struct lexer *x)
{
    const char *text = x->out->text;
    char c = peek(x, 0);
    if (c == '\n') {
        x->line_start = true;
        x->in_directive = x->want_header = x->glued = false;
        x->at++;
    } else if (isspace((unsigned char)c) || c == '\0') {
        x->glued = false;
        x->at++;
    } else if (c == '/' && peek(x, 1) == '/') {
        while (x->at < x->n && text[x->at] != '\n')
            x->at++;
        x->glued = false;
    } else if (c == '/' && peek(x, 1) == '*') {
        const char *end = memmem(text + x->at + 2, x->n - x->at - 2, "*/", 2);
        x->at = end ? (size_t)(end - text) + 2 : x->n;
        x->glued = false;
    } else {
        return false;
    }
    return true;
}

static void quoted(struct lexer *x, char quote, enum token_kind kind)
{
    const char *text = x->out->text;
    size_t start = x->at++;
    while (x->at < x->n && text[x->at] != quote && text[x->at] != '\n')
        x->at += text[x->at] == '\\' && x->at + 1 < x->n && text[x->at + 1] != '\n' ? 2 : 1;
    if (x->at > x->n)
        x->at = x->n;
    add(x, kind, start, text + start + 1, x->at - start - 1);
    if (x->at < x->n && text[x->at] == quote)
        x->at++;
}

static void word(struct lexer *x)
{
    const char *text = x->out->text;
    size_t start = x->at;
    while (x->at < x->n && (letter(text[x->at]) || isdigit((unsigned char)text[x->at])))
        x->at++;
    const struct tokens *t = x->out;
    bool command = t->n && t->v[t->n - 1].first && t->v[t->n - 1].directive &&
                   token_is(&t->v[t->n - 1], TOKEN_PUNCT, "#");
    add(x, TOKEN_WORD, start, text + start, x->at - start);
    x->want_header = command;
}

static void number(struct lexer *x)
{
    const char *text = x->out->text;
    size_t start = x->at++;
    while (x->at < x->n) {
        char c = text[x->at], before = text[x->at - 1];
        bool sign = (c == '+' || c == '-') && strchr("eEpP", before);
        if (!letter(c) && !isdigit((unsigned char)c) && c != '.' && !sign)
            break;
        x->at++;
    }
    add(x, TOKEN_NUMBER, start, text + start, x->at - start);
}

/* Marks longer than one character that matter, digraphs with what they stand for. */
static void mark(struct lexer *x)
{
    static const struct {
        const char *text, *means;
    } marks[] = {{"%:%:", "##"}, {"##", "##"}, {"::", "::"}, {"%:", "#"},
                 {"<:", "["},    {":>", "]"},  {"<%", "{"},  {"%>", "}"}};
    const char *text = x->out->text + x->at;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t n = strlen(marks[i].text);
        if (x->n - x->at >= n && memcmp(text, marks[i].text, n) == 0) {
            add(x, TOKEN_PUNCT, x->at, marks[i].means, strlen(marks[i].means));
            x->at += n;
            return;
        }
    }
    add(x, TOKEN_PUNCT, x->at, text, 1);
    x->at++;
}

static void header(struct lexer *x)
{
    const char *text = x->out->text;
    size_t start = x->at++;
    while (x->at < x->n && text[x->at] != '>' && text[x->at] != '\n')
        x->at++;
    add(x, TOKEN_HEADER, start, text + start + 1, x->at - start - 1);
    if (x->at < x->n && text[x->at] == '>')
        x->at++;
}

void lex_c(const char *source, size_t n, struct tokens *out)
{
    *out = (struct tokens){.text = xmalloc(n + 1), .lines = xmalloc((n + 1) * sizeof(int))};
    struct lexer x = {.out = out, .line_start = true};
    x.n = join_lines(source, n, out->text, out->lines);
    out->text[x.n] = '\0';
    while (x.at < x.n) {
        if (skip(&x))
            continue;
        char c = peek(&x, 0);
        bool want_header = x.want_header;
        x.want_header = false;
        if (c == '<' && want_header)
            header(&x);
        else if (letter(c))
            word(&x);
        else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(&x, 1))))
            number(&x);
        else if (c == '"')
            quoted(&x, '"', TOKEN_STRING);
        else if (c == '\'')
            quoted(&x, '\'', TOKEN_CHAR);
        else
            mark(&x);
    }
}

void tokens_free(struct tokens *t)
{
    free(t->text);
    free(t->lines);
    free(t->v);
    *t = (struct tokens){0};
}

bool token_is(const struct token *t, enum token_kind kind, const char *text)
{
    return t->kind == kind && strlen(text) == t->n && memcmp(t->s, text, t->n) == 0;
}

bool tokens_punct(const struct tokens *t, size_t i, const char *mark_text)
{
    return i < t->n && token_is(&t->v[i], TOKEN_PUNCT, mark_text);
}
