/* submit --batch: every kernel of a folder, each with a sidecar that says what it is for. */
#ifndef WARPLOOP_CMD_BATCH_H
#define WARPLOOP_CMD_BATCH_H

#include "core/cmd/cmd.h"
#include "core/cmd/submit.h"

struct batch {
    struct submission *list; /* in the order of names; owned */
    size_t n, cap;
    struct buf faults; /* a line each, not sanitised */
    size_t nfaults;
};

/* Read the folder. `s` is what "parent" is looked up in. Whatever is wrong becomes a line of
 * faults; false when there is one. Free with batch_free either way. */
bool batch_read(const char *dir, const struct run_state *s, struct batch *b) WARN_UNUSED;
void batch_free(struct batch *b);

/* The command: options are those of submit. */
enum exit_code batch_submit(const struct args *a, struct run_view *v, const char *dir);

#endif
