/* warploop attach and warploop watch: look at a run; attach may also steer it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cmd/front.h"
#include "core/cmd/view.h"

static enum exit_code follow(const struct args *a, bool read_only)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    if (!v.pid && !read_only) {
        struct buf b = {0};
        buf_addf(&b, "warploop: %s: nobody drives this run (", v.name);
        run_status_text(&v, &b);
        buf_addf(&b, "). Go on with it: warploop resume %s; only look: warploop watch %s\n", v.name,
                 v.name);
        fputs(buf_str(&b), stderr);
        buf_free(&b);
        run_view_close(&v);
        return EXIT_NOT_SO;
    }
    char *path = strdup(v.path);
    run_view_close(&v);
    struct front_opts f = {.path = path};
    front_face(a, false, &f);
    enum exit_code rc = front_follow(&f, read_only);
    free(path);
    return rc;
}

static enum exit_code attach(const struct args *a)
{
    return follow(a, false);
}

static enum exit_code watch(const struct args *a)
{
    return follow(a, true);
}

static const struct option_desc options[] = {UI_OPTIONS, {0}};

const struct cmd cmd_attach = {
    .name = "attach",
    .usage = "[RUN]",
    .summary = "the workbench on a run that another process drives",
    .options = options,
    .details =
        "Several may be attached at once. Leaving does not stop the run. Exit code 1 when nobody\n"
        "drives it.",
    .run = attach,
};

const struct cmd cmd_watch = {
    .name = "watch",
    .usage = "[RUN]",
    .summary = "look at a run, driven or not; changes nothing",
    .options = options,
    .details = "Reads the run's file and nothing else: works for runs of others and for past ones.",
    .run = watch,
};
