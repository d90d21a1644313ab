/* warploop alone: the runs that exist and the three things one can do. */
#include <stdlib.h>

#include "core/base/fs.h"
#include "core/cmd/cmd.h"
#include "core/cmd/ls.h"
#include "core/task/task.h"

static void put_tasks(struct buf *out)
{
    char **names = NULL;
    size_t n = 0;
    if (!task_names(&names, &n, NULL)) {
        return;
    }
    buf_adds(out, "                            tasks:");
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, " %s", names[i]);
    }
    buf_addc(out, '\n');
    task_names_free(names, n);
}

enum exit_code overview_run(void)
{
    struct error e = {0};
    struct buf b = {0};
    struct ls_counts counts;
    if (!ls_table(&b, 12, &counts, &e)) {
        buf_free(&b);
        return cmd_fail(&e);
    }
    buf_adds(&b, counts.runs ? "\n" : "No runs yet. ");
    buf_adds(
        &b, "Three things one can do:\n\n"
            "  warploop demo             two minutes that show everything, with real measurements\n"
            "  warploop run TASK         optimize a kernel\n");
    put_tasks(&b);
    if (counts.runs) {
        buf_adds(
            &b,
            "  warploop attach [RUN]     look at a run, steer it (resume RUN: go on with one)\n");
    } else {
        buf_adds(&b, "  warploop doctor           what this machine has and what is missing\n");
    }
    buf_adds(&b, "\nwarploop --help lists the rest.\n");
    cmd_print(&b);
    return EXIT_DONE;
}
