/* Parts of the drafting of tasks that its files share; not for others. */
#ifndef WARPLOOP_TASK_DRAFT_PRIVATE_H
#define WARPLOOP_TASK_DRAFT_PRIVATE_H

#include "core/task/draft.h"

#define DRAFT_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Whether an expression over the sizes is sound and at least 1 for the check sizes. */
bool draft_extent_ok(const struct draft *d, const char *text, struct error *e);
/* Sets d->entry, which depends on whether draft_adapts. */
void draft_entry(struct draft *d);
/* Every tensor once; one operation for each element of the first output. The caller frees. */
char *draft_bytes_guess(const struct draft *d);
char *draft_flop_guess(const struct draft *d);
#define DRAFT_FLOP_UNKNOWN "1"

#endif
