/* For the tests of gpu/c's measuring half: fixture objects built by plain gcc, and evaluate
 * requests for the little task that tests/fixtures/bench/kernel.c computes. */
#ifndef WARPLOOP_TESTS_BENCHTEST_H
#define WARPLOOP_TESTS_BENCHTEST_H

#include "core/base/wire.h"
#include "gpu/c/evaluate.h"

/* Compile tests/fixtures/bench/FILE with `flags` ("-DWRONG"); the object's bytes. Kept, so the same
 * fixture is built once; owned by the cache. Fails the test when gcc does. */
const struct buf *benchtest_object(const char *file, const char *flags);
void benchtest_free(void);

struct benchtest_options {
    const char *mode;       /* full */
    int T, N;               /* of the scored shape: 64, 512 */
    double flop;            /* of the scored shape: 0 = none */
    double call_ms;         /* 2000 */
    int sets_min, sets_max; /* 5, 10 */
    bool profile;
    const char *seed; /* 1 */
};

/* An evaluate request. candidate and incumbent are flags of kernel.c; NULL: absent. The baseline is
 * kernel.c with `baseline` (NULL: ""). */
void benchtest_request(const char *candidate, const char *incumbent, const char *baseline,
                       const struct benchtest_options *o, struct wire_msg *m);

/* Evaluate in this process; the `result` message, to be freed by the caller. */
cJSON *benchtest_run(const struct nursery *n, const struct machine *machine,
                     const struct wire_msg *m);

#endif
