/* What the workbench asks for, carried to the run: requests in its inbox, and forks. */
#ifndef WARPLOOP_CMD_REQUESTS_H
#define WARPLOOP_CMD_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* The workbench's `command` callback (tui/workbench.h); ctx is the run's path. */
bool requests_from_workbench(void *ctx, const char *kind, const char *text, struct error *e);

/* Fork the run at path from a version (-1: as it is now). *name is the new run's, the caller's. */
bool requests_fork(const char *path, int64_t version, char **name, struct error *e) WARN_UNUSED;

#endif
