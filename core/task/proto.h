/* The definition of one C function, read for `task new`: its parameters as the arguments of a task.
 *
 * Understood: void F(...) with whole-number parameters (sizes), float and double scalars, and
 * pointers to float (const: read only). Anything else is refused with FILE:LINE:COLUMN, what was
 * expected and what to do. No preprocessor: a signature made by macros is not seen. */
#ifndef WARPLOOP_TASK_PROTO_H
#define WARPLOOP_TASK_PROTO_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/task/lex.h"

enum c_kind {
    C_SIZE,    /* int, long, int64_t, size_t ... by value */
    C_SCALAR,  /* float, double by value */
    C_CONST,   /* const float * */
    C_MUTABLE, /* float * */
};

struct c_param {
    enum c_kind kind;
    char *name;
    char *type;   /* C_SIZE, C_SCALAR: as written, without qualifiers ("size_t") */
    char *extent; /* of `float x[EXTENT]`; NULL: none was written */
    int line, column;
};

struct c_function {
    char *name;
    struct c_param *params; /* owned */
    size_t nparams;
    bool is_static;
    size_t body, end; /* tokens of the body: from its { to its } */
};

/* Column (from 1) of a token in its line; splices count as nothing. */
int token_column(const struct tokens *t, const struct token *k);

/* Find and read the definition of `entry`; `file` is shown in errors. On failure nothing is owned.
 */
bool c_function_read(const char *file, const struct tokens *t, const char *entry,
                     struct c_function *out, struct error *e) WARN_UNUSED;
void c_function_free(struct c_function *f);

/* The file's text without the functions that `entry` does not need (a main, other kernels): blanks
 * stand in their place, so that lines keep their numbers. What holds a preprocessor directive
 * stays, and everything where there are more than 200 functions. Appends to out (line splices
 * joined), and to `names` the names that were left out, comma-separated. */
void c_function_alone(const struct tokens *t, const char *entry, struct buf *out,
                      struct buf *names);

/* Whether a word is part of the name of a whole-number type. */
bool c_integer_word(const struct token *k);

#endif
