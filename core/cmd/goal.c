/* warploop goal: show a run's goal, or give it another. */
#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/cmd/ask.h"
#include "core/cmd/goal.h"
#include "core/cmd/json_out.h"

bool goal_options_given(const struct args *a)
{
    return args_text(a, "target", NULL) || args_text(a, "hours", NULL) ||
           args_text(a, "calls", NULL);
}

char *goal_request(const struct args *a, const char *text)
{
    cJSON *o = cJSON_CreateObject();
    if (text) {
        cJSON_AddStringToObject(o, "text", text);
    }
    json_put_num(o, "target", args_real(a, "target", (double)NAN));
    json_put_num(o, "hours", args_real(a, "hours", (double)NAN));
    if (args_text(a, "calls", NULL)) {
        json_put_i64(o, "calls", args_whole(a, "calls", 0));
    }
    char *out = json_text(o);
    cJSON_Delete(o);
    return out;
}

static void put_goal(const struct goal *g, struct buf *out)
{
    buf_addf(out, "goal %lld: ", (long long)g->id);
    put_line(out, g->text, 2000);
    buf_adds(out, "\n   ");
    if (isnan(g->target)) {
        buf_adds(out, "no target");
    } else {
        buf_addf(out, "target %.2fx", g->target);
    }
    if (g->hours > 0) {
        buf_addf(out, ", %.3g hours", g->hours);
    }
    if (g->calls > 0) {
        buf_addf(out, ", %lld tool calls", (long long)g->calls);
    }
    buf_addc(out, '\n');
}

static void print_goals(const struct run_view *v)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "run", v->name);
    cJSON *list = cJSON_AddArrayToObject(o, "goals");
    for (size_t i = 0; i < v->s->ngoals; i++) {
        cJSON_AddItemToArray(list, json_goal(&v->s->goals[i]));
    }
    print_json(o);
}

static enum exit_code show(const struct run_view *v, bool json)
{
    if (json) {
        print_goals(v);
        return EXIT_DONE;
    }
    struct buf b = {0};
    for (size_t i = 0; i < v->s->ngoals; i++) {
        put_goal(&v->s->goals[i], &b);
    }
    if (v->s->ngoals > 1) {
        buf_adds(&b, "(the last one holds)\n");
    }
    cmd_print(&b);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    if (!args_pos(a, 1) && !goal_options_given(a)) {
        rc = show(&v, args_flag(a, "json"));
    } else {
        char *text = NULL;
        bool ok = !args_pos(a, 1) || ask_text(args_pos(a, 1), &text, &e);
        char *request = ok ? goal_request(a, text) : NULL;
        ok = ok && ask_put(&v, "goal", request, "goal", ask_form(a), &e);
        free(request);
        free(text);
        rc = ok ? EXIT_DONE : cmd_fail(&e);
    }
    run_view_close(&v);
    return rc;
}

static const struct option_desc options[] = {
    GOAL_OPTIONS,
    JSON_OPTION("one object: the goals, or what was asked of whom"),
    {0},
};

const struct cmd cmd_goal = {
    .name = "goal",
    .usage = "[RUN] [TEXT]",
    .summary = "show a run's goals, or give it another",
    .options = options,
    .details =
        "TEXT \"-\" reads it from standard input. What is not said stays as it was. Every goal is\n"
        "kept with its number; only a person edits it. The engine takes it at its next safe point.",
    .run = run,
};
