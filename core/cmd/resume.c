/* warploop resume: go on with a paused, stopped, crashed or ended run. */
#include <stdlib.h>
#include <string.h>

#include "core/cmd/ask.h"
#include "core/cmd/front.h"
#include "core/cmd/goal.h"
#include "core/cmd/json_out.h"
#include "core/cmd/plain.h"
#include "core/log/log.h"

/* A run that spent its budget or met its target ends again at once unless it is given more. */
static bool may_go_on(const struct run_view *v, bool given, struct error *e)
{
    if (v->status != RUN_ENDED || given || v->s->reason == END_ERROR ||
        v->s->reason == END_STALLED || v->s->reason == END_STOPPED) {
        return true;
    }
    return error_set(
        e, ERR_INPUT, "%s has ended: %s. To go on, give it more: warploop resume %s --%s", v->name,
        end_reason_name(v->s->reason), v->name,
        v->s->reason == END_BUDGET ? "hours H (or --calls N; both count from the run's "
                                     "beginning)"
                                   : "target X");
}

/* What the next engine finds in the inbox. */
static bool ask(const struct run_view *v, const struct args *a, struct error *e)
{
    char *author = ask_author();
    bool ok = true;
    if (goal_options_given(a)) {
        char *request = goal_request(a, NULL);
        ok = inbox_put(v->path, author, "goal", request, e);
        free(request);
    }
    if (ok && (v->s->paused || v->s->ended)) {
        ok = inbox_put(v->path, author, "resume", "", e);
    }
    free(author);
    return ok;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    bool ok = may_go_on(&v, goal_options_given(a), &e);
    if (ok && v.pid) {
        ok = !goal_options_given(a) || ask(&v, a, &e);
        ok = ok && ask_put(&v, "resume", "", "resume", ask_form(a), &e);
        rc = ok ? EXIT_DONE : cmd_fail(&e);
        run_view_close(&v);
        return rc;
    }
    ok = ok && ask(&v, a, &e);
    char *path = ok ? strdup(v.path) : NULL;
    if (ok && args_flag(a, "json")) {
        plain_run(&v);
    }
    int64_t seq = v.s->last_seq;
    run_view_close(&v); /* the log is opened after the last fork */
    if (!ok) {
        return cmd_fail(&e);
    }
    struct front_opts f = {.path = path, .jail = args_text(a, "jail", "auto"), .seq = seq};
    front_face(a, args_flag(a, "headless"), &f);
    rc = front_drive(&f);
    free(path);
    return rc;
}

static const struct option_desc options[] = {
    GOAL_OPTIONS,
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

const struct cmd cmd_resume = {
    .name = "resume",
    .usage = "[RUN]",
    .summary = "go on with a paused, stopped, crashed or ended run",
    .options = options,
    .details =
        "A paused run that an engine drives is only told to go on. Otherwise an engine is started\n"
        "here: nothing that was finished is done again, what was in flight is repeated. A run\n"
        "that has spent its budget needs a larger one (--hours and --calls count from its\n"
        "beginning).\n" FRONT_JSON_DETAILS,
    .run = run,
};
