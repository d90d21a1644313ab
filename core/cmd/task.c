/* warploop task: list the tasks, show one, prove that its check can be trusted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"
#include "core/loop/proof.h"
#include "core/task/task.h"

static const char *const verbs[] = {"ls", "show", "check"};

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

/* ---- check ------------------------------------------------------------------------------------
 */

struct tally {
    size_t right, wrong;
    cJSON *cases; /* NULL: each is a line */
};

static const char *const kinds[] = {"honest", "combination", "cheat"};

static cJSON *json_proof(const struct proof_result *r)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "kind", kinds[r->c->kind]);
    out_text(o, "name", r->c->name);
    cJSON_AddBoolToObject(o, "holds", r->holds);
    out_text(o, "verdict", verdict_name(r->verdict));
    out_text(o, "family", r->family);
    out_text(o, "shape", r->shape);
    out_text(o, "tensor", r->tensor);
    out_num(o, "error", r->error);
    out_num(o, "limit", r->limit);
    out_text(o, "message", r->message);
    out_i64(o, "time_ns", r->ns);
    return o;
}

static void put_proof(void *ctx, const struct proof_result *r)
{
    struct tally *n = ctx;
    struct buf b = {0};
    n->right += r->holds;
    n->wrong += !r->holds;
    if (n->cases) {
        cJSON_AddItemToArray(n->cases, json_proof(r));
        return;
    }
    buf_addf(&b, "%s  %-12s", r->holds ? "ok    " : "FAILED", kinds[r->c->kind]);
    put_line(&b, r->c->name, 60);
    put_pad(&b, 64);
    buf_addf(&b, "%s", verdict_name(r->verdict));
    if (*r->family) {
        buf_adds(&b, " in ");
        put_line(&b, r->family, 30);
        buf_adds(&b, ", ");
        put_line(&b, r->shape, 30);
        buf_adds(&b, *r->tensor ? ", " : "");
        put_line(&b, r->tensor, 20);
        if (!isnan(r->error)) {
            buf_addf(&b, ": error %.2g, limit %.2g", r->error, r->limit);
        }
    }
    if (!r->holds && *r->message) {
        buf_adds(&b, ": ");
        put_line(&b, r->message, 300);
    }
    buf_addc(&b, '\n');
    cmd_print(&b);
    fflush(stdout);
}

static enum exit_code task_check(const struct args *a, const char *name)
{
    struct error e = {0};
    struct task *t = task_load(name, &e);
    if (!t) {
        return cmd_fail(&e);
    }
    bool json = args_flag(a, "json");
    struct tally n = {.cases = json ? cJSON_CreateArray() : NULL};
    bool held = false;
    struct proof_opts o = {
        .jail = args_text(a, "jail", "auto"),
        .combinations = (size_t)args_whole(a, "combinations", 24),
        .seed = (uint64_t)args_whole(a, "seed", 1),
    };
    bool ok = proof_run(t, &o, put_proof, &n, &held, &e);
    task_free(t);
    if (!ok) {
        cJSON_Delete(n.cases);
        return cmd_fail(&e);
    }
    if (json) {
        cJSON *proof = cJSON_CreateObject();
        out_text(proof, "task", name);
        cJSON_AddBoolToObject(proof, "holds", held);
        cJSON_AddItemToObject(proof, "cases", n.cases);
        print_json(proof);
        return held ? EXIT_DONE : EXIT_NOT_SO;
    }
    struct buf b = {0};
    buf_addf(&b, "%s: honest kernels pass and cheats fail: %zu as they should, %zu not\n", name,
             n.right, n.wrong);
    cmd_print(&b);
    return held ? EXIT_DONE : EXIT_NOT_SO;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    const char *verb = args_pos(a, 0), *name = args_pos(a, 1);
    bool is_ls = strcmp(verb, "ls") == 0;
    bool is_show = strcmp(verb, "show") == 0, is_check = strcmp(verb, "check") == 0;
    if (!is_ls && !is_show && !is_check) {
        const char *near = nearest_name(verb, verbs, 3);
        error_set(&e, ERR_INPUT, "task: expected ls, show or check, not \"%.40s\"%s%s", verb,
                  near ? "; nearest is " : "", near ? near : "");
        return cmd_fail(&e);
    }
    if (!is_ls && !name) {
        error_set(&e, ERR_INPUT, "task %s: expected the TASK's name (warploop task ls lists them)",
                  verb);
        return cmd_fail(&e);
    }
    if (is_ls) {
        return task_ls(args_flag(a, "json"));
    }
    return is_show ? task_show(name, args_flag(a, "json")) : task_check(a, name);
}

static const struct option_desc options[] = {
    JSON_OPTION("ls: an array; show: the task.json; check: an object with every case"),
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
     .help = "check: none compiles and runs without isolation"},
    {0},
};

const struct cmd cmd_task = {
    .name = "task",
    .usage = "ls|show|check [TASK]",
    .summary = "list the tasks, show one, or prove its check",
    .options = options,
    .details =
        "check builds the baseline, the start, combinations of the moves (all must pass), and\n"
        "kernels that write zeros, constants or nothing, drop the history or leave an output\n"
        "out (all must be refused). Exit code 1 when one of them is not as it should be.",
    .run = run,
};
