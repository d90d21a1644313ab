/* The folder of runs: names, paths, listing. A run's name is TASK-N ("kda-3"). */
#ifndef WARPLOOP_LOG_RUNS_H
#define WARPLOOP_LOG_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* The path of run `name` ("kda-3", or a path that ends in .warp). NULL or "": the newest run.
 * ERR_NOTFOUND names the runs that exist (nearest name first) and `warploop ls`. Caller frees. */
bool runs_find(const char *name, char **path, struct error *e) WARN_UNUSED;
/* A fresh name for a task, reserved by nothing: log_create fails if two race, try again. */
bool runs_new_path(const char *task, char **path, struct error *e) WARN_UNUSED;
/* All run files, newest first. */
bool runs_list(char ***paths, size_t *n, struct error *e) WARN_UNUSED;
void runs_list_free(char **paths, size_t n);
/* "kda-3" from a path; caller frees. */
char *runs_name(const char *path);

#endif
