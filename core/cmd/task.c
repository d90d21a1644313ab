/* warploop task: list the tasks, show one. What proves and makes one: task_check.c, task_new.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/task_verbs.h"
#include "core/cmd/view.h"
#include "core/task/task.h"

static const char *const verbs[] = {"ls", "show", "check", "new"};

static enum exit_code task_ls(bool json)
{
    struct error e = {0};
    char **names = NULL;
    size_t n = 0;
    if (!task_names(&names, &n, &e)) {
        return cmd_fail(&e);
    }
    struct buf b = {0};
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        struct task *t = task_load(names[i], &e);
        cJSON *o = cJSON_CreateObject();
        out_text(o, "task", names[i]);
        out_text(o, "title", t ? t->title : NULL);
        out_text(o, "error", t ? NULL : e.msg);
        cJSON_AddItemToArray(rows, o);
        put_line(&b, names[i], 24);
        put_pad(&b, 16);
        put_line(&b, t ? t->title : e.msg, 300);
        buf_addc(&b, '\n');
        task_free(t);
    }
    task_names_free(names, n);
    if (json) {
        buf_free(&b);
        print_json(rows);
        return EXIT_DONE;
    }
    if (n == 0) {
        buf_adds(&b, "no tasks found: set WARPLOOP_KERNELS to the folder that holds them\n");
    }
    cJSON_Delete(rows);
    cmd_print(&b);
    return EXIT_DONE;
}

static void put_shapes(const struct task *t, struct buf *out)
{
    static const char *const roles[] = {"scored", "check", "hidden"};
    for (size_t i = 0; i < t->nshapes; i++) {
        const struct shape *s = &t->shapes[i];
        buf_addf(out, "  %-8s %-14s", roles[s->role], s->name);
        size_t d = 0;
        for (size_t k = 0; k < t->nparams; k++) {
            if (t->params[k].kind == PARAM_DIM) {
                buf_addf(out, " %s=%lld", t->params[k].name, (long long)s->dims[d++]);
            }
        }
        int64_t flop = 0;
        if (s->role == SHAPE_SCORED && task_eval(t, s, t->flop, &flop, NULL)) {
            buf_addf(out, "  %.3g Gflop", (double)flop / 1e9);
        }
        buf_addc(out, '\n');
    }
}

static void put_moves(const struct task *t, struct buf *out)
{
    for (size_t i = 0; i < t->nmoves; i++) {
        const struct move *m = &t->moves[i];
        buf_addf(out, "  %-18s %.2fx  %s: %s", m->name, m->gain, m->title, m->why);
        for (size_t k = 0; k < m->nrequires; k++) {
            buf_addf(out, "%s%s", k ? ", " : " [needs ", t->moves[m->requires[k]].name);
        }
        buf_adds(out, m->nrequires ? "]\n" : "\n");
    }
    for (size_t i = 0; i < t->ntunables; i++) {
        const struct tunable *u = &t->tunables[i];
        buf_addf(out, "  %-18s", u->name);
        for (size_t k = 0; k < u->nvalues; k++) {
            buf_addf(out, "%s%lld", k ? "|" : "", (long long)u->values[k]);
        }
        buf_addf(out, " (%lld): %s\n", (long long)u->fallback, u->why ? u->why : "");
    }
}

static void put_task(const struct task *t, struct buf *out)
{
    buf_addf(out, "%s: %s\n%s\nfolder     %s\nidentity   %s\n\nA kernel includes \"%s.h\":\n\n",
             t->name, t->title, t->summary ? t->summary : "", t->dir, t->hash.hex, t->name);
    task_header(t, out);
    buf_adds(out, "\nHeaders it may include:");
    for (size_t i = 0; i < t->c.nheaders; i++) {
        buf_addf(out, " %s", t->c.headers[i]);
    }
    buf_adds(out, "\n\nShapes:\n");
    put_shapes(t, out);
    buf_adds(out, "\nInput families:\n");
    const cJSON *f;
    cJSON_ArrayForEach(f, t->families)
    {
        buf_addf(out, "  %-18s %s\n", json_str(f, "name", "?"), json_str(f, "class", "?"));
    }
    buf_adds(out, "\nLimits (error = RMS of the difference over RMS of the float64 reference):\n");
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        if (p->kind == PARAM_OUTPUT) {
            buf_addf(out, "  %-8s %g, and 1.5 times the baseline's own error up to %g\n", p->name,
                     p->soft, p->hard);
        }
    }
    buf_addf(out, "A record is better by %.2g %% at the lower end of its interval.\n",
             t->margin * 100);
    if (t->nmoves) {
        buf_adds(out, "\nMoves and tunables of the tuner, with what they predict:\n");
        put_moves(t, out);
    }
}

static enum exit_code task_show(const char *name, bool json)
{
    struct error e = {0};
    struct task *t = task_load(name, &e);
    if (!t) {
        return cmd_fail(&e);
    }
    struct buf raw = {0}, out = {0};
    if (json) {
        print_json(cJSON_ParseWithLength(buf_str(&t->text), t->text.len));
    } else {
        put_task(t, &raw);
        text_sanitise(&out, buf_str(&raw), raw.len, 8);
    }
    buf_free(&raw);
    task_free(t);
    cmd_print(&out);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    const char *verb = args_pos(a, 0), *name = args_pos(a, 1);
    bool is_ls = strcmp(verb, "ls") == 0;
    bool is_show = strcmp(verb, "show") == 0, is_check = strcmp(verb, "check") == 0;
    bool is_new = strcmp(verb, "new") == 0;
    if (!is_ls && !is_show && !is_check && !is_new) {
        const char *near = nearest_name(verb, verbs, 4);
        error_set(&e, ERR_INPUT, "task: expected ls, show, check or new, not \"%.40s\"%s%s", verb,
                  near ? "; nearest is " : "", near ? near : "");
        return cmd_fail(&e);
    }
    if (!is_ls && !name) {
        error_set(&e, ERR_INPUT, "task %s: expected the TASK's name%s", verb,
                  is_new ? ", such as: task new saxpy --c saxpy.c --entry saxpy"
                         : " (warploop task ls lists them)");
        return cmd_fail(&e);
    }
    if (is_new) {
        return task_new(a, name);
    }
    if (is_ls) {
        return task_ls(args_flag(a, "json"));
    }
    return is_show ? task_show(name, args_flag(a, "json")) : task_check(a, name);
}

static const struct option_desc options[] = {
    JSON_OPTION("ls: an array; show: the task.json; check and new: an object"),
    {.name = "c", .kind = OPTION_TEXT, .value = "FILE", .help = "new: the C source (needed)"},
    {.name = "entry",
     .kind = OPTION_TEXT,
     .value = "F",
     .help = "new: the function in it (default: NAME)"},
    {.name = "spec",
     .kind = OPTION_TEXT,
     .value = "FILE",
     .help = "new: the spec (default: NAME.spec beside the C source)"},
    {.name = "reference",
     .kind = OPTION_TEXT,
     .value = "FILE",
     .help = "new: the definition in float64 (default: made from the function)"},
    {.name = "spec-only", .kind = OPTION_FLAG, .help = "new: write the spec and stop"},
    {.name = "force", .kind = OPTION_FLAG, .help = "new: replace a task of this name"},
    {.name = "combinations",
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 0,
     .hi = 10000,
     .help = "check: how many combinations of the moves (default 24)"},
    {.name = "seed",
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 1,
     .hi = 9e15,
     .help = "check: seed of the inputs (default 1)"},
    {.name = "jail",
     .kind = OPTION_CHOICE,
     .value = "J",
     .choices = "auto|none",
     .help = "check, new: none compiles and runs without isolation"},
    {0},
};

const struct cmd cmd_task = {
    .name = "task",
    .usage = "ls|show|check|new [TASK]",
    .summary = "list, show, prove and make tasks",
    .options = options,
    .details =
        "check builds the baseline, the start, combinations of the moves (all must pass), and\n"
        "kernels that write zeros, constants or nothing, drop the history or leave an output\n"
        "out (all must be refused). Exit code 1 when one of them is not as it should be.\n"
        "\n"
        "new makes a task of a C function of your own: void F(...) with sizes (int, long, size_t\n"
        "...), float and double scalars, const float * (inputs) and float * (outputs). It writes\n"
        "what it assumes (sizes, extents, values, limits) into a spec of about ten lines; where\n"
        "something cannot be told from the source it stops there with exit code 1. Else, and when\n"
        "the spec is there already, it makes the task: baseline and start are the function, the\n"
        "reference is the same in float64, sizes are measured, the check is proven.\n"
        "Tasks of your own live in $WARPLOOP_HOME/kernels and are found by name before those that\n"
        "come with warploop ($WARPLOOP_KERNELS).",
    .run = run,
};
