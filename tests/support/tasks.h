/* Tasks for tests: where they lie, and loading one or failing the test. */
#ifndef WARPLOOP_TESTS_SUPPORT_TASKS_H
#define WARPLOOP_TESTS_SUPPORT_TASKS_H

#include "core/task/task.h"

/* The folder of a task of tests/fixtures/tasks, or of kernels/ when there is none; owned by the
 * caller. */
char *tasks_dir(const char *name);
/* Loaded; aborts the test with the error when it cannot. */
struct task *tasks_load(const char *name);

#endif
