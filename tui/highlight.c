#include "tui/highlight.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"

static const char *const c_keywords[] = {"alignas",
                                         "alignof",
                                         "asm",
                                         "auto",
                                         "break",
                                         "case",
                                         "const",
                                         "constexpr",
                                         "continue",
                                         "default",
                                         "do",
                                         "else",
                                         "enum",
                                         "extern",
                                         "for",
                                         "goto",
                                         "if",
                                         "inline",
                                         "register",
                                         "restrict",
                                         "return",
                                         "sizeof",
                                         "static",
                                         "struct",
                                         "switch",
                                         "typedef",
                                         "union",
                                         "volatile",
                                         "while",
                                         "_Alignas",
                                         "_Static_assert",
                                         "__asm__",
                                         "__attribute__",
                                         "__restrict",
                                         "__restrict__",
                                         "__global__",
                                         "__device__",
                                         "__shared__",
                                         "__forceinline__",
                                         NULL};

static const char *const c_types[] = {
    "void",     "char",    "short",   "int",     "long",     "float",     "double",   "signed",
    "unsigned", "bool",    "_Bool",   "size_t",  "ssize_t",  "ptrdiff_t", "half",     "int8_t",
    "int16_t",  "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t",  "uint64_t", "__m128",
    "__m256",   "__m512",  "__m256i", "__m512i", "__mmask8", "__mmask16", "NULL",     NULL};

static const char *const python_keywords[] = {
    "and",    "as",   "assert", "async",  "await",    "break", "class", "continue", "def",
    "del",    "elif", "else",   "except", "finally",  "for",   "from",  "global",   "if",
    "import", "in",   "is",     "lambda", "nonlocal", "not",   "or",    "pass",     "raise",
    "return", "try",  "while",  "with",   "yield",    NULL};

static const char *const python_types[] = {"True", "False",  "None",  "int",   "float", "str",
                                           "bool", "list",   "dict",  "tuple", "set",   "self",
                                           "tl",   "triton", "torch", NULL};

