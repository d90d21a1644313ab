/* Landlock: the kernel's file restrictions for a process without privileges. Raw system calls and
 * own constants, since the headers of an older machine know fewer than its kernel does; the ABI is
 * asked at run time and what a kernel does not know is left out. */
#ifndef WARPLOOP_GPU_C_LANDLOCK_H
#define WARPLOOP_GPU_C_LANDLOCK_H

#include <stdbool.h>

#include "core/base/error.h"

/* ABI version of the running kernel; 0 when it has none. */
int landlock_abi(void);

/* A rule set that denies every file access, TCP and (ABI 6) signals and abstract sockets to the
 * outside, until rules allow some. Returns a descriptor (close-on-exec), -1 on error. */
int landlock_new(int abi, struct error *e);

/* Allow what lies at or below `path`: reading and executing; with `write` also making, writing and
 * removing files there. */
bool landlock_allow(int ruleset, int abi, const char *path, bool write,
                    struct error *e) WARN_UNUSED;

/* Put it in force for the calling thread and its children; needs no_new_privs. Async-signal-safe;
 * errno says why on failure. */
bool landlock_enter(int ruleset);

#endif
