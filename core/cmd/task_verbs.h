/* The verbs of `warploop task` that have a file of their own. */
#ifndef WARPLOOP_CMD_TASK_VERBS_H
#define WARPLOOP_CMD_TASK_VERBS_H

#include <cjson/cJSON.h>

#include "core/cmd/cmd.h"
#include "core/loop/proof.h"

enum exit_code task_check(const struct args *a, const char *name);
enum exit_code task_new(const struct args *a, const char *name);

struct task_tally {
    size_t right, wrong;
    bool quiet;   /* only what is not as it should be is printed */
    bool silent;  /* nothing is */
    cJSON *cases; /* each case is added to this array instead; NULL: not */
};

/* A proof_fn over a struct task_tally: counts, and prints one line on standard output. */
void task_put_proof(void *ctx, const struct proof_result *r);

#endif