struct lexer {
    const char *s;
    size_t n, at;
    uint8_t *roles;
    enum hl_language lang;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Give the role to n bytes from here on and step over them. */
static void take(struct lexer *l, size_t n, enum style_role role)
{
    if (n > l->n - l->at)
        n = l->n - l->at;
    memset(l->roles + l->at, role, n);
    l->at += n;
}

static bool here(const struct lexer *l, const char *text)
{
    size_t n = strlen(text);
    return l->n - l->at >= n && memcmp(l->s + l->at, text, n) == 0;
}

/* Up to and with the next occurrence of `end`; false when it is not in this line. */
static bool take_until(struct lexer *l, const char *end, enum style_role role)
{
    size_t n = strlen(end);
    while (l->at < l->n) {
        if (l->s[l->at] == '\\' && role == ROLE_STRING) {
            take(l, 2, role);
        } else if (here(l, end)) {
            take(l, n, role);
            return true;
        } else {
            take(l, 1, role);
        }
    }
    return false;
}

static bool listed(const char *const *list, const char *s, size_t n)
{
    for (; *list; list++)
        if (strlen(*list) == n && memcmp(*list, s, n) == 0)
            return true;
    return false;
}

static void take_number(struct lexer *l)
{
    size_t n = 1;
    const char *s = l->s + l->at;
    size_t left = l->n - l->at;
    while (n < left && (is_word(s[n]) || s[n] == '.' ||
                        ((s[n] == '+' || s[n] == '-') && strchr("eEpP", s[n - 1]))))
        n++;
    take(l, n, ROLE_NUMBER);
}

static void take_word(struct lexer *l)
{
    size_t n = 0;
    while (l->at + n < l->n && is_word(l->s[l->at + n]))
        n++;
    const char *s = l->s + l->at;
    bool python = l->lang == HL_PYTHON;
    enum style_role role = ROLE_TEXT;
    if (l->lang == HL_ASM)
        role = ROLE_TEXT;
    else if (listed(python ? python_keywords : c_keywords, s, n))
        role = ROLE_KEYWORD;
    else if (listed(python ? python_types : c_types, s, n))
        role = ROLE_TYPE;
    take(l, n, role);
}

static bool ends_with_backslash(const struct lexer *l)
{
    return l->n > 0 && l->s[l->n - 1] == '\\';
}

/* A quoted text that begins here. True: it goes on in the next line. */
static bool take_quoted(struct lexer *l)
{
    char quote[2] = {l->s[l->at], '\0'};
    take(l, 1, ROLE_STRING);
    return !take_until(l, quote, ROLE_STRING) && ends_with_backslash(l);
}

/* ------------------------------------------------------------------------------------- C */

static enum hl_state c_line(struct lexer *l, enum hl_state state)
{
    bool directive = state == HL_DIRECTIVE;
    if (state == HL_COMMENT && !take_until(l, "*/", ROLE_COMMENT))
        return HL_COMMENT;
    if (state == HL_STRING && !take_until(l, "\"", ROLE_STRING))
        return ends_with_backslash(l) ? HL_STRING : HL_START;
    size_t first = l->at;
    while (first < l->n && (l->s[first] == ' ' || l->s[first] == '\t'))
        first++;
    directive = directive || (l->at == 0 && first < l->n && l->s[first] == '#');
    while (l->at < l->n) {
        char c = l->s[l->at];
        if (here(l, "//")) {
            take(l, l->n, ROLE_COMMENT);
        } else if (here(l, "/*")) {
            take(l, 2, ROLE_COMMENT);
            if (!take_until(l, "*/", ROLE_COMMENT))
                return HL_COMMENT;
        } else if (directive) {
            take(l, 1, ROLE_PREPROCESSOR);
        } else if (c == '"' || c == '\'') {
            if (take_quoted(l))
                return HL_STRING;
        } else if (is_digit(c) || (c == '.' && l->at + 1 < l->n && is_digit(l->s[l->at + 1]))) {
            take_number(l);
        } else if (is_word(c)) {
            take_word(l);
        } else {
            take(l, 1, ROLE_TEXT);
        }
    }
    return directive && ends_with_backslash(l) ? HL_DIRECTIVE : HL_START;
}

/* -------------------------------------------------------------------------------- Python */

static enum hl_state python_line(struct lexer *l, enum hl_state state)
{
    if (state == HL_TRIPLE_S && !take_until(l, "'''", ROLE_STRING))
        return state;
    if (state == HL_TRIPLE_D && !take_until(l, "\"\"\"", ROLE_STRING))
        return state;
    bool begun = l->at > 0;
    while (l->at < l->n) {
        char c = l->s[l->at];
        if (c == '#') {
            take(l, l->n, ROLE_COMMENT);
        } else if (here(l, "\"\"\"") || here(l, "'''")) {
            enum hl_state open = c == '"' ? HL_TRIPLE_D : HL_TRIPLE_S;
            take(l, 3, ROLE_STRING);
            if (!take_until(l, c == '"' ? "\"\"\"" : "'''", ROLE_STRING))
                return open;
        } else if (c == '"' || c == '\'') {
            take_quoted(l);
        } else if (c == '@' && !begun) {
            size_t n = 1;
            while (l->at + n < l->n && (is_word(l->s[l->at + n]) || l->s[l->at + n] == '.'))
                n++;
            take(l, n, ROLE_PREPROCESSOR);
        } else if (is_digit(c)) {
            take_number(l);
        } else if (is_word(c)) {
            take_word(l);
        } else {
            take(l, 1, ROLE_TEXT);
        }
        begun = begun || (c != ' ' && c != '\t');
    }
    return HL_START;
}

/* ---------------------------------------------------------------- PTX and disassembly */

static enum hl_state asm_line(struct lexer *l, enum hl_state state)
{
    if (state == HL_COMMENT && !take_until(l, "*/", ROLE_COMMENT))
        return HL_COMMENT;
    bool first = true; /* the first word of a line is the instruction */
    while (l->at < l->n) {
        char c = l->s[l->at];
        size_t n = 1;
        if (here(l, "//") || c == ';') {
            bool comment = c != ';';
            take(l, comment ? l->n : 1, comment ? ROLE_COMMENT : ROLE_TEXT);
        } else if (here(l, "/*")) {
            take(l, 2, ROLE_COMMENT);
            if (!take_until(l, "*/", ROLE_COMMENT))
                return HL_COMMENT;
        } else if (c == '"') {
            take_quoted(l);
        } else if (c == '.' || c == '%' || c == '$' || c == '@' || is_word(c)) {
            while (l->at + n < l->n && (is_word(l->s[l->at + n]) || l->s[l->at + n] == '.'))
                n++;
            enum style_role role = ROLE_TEXT;
            if (c == '%')
                role = ROLE_TYPE;
            else if (c == '.')
                role = ROLE_PREPROCESSOR;
            else if (is_digit(c))
                role = ROLE_NUMBER;
            else if (first && c != '$' && c != '@')
                role = ROLE_KEYWORD;
            first = first && (c == '@' || role == ROLE_NUMBER);
            take(l, n, role);
        } else {
            take(l, 1, ROLE_TEXT);
        }
    }
    return HL_START;
}

enum hl_state hl_line(enum hl_language lang, enum hl_state state, const char *s, size_t n,
                      uint8_t *roles)
{
    struct lexer l = {s, n, 0, roles, lang};
    switch (lang) {
    case HL_C:
        return c_line(&l, state);
    case HL_PYTHON:
        return python_line(&l, state);
    case HL_ASM:
        return asm_line(&l, state);
    case HL_NONE:
        break;
    }
    take(&l, n, ROLE_TEXT);
    return HL_START;
}

enum hl_language hl_language_of(const char *file)
{
    static const struct {
        const char *ending;
        enum hl_language lang;
    } t[] = {{".c", HL_C},       {".h", HL_C},     {".cu", HL_C},     {".cuh", HL_C},
             {".py", HL_PYTHON}, {".ptx", HL_ASM}, {".sass", HL_ASM}, {".s", HL_ASM}};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && i < ARRAY_LEN(t); i++)
        if (strcmp(dot, t[i].ending) == 0)
            return t[i].lang;
    return HL_NONE;
}
