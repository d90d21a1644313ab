/* warploop run: make a run and drive it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/cmd/front.h"
#include "core/cmd/goal.h"
#include "core/cmd/json_out.h"
#include "core/cmd/plain.h"
#include "core/cmd/probe.h"
#include "core/cmd/view.h"
#include "core/log/runs.h"
#include "core/loop/engine.h"

/* Whose machine, what budget: said before anything is spent. */
static void put_head(const char *path, struct buf *out)
{
    struct run_view v;
    if (!run_view_path(path, &v, NULL)) {
        return;
    }
    const struct goal *g = state_goal(v.s);
    buf_addf(out, "%s: task ", v.name);
    put_line(out, v.s->task ? v.s->task : "?", 60);
    if (g) {
        buf_adds(out, "; budget ");
        if (g->hours > 0) {
            buf_addf(out, "%.3g hours", g->hours);
        }
        if (g->calls > 0) {
            buf_addf(out, "%s%lld tool calls", g->hours > 0 ? ", " : "", (long long)g->calls);
        }
        if (!isnan(g->target)) {
            buf_addf(out, "; target %.2fx", g->target);
        }
    }
    buf_addc(out, '\n');
    run_view_close(&v);
}

/* The first lines. */
static void say_begin(const struct front_opts *f)
{
    struct buf b = {0};
    struct run_view v;
    if (f->json) {
        if (run_view_path(f->path, &v, NULL)) {
            plain_run(&v);
            run_view_close(&v);
        }
        return;
    }
    put_head(f->path, &b);
    if (f->ui != UI_WORKBENCH) {
        probe_head(&b);
    }
    if (f->ui == UI_HEADLESS) {
        char *name = runs_name(f->path);
        buf_addf(&b, "no screen; look at it: warploop attach %s; stop it: warploop stop %s\n", name,
                 name);
        free(name);
    }
    cmd_print(&b);
    fflush(stdout); /* they have to be there while it runs */
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    char *path = NULL;
    struct run_opts o = {
        .task = args_pos(a, 0),
        .agent = args_text(a, "agent", "tuner"),
        .goal = args_text(a, "goal", NULL),
        .target = args_real(a, "target", (double)NAN),
        .hours = args_real(a, "hours", 0),
        .calls = args_whole(a, "calls", 0),
        .jobs = (int)args_whole(a, "jobs", 0),
        .seed = (uint64_t)args_whole(a, "seed", 0),
        .jail = args_text(a, "jail", "auto"),
    };
    if (!engine_create(&o, &path, &e)) {
        return cmd_fail(&e);
    }
    struct front_opts f = {.path = path, .jail = o.jail};
    front_face(a, args_flag(a, "headless"), &f);
    say_begin(&f);
    enum exit_code rc = front_drive(&f);
    free(path);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "backend",
     .kind = OPTION_CHOICE,
     .value = "B",
     .choices = "c",
     .help = "what the kernel is written in"},
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .value = "A",
     .help = "who proposes kernels: tuner (default), outside, replay:RUN.warp"},
    {.name = "goal",
     .letter = 'g',
     .kind = OPTION_TEXT,
     .value = "TEXT",
     .help = "the goal in words (default: made from the task)"},
    GOAL_OPTIONS,
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 1,
     .hi = 64,
     .help = "versions in flight at once (default 2, or 1 on one core)"},
    {.name = "seed",
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 1,
     .hi = 9e15,
     .help = "seed of the inputs (default: drawn)"},
    {.name = "jail",
     .kind = OPTION_CHOICE,
     .value = "J",
     .choices = "auto|none",
     .help = "none: no isolation, where this machine has none"},
    {.name = "headless", .kind = OPTION_FLAG, .help = "no screen at all; attach to look"},
    UI_OPTIONS,
    JSON_OPTION("objects instead of lines (see below)"),
    {0},
};

const struct cmd cmd_run = {
    .name = "run",
    .usage = "TASK",
    .summary = "optimize a task's kernel: make a run and drive it",
    .options = options,
    .details =
        "TASK is a name (warploop task ls) or a folder with a task.json. Without --hours and\n"
        "--calls the budget is 8 hours. On a terminal the workbench opens: Q leaves it and the "
        "run\n"
        "goes on. Ctrl-C in plain lines stops at the next safe point, a second one at once; "
        "nothing\n"
        "is lost either way: warploop resume RUN.\n" FRONT_JSON_DETAILS,
    .run = run,
};
