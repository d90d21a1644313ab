/* Wire requests made from a task: everything resolved to numbers, so that gpu/ needs no task code.
 * The formats stand in gpu/c/spec.h and gpu/build_main.c. */
#ifndef WARPLOOP_TASK_SPEC_H
#define WARPLOOP_TASK_SPEC_H

#include "core/base/wire.h"
#include "core/task/task.h"

enum build_role { ROLE_CANDIDATE, ROLE_BASELINE, ROLE_REFERENCE };
enum eval_mode { EVAL_FULL, EVAL_CHECK, EVAL_BASELINE };

struct eval_parts {
    const struct buf *candidate, *incumbent, *baseline, *reference; /* objects; NULL = absent */
};

struct spec_opts {
    int64_t id;
    const char *jail; /* "auto" or "none" */
    uint64_t seed;
    int sets_min, sets_max; /* 0: the bench's defaults */
};

/* Caller frees with wire_msg_free. */
void spec_build(const struct task *t, enum build_role role, const char *source, size_t n,
                const struct spec_opts *o, struct wire_msg *m);
bool spec_evaluate(const struct task *t, enum eval_mode mode, const struct eval_parts *parts,
                   const struct spec_opts *o, struct wire_msg *m, struct error *e) WARN_UNUSED;

#endif
