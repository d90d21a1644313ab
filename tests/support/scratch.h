/* A folder of a test's own under $TMPDIR, and who may write where. */
#ifndef WARPLOOP_TESTS_SUPPORT_SCRATCH_H
#define WARPLOOP_TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>

/* Makes the folder; aborts when it cannot. scratch_free removes it and all below it. */
char *scratch_new(void);
void scratch_free(char *dir);
/* "dir/name", owned by a small ring of this module: good for the next 15 calls. */
const char *scratch_path(const char *dir, const char *name);

/* Run fn in a child that has no special rights (root becomes nobody), with `dir` and all below it
 * given to that user and the folder's and files' modes as given. Returns its exit status, 128 + the
 * signal when it was killed. */
int scratch_unprivileged(const char *dir, unsigned dir_mode, unsigned file_mode,
                         int (*fn)(const char *dir));
/* Run fn in a child and return its exit status, 128 + the signal when it was killed. */
int scratch_child(int (*fn)(const char *dir), const char *dir);

#endif
