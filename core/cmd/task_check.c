/* warploop task check: the proof that a task's check can be trusted. */
#include <math.h>
#include <stdio.h>

#include "core/cmd/json_out.h"
#include "core/cmd/task_verbs.h"
#include "core/cmd/view.h"
#include "core/task/task.h"

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

void task_put_proof(void *ctx, const struct proof_result *r)
{
    struct task_tally *n = ctx;
    struct buf b = {0};
    n->right += r->holds;
    n->wrong += !r->holds;
    if (n->cases) {
        cJSON_AddItemToArray(n->cases, json_proof(r));
    }
    if (n->silent || n->cases || (n->quiet && r->holds)) {
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

enum exit_code task_check(const struct args *a, const char *name)
{
    struct error e = {0};
    struct task *t = task_load(name, &e);
    if (!t) {
        return cmd_fail(&e);
    }
    bool json = args_flag(a, "json");
    struct task_tally n = {.cases = json ? cJSON_CreateArray() : NULL};
    bool held = false;
    struct proof_opts o = {
        .jail = args_text(a, "jail", "auto"),
        .combinations = (size_t)args_whole(a, "combinations", 24),
        .seed = (uint64_t)args_whole(a, "seed", 1),
    };
    bool ok = proof_run(t, &o, task_put_proof, &n, &held, &e);
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
