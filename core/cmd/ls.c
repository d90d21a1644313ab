/* warploop ls: every run with its state. */
#include "core/cmd/ls.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"
#include "core/log/runs.h"

static void put_row(const struct run_view *v, struct buf *out)
{
    put_line(out, v->name, 24);
    put_pad(out, 14);
    run_status_text(v, out);
    put_pad(out, 40);
    put_speedup(out, v->s->best, v->s->best_lo, v->s->best_hi);
    put_pad(out, 62);
    buf_addf(out, "%lld", (long long)v->s->ncalls_done);
    put_pad(out, 70);
    put_age(out, clock_wall_ns() - v->s->created);
    put_pad(out, 80);
    put_bytes(out, v->size);
    if (v->s->parent_run) {
        buf_adds(out, "  fork of ");
        put_line(out, v->s->parent_run, 24);
        buf_addf(out, "@v%lld", (long long)v->s->forked_from);
    }
    buf_addc(out, '\n');
}

/* A run that cannot be read must not hide the others. */
static void put_unreadable(const char *path, const struct error *why, struct buf *out)
{
    char *name = runs_name(path);
    put_line(out, name, 24);
    put_pad(out, 14);
    buf_adds(out, "unreadable: ");
    put_line(out, why->msg, 200);
    buf_addc(out, '\n');
    free(name);
}

bool ls_table(struct buf *out, size_t limit, struct ls_counts *counts, struct error *e)
{
    char **paths = NULL;
    size_t n = 0;
    *counts = (struct ls_counts){0};
    if (!runs_list(&paths, &n, e)) {
        return false;
    }
    counts->runs = n;
    if (n) {
        buf_adds(out, "run           state                     best                  calls   age"
                      "       size\n");
    }
    for (size_t i = 0; i < n; i++) {
        struct run_view v;
        struct error why = {0};
        bool shown = limit == 0 || i < limit;
        if (run_view_path(paths[i], &v, &why)) {
            counts->running += v.status == RUN_RUNNING || v.status == RUN_PAUSED;
            if (shown) {
                put_row(&v, out);
            }
            run_view_close(&v);
        } else {
            counts->unreadable++;
            if (shown) {
                put_unreadable(paths[i], &why, out);
            }
        }
    }
    if (limit && n > limit) {
        buf_addf(out, "... and %zu more: warploop ls\n", n - limit);
    }
    runs_list_free(paths, n);
    return true;
}

static enum exit_code ls_json(void)
{
    struct error e = {0};
    char **paths = NULL;
    size_t n = 0;
    if (!runs_list(&paths, &n, &e)) {
        return cmd_fail(&e);
    }
    cJSON *rows = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        struct run_view v;
        struct error why = {0};
        if (run_view_path(paths[i], &v, &why)) {
            cJSON_AddItemToArray(rows, json_run(&v));
            run_view_close(&v);
        } else {
            cJSON *o = cJSON_CreateObject();
            char *name = runs_name(paths[i]);
            out_text(o, "run", name);
            out_text(o, "path", paths[i]);
            out_text(o, "state", "unreadable");
            out_text(o, "error", why.msg);
            cJSON_AddItemToArray(rows, o);
            free(name);
        }
    }
    runs_list_free(paths, n);
    print_json(rows);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    if (args_flag(a, "json")) {
        return ls_json();
    }
    struct error e = {0};
    struct buf b = {0};
    struct ls_counts counts;
    if (!ls_table(&b, 0, &counts, &e)) {
        buf_free(&b);
        return cmd_fail(&e);
    }
    if (counts.runs == 0) {
        buf_adds(&b,
                 "no runs yet: warploop run TASK makes one, warploop task ls lists the tasks\n");
    } else {
        buf_addf(&b, "%zu run%s, %zu driven now\n", counts.runs, counts.runs == 1 ? "" : "s",
                 counts.running);
    }
    cmd_print(&b);
    return EXIT_DONE;
}

static const struct option_desc options[] = {
    JSON_OPTION("an array, one object a run"),
    {0},
};

const struct cmd cmd_ls = {
    .name = "ls",
    .usage = "",
    .summary = "the runs: state, best speedup, calls, age, size",
    .options = options,
    .details =
        "States: running and paused (an engine drives it: its pid is shown), stopped (in order),\n"
        "crashed (its engine died), ended (with the reason), new. \"warploop resume RUN\" goes on\n"
        "with each of them.",
    .run = run,
};
