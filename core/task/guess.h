/* What can be told about a function's arrays from its text: how large each is, and whether an
 * output is also read.
 *
 * Follows `for` loops, whole-number variables and pointers into an array; every index expression is
 * taken at its largest and compared with products of the sizes. A guess, said as one to the user;
 * the check of the task finds a wrong one. */
#ifndef WARPLOOP_TASK_GUESS_H
#define WARPLOOP_TASK_GUESS_H

#include "core/task/proto.h"

#define GUESS_RANK 8

struct guess {
    char *extents[GUESS_RANK]; /* owned; outermost first */
    size_t nextents;           /* 0: could not be told */
    bool reads_first;          /* something is read from it before anything was written */
    bool odd;                  /* used at an index that none of the sizes explains */
    bool seen;                 /* some element of it is used in the function */
};

/* One guess for each parameter of f (arrays only are filled in). Free with guess_free. *flop: two
 * operations for each run of the statement that runs most often, such as "2*m*n*k", which the
 * caller frees; NULL: could not be told. */
struct guess *guess_arrays(const struct tokens *t, const struct c_function *f, char **flop);
void guess_free(struct guess *g, size_t n);

#endif
