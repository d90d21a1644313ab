#include "tests/support/tasks.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

char *tasks_dir(const char *name)
{
    char *bin = fs_program_dir();
    const char *const roots[] = {"../../../tests/fixtures/tasks", "../../../kernels"};
    char *found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(roots) && !found; i++) {
        char *dir = xasprintf("%s/%s/%s", bin, roots[i], name);
        if (fs_exists(dir))
            found = realpath(dir, NULL);
        free(dir);
    }
    free(bin);
    return found ? found : xstrdup(name);
}

struct task *tasks_load(const char *name)
{
    struct error e = {0};
    char *dir = tasks_dir(name);
    struct task *t = task_load(dir, &e);
    free(dir);
    if (!t) {
        fprintf(stderr, "task %s: %s\n", name, e.msg);
        abort();
    }
    return t;
}
