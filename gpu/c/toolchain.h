/* The compiler of this machine: which files it is made of (so that a jail can show just these) and
 * copies of the headers that a task allows, with all that they include. Both are found by asking
 * the compiler and kept in the cache folder ($XDG_CACHE_HOME/warploop, else ~/.cache/warploop, mode
 * 0700); a cached answer is used only while every file that it was made from has its old size and
 * time. Several builders may fill the cache at once: results are renamed into place. */
#ifndef WARPLOOP_GPU_C_TOOLCHAIN_H
#define WARPLOOP_GPU_C_TOOLCHAIN_H

#include <stddef.h>

#include "core/base/error.h"

struct toolchain {
    char *cache;   /* folder */
    char *gcc;     /* absolute paths */
    char *objdump; /* NULL when there is none */
    char *strip;
    char *version; /* "gcc (Debian 12.2.0-14) 12.2.0" */
    char *path;    /* PATH in the jail */
    char *libs;    /* LD_LIBRARY_PATH in the jail */
    char **files;  /* every file of the compiler and its tools, absolute */
    size_t nfiles;
    char id[17]; /* names this state of these files */
};

/* Find gcc and its parts, or read them from the cache. */
bool toolchain_open(struct toolchain *t, struct error *e) WARN_UNUSED;
void toolchain_free(struct toolchain *t);

/* The folder that holds copies of these headers and all that they include, in numbered folders "0",
 * "1", ... in the compiler's order of search; made if missing, below `base` (the cache folder, or a
 * root from toolchain_root). *roots is their number. The caller frees *folder. */
bool toolchain_headers(const struct toolchain *t, const char *base, const char *const *headers,
                       size_t n, char **folder, size_t *roots, struct error *e) WARN_UNUSED;

/* A folder with copies of all files at their own paths, to become the root of a jailed process;
 * made if missing. The caller frees *root. */
bool toolchain_root(const struct toolchain *t, char **root, struct error *e) WARN_UNUSED;

/* A library to be loaded before all others (LD_PRELOAD) where a jail denies files but cannot hide
 * that they exist (Landlock without a root of its own): every file that may not be opened is
 * answered as missing, so that __has_include tells nothing. Made if missing. The caller frees
 * *path. */
bool toolchain_blinkers(const struct toolchain *t, char **path, struct error *e) WARN_UNUSED;

#endif
