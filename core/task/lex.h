/* C source as tokens, the way a compiler reads it: line splices joined, comments left out, digraphs
 * as what they stand for. Only as fine as the source rules need. Trigraphs are not replaced (gnu11
 * does not): the rules refuse them. Never fails: what is unfinished ends with its line or the file.
 */
#ifndef WARPLOOP_TASK_LEX_H
#define WARPLOOP_TASK_LEX_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
    TOKEN_WORD, /* identifier or keyword; $ and bytes above 0x7f count as letters */
    TOKEN_NUMBER,
    TOKEN_STRING, /* s: between the quotes */
    TOKEN_CHAR,
    TOKEN_HEADER, /* <...> of an #include; s: between the brackets */
    TOKEN_PUNCT,  /* one character, or ## or :: */
};

struct token {
    enum token_kind kind;
    int line;       /* of its first character, from 1 */
    bool first;     /* first of its line (comments aside): a # here begins a directive */
    bool directive; /* part of a directive, the # included */
    bool glued;     /* nothing stands between it and the token before */
    const char *s;
    size_t n;
};

struct tokens {
    char *text; /* the joined text that the tokens point into; owned */
    int *lines;
    struct token *v; /* owned */
    size_t n, cap;
};

void lex_c(const char *source, size_t n, struct tokens *out);
void tokens_free(struct tokens *t);

bool token_is(const struct token *t, enum token_kind kind, const char *text);
/* A punctuation mark; false past the end. */
bool tokens_punct(const struct tokens *t, size_t i, const char *mark);

#endif
