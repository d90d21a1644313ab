/* The proof of a task: every case of core/task/selfcheck.h is built and put through the check that
 * candidates are put through. Blocks until done; starts its own build and bench processes. */
#ifndef WARPLOOP_LOOP_PROOF_H
#define WARPLOOP_LOOP_PROOF_H

#include "core/task/selfcheck.h"

struct proof_result {
    const struct selfcheck_case *c; /* borrowed */
    enum verdict verdict;
    bool holds;                          /* the verdict is what the case calls for */
    const char *message;                 /* "" or what was found; foreign text within */
    const char *family, *shape, *tensor; /* where a wrong answer was found, or "" */
    double error, limit;                 /* of it, NaN */
    int64_t ns;                          /* build and check */
    size_t done, of;
};
typedef void proof_fn(void *ctx, const struct proof_result *r);

struct proof_opts {
    const char *jail;    /* "auto" or "none" */
    size_t combinations; /* how many configurations of the moves */
    uint64_t seed;
};

/* Runs all cases and hands each result to fn in order. *held: all verdicts were as they should be.
 * false: the proof could not be made (no reference, no back end ...). */
bool proof_run(const struct task *t, const struct proof_opts *o, proof_fn *fn, void *ctx,
               bool *held, struct error *e) WARN_UNUSED;

#endif
