/* Kernels from files, and the request that hands one to a run: shared by `warploop submit`, bench
 * and the demo. */
#ifndef WARPLOOP_CMD_SUBMIT_H
#define WARPLOOP_CMD_SUBMIT_H

#include "core/base/buf.h"
#include "core/base/error.h"

/* A kernel's source; ERR_INPUT when it is empty, holds a NUL or is over 1 MiB. */
bool kernel_read(const char *file, struct buf *out, struct error *e) WARN_UNUSED;

/* The text of a "submit" request in the inbox, made from a file; caller frees *out. */
bool submit_request(const char *file, const char *why, const char *strategy, char **out,
                    struct error *e) WARN_UNUSED;

#endif
