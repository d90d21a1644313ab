/* Files and folders. Everything warploop writes is mode 0600, its folders 0700. */
#ifndef WARPLOOP_BASE_FS_H
#define WARPLOOP_BASE_FS_H

#include "core/base/buf.h"
#include "core/base/error.h"

/* Where runs are kept: $WARPLOOP_HOME, else $XDG_DATA_HOME/warploop, else ~/.local/share/warploop.
 * Makes the folder and its `runs` when they are missing. The caller frees *out. */
bool fs_home(char **out, struct error *e) WARN_UNUSED;

/* Read a whole file of at most `limit` bytes (a larger one is an error). */
bool fs_read(const char *path, size_t limit, struct buf *out, struct error *e) WARN_UNUSED;

/* Write a file whole or not at all: a temporary beside it, fsync, rename. */
bool fs_write(const char *path, const void *bytes, size_t n, struct error *e) WARN_UNUSED;

/* mkdir -p, mode 0700 for what it makes. */
bool fs_mkdirs(const char *path, struct error *e) WARN_UNUSED;
bool fs_exists(const char *path);

/* Remove a folder and all below it; silent when it is not there. */
void fs_remove_tree(const char *path);

/* "dir/name"; the caller frees. */
char *fs_join(const char *dir, const char *name);

/* The folder of the running program (from /proc/self/exe), where its siblings lie; caller frees. */
char *fs_program_dir(void);

/* The folder that holds the tasks that come with warploop: $WARPLOOP_KERNELS, else `kernels` beside
 * the build folder of the running program, else the installed share folder. Caller frees. */
char *fs_kernels_dir(void);
/* The folder of the user's own tasks, looked at first: `kernels` in the folder that fs_home names.
 * It need not exist; NULL when no home folder is known. Caller frees. */
char *fs_user_kernels_dir(void);

#endif
