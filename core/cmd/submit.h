/* The request that hands a kernel to a run: shared by `warploop submit` and the demo. */
#ifndef WARPLOOP_CMD_SUBMIT_H
#define WARPLOOP_CMD_SUBMIT_H

#include "core/base/error.h"

/* The text of a "submit" request in the inbox, made from a file; caller frees *out. */
bool submit_request(const char *file, const char *why, const char *strategy, char **out,
                    struct error *e) WARN_UNUSED;

#endif
