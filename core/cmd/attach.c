/* warploop attach and warploop watch: look at a run; attach may also steer it. */
#include <stdio.h>
#include <stdlib.h>

#include "core/cmd/front.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"
#include "core/log/log.h"
#include "core/log/runs.h"

/* Nobody drives it: attaching would be no more than watching, so that is what is said. */
static enum exit_code refuse(const char *path)
{
    struct error e = {0};
    struct run_view v;
    struct buf b = {0};
    if (!run_view_path(path, &v, &e)) {
        return cmd_fail(&e);
    }
    buf_addf(&b, "warploop: %s: nobody drives this run (", v.name);
    run_status_text(&v, &b);
    buf_addf(&b, "). Go on with it: warploop resume %s; only look: warploop watch %s\n", v.name,
             v.name);
    fputs(buf_str(&b), stderr);
    buf_free(&b);
    run_view_close(&v);
    return EXIT_NOT_SO;
}

/* The run is not read here: a long one takes a moment, and the workbench reads it anyway. */
static enum exit_code follow(const struct args *a, bool read_only)
{
    struct error e = {0};
    char *path = NULL;
    char host[128];
    int64_t pid = 0;
    if (!runs_find(args_pos(a, 0), &path, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc;
    if (!read_only && !log_driver(path, &pid, host, sizeof host)) {
        rc = refuse(path);
    } else {
        struct front_opts f = {.path = path};
        front_face(a, false, &f);
        rc = front_follow(&f, read_only);
    }
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

static const struct option_desc options[] = {
    UI_OPTIONS,
    JSON_OPTION("objects instead of lines: the run, then what happens from now on"),
    {0},
};

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
