/* warploop bench: kernels judged and timed outside any run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/cmd/cmd.h"
#include "core/cmd/evidence.h"
#include "core/cmd/front.h"
#include "core/cmd/json_out.h"
#include "core/cmd/submit.h"
#include "core/cmd/view.h"
#include "core/loop/trial.h"

#define PROGRESS_COLS 78
#define PROGRESS_NS   100000000 /* no more often than this */

struct kernel {
    const char *file; /* borrowed */
    struct buf source;
    struct trial trial;
};

/* ---- progress: one line on a terminal, rewritten -------------------------------------------- */

struct meter {
    bool on, dirty;
    const char *file;
    char stage[32];
    int64_t last;
};

static bool meter_fits(void)
{
    const char *term = getenv("TERM"), *plain = getenv("WARPLOOP_PLAIN");
    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0 &&
           !(plain && *plain && strcmp(plain, "0") != 0);
}

static void meter_clear(struct meter *m)
{
    if (m->dirty) {
        fputs("\r\033[K", stderr);
    }
    m->dirty = false;
}

static void meter_show(void *ctx, const char *stage, int64_t done, int64_t of, const char *text)
{
    struct meter *m = ctx;
    int64_t now = clock_mono_ns();
    bool same = strncmp(m->stage, stage, sizeof m->stage - 1) == 0;
    if (!m->on || (same && now - m->last < PROGRESS_NS)) {
        return;
    }
    snprintf(m->stage, sizeof m->stage, "%s", stage);
    m->last = now;
    struct buf raw = {0}, line = {0};
    buf_addf(&raw, "%s%s%.60s", m->file, *m->file ? ": " : "", stage);
    if (of > 0) {
        buf_addf(&raw, ", %lld of %lld", (long long)done, (long long)of);
    }
    buf_addf(&raw, "%s%.200s", *text ? ": " : "", text);
    put_line(&line, buf_str(&raw), PROGRESS_COLS);
    fprintf(stderr, "\r%s\033[K", buf_str(&line));
    m->dirty = true;
    buf_free(&raw);
    buf_free(&line);
}

/* ---- what is said ---------------------------------------------------------------------------- */

static double number(const struct kernel *k, const char *key)
{
    return json_num(k->trial.result, key, NO_REAL);
}

/* "tensor y in family long-memory on shape n100: error 0.3, limit 1e-05; got 1, expected 2" */
static void put_where(const struct kernel *k, struct buf *out)
{
    static const char *const keys[] = {"tensor", "family", "shape"};
    static const char *const words[] = {"tensor ", "in family ", "on shape "};
    struct buf raw = {0};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *name = json_str(k->trial.result, keys[i], "");
        buf_addf(&raw, "%s%s%.80s", *name && raw.len ? " " : "", *name ? words[i] : "", name);
    }
    if (!isnan(number(k, "error"))) {
        buf_addf(&raw, ": error %.3g, limit %.3g", number(k, "error"), number(k, "limit"));
    }
    if (!isnan(number(k, "want"))) {
        buf_addf(&raw, "; got %.6g, expected %.6g", number(k, "got"), number(k, "want"));
    }
    if (raw.len) {
        buf_adds(out, "  ");
        put_line(out, buf_str(&raw), 300);
        buf_addc(out, '\n');
    }
    buf_free(&raw);
}

static void put_verdict(const struct kernel *k, struct buf *out)
{
    buf_adds(out, verdict_name(k->trial.verdict));
    if (!isnan(number(k, "speedup"))) {
        buf_adds(out, ", ");
        put_speedup(out, number(k, "speedup"), number(k, "lo"), number(k, "hi"));
        buf_adds(out, " of the baseline");
    }
}

static void put_kernel(const struct kernel *k, struct buf *out)
{
    const struct trial *t = &k->trial;
    struct evidence ev = {.result = {.root = t->result}, .build = {.root = t->build}};
    put_line(out, k->file, 200);
    if (t->line) {
        buf_addf(out, ":%d", t->line);
    }
    buf_adds(out, ": ");
    put_verdict(k, out);
    buf_addc(out, '\n');
    if (*t->message) {
        text_block(t->message, out);
    }
    put_where(k, out);
    evidence_shapes(&ev, out);
    evidence_counters(&ev, out);
    evidence_machine(&ev, out);
    evidence_build(&ev, out);
    buf_addc(out, '\n');
}

/* The fastest first; what was not timed comes last, in the order given. */
static int by_speedup(const void *a, const void *b)
{
    const struct kernel *x = *(struct kernel *const *)a, *y = *(struct kernel *const *)b;
    double sx = number(x, "speedup"), sy = number(y, "speedup");
    if (isnan(sx) || isnan(sy)) {
        return isnan(sx) != isnan(sy) ? (isnan(sx) ? 1 : -1) : (x > y) - (x < y);
    }
    return sx != sy ? (sx < sy ? 1 : -1) : (x > y) - (x < y);
}

static void put_table(struct kernel *k, size_t n, struct buf *out)
{
    struct kernel **order = xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) {
        order[i] = &k[i];
    }
    qsort(order, n, sizeof(struct kernel *), by_speedup);
    buf_adds(out, "speedup              verdict      kernel\n");
    for (size_t i = 0; i < n; i++) {
        put_speedup(out, number(order[i], "speedup"), number(order[i], "lo"),
                    number(order[i], "hi"));
        put_pad(out, 21);
        buf_adds(out, verdict_name(order[i]->trial.verdict));
        put_pad(out, 34);
        put_line(out, order[i]->file, 200);
        buf_addc(out, '\n');
    }
    free(order);
}

static cJSON *kernel_json(const struct kernel *k)
{
    static const char *const numbers[] = {"speedup", "lo", "hi", "error", "limit"};
    static const char *const texts[] = {"family", "shape", "tensor"};
    cJSON *o = cJSON_CreateObject();
    struct hash source = hash_bytes(buf_str(&k->source), k->source.len);
    out_text(o, "file", k->file);
    out_text(o, "source", source.hex);
    out_text(o, "verdict", verdict_name(k->trial.verdict));
    out_text(o, "message", k->trial.message);
    out_id(o, "line", k->trial.line ? k->trial.line : -1);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        out_num(o, numbers[i], number(k, numbers[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        out_text(o, texts[i], json_str(k->trial.result, texts[i], NULL));
    }
    out_i64(o, "time_ns", k->trial.ns);
    cJSON_AddItemToObject(o, "result", json_reply(k->trial.result));
    cJSON_AddItemToObject(o, "build", json_reply(k->trial.build));
    return o;
}

static void print_all(const struct task *t, bool screen, const struct kernel *k, size_t n)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "task", t->name);
    out_text(o, "task_hash", t->hash.hex);
    out_text(o, "mode", screen ? "screen" : "full");
    out_text(o, "warploop", WARPLOOP_VERSION);
    out_i64(o, "measured_ns", clock_wall_ns());
    cJSON *list = cJSON_AddArrayToObject(o, "kernels");
    for (size_t i = 0; i < n; i++) {
        cJSON_AddItemToArray(list, kernel_json(&k[i]));
    }
    print_json(o);
}

/* ---- what is done ---------------------------------------------------------------------------- */

static bool judge_all(const struct task *t, const struct trial_opts *o, struct meter *m, bool json,
                      struct kernel *k, size_t n, struct error *e)
{
    struct trials *s = trials_new(t, o, e);
    bool ok = s != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        struct buf b = {0};
        m->file = k[i].file;
        ok = trials_run(s, buf_str(&k[i].source), k[i].source.len, &k[i].trial, e);
        meter_clear(m);
        if (ok && !json) {
            put_kernel(&k[i], &b);
            cmd_print(&b);
            fflush(stdout);
        }
    }
    meter_clear(m);
    trials_free(s);
    return ok;
}

static enum exit_code verdict_exit(const struct kernel *k, size_t n)
{
    enum exit_code rc = EXIT_DONE;
    for (size_t i = 0; i < n; i++) {
        if (k[i].trial.verdict == VERDICT_INFRA) {
            return EXIT_BROKEN;
        }
        if (k[i].trial.verdict != VERDICT_OK) {
            rc = EXIT_NOT_SO;
        }
    }
    return rc;
}

static enum exit_code bench(const struct args *a, const struct task *t, struct kernel *k, size_t n)
{
    struct error e = {0};
    struct meter m = {.on = meter_fits(), .file = ""};
    struct trial_opts o = {.jail = args_text(a, "jail", "auto"),
                           .screen = args_flag(a, "screen"),
                           .stop_fd = signals_take(),
                           .progress = meter_show,
                           .ctx = &m};
    bool json = args_flag(a, "json");
    bool ok = judge_all(t, &o, &m, json, k, n, &e);
    close(o.stop_fd);
    if (!ok) {
        return cmd_fail(&e);
    }
    struct buf b = {0};
    if (json) {
        print_all(t, o.screen, k, n);
    } else if (n > 1) {
        put_table(k, n, &b);
    }
    cmd_print(&b);
    return verdict_exit(k, n);
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct task *t = task_load(args_pos(a, 0), &e);
    size_t n = (size_t)a->npos - 1;
    struct kernel *k = xcalloc(n, sizeof *k);
    bool ok = t != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        k[i].file = args_pos(a, (int)i + 1);
        ok = kernel_read(k[i].file, &k[i].source, &e);
    }
    enum exit_code rc = ok ? bench(a, t, k, n) : cmd_fail(&e);
    for (size_t i = 0; i < n; i++) {
        buf_free(&k[i].source);
        trial_free(&k[i].trial);
    }
    free(k);
    task_free(t);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "screen",
     .kind = OPTION_FLAG,
     .help = "quick: few process sets, cut short when clearly slower"},
    {.name = "jail",
     .kind = OPTION_CHOICE,
     .value = "J",
     .choices = "auto|none",
     .help = "none: no isolation, where this machine has none"},
    JSON_OPTION("one object: every kernel with all its evidence"),
    {0},
};

const struct cmd cmd_bench = {
    .name = "bench",
    .usage = "TASK FILE...",
    .summary = "judge and time kernels outside any run",
    .options = options,
    .details =
        "Each FILE is built in the jail, checked on every input family and timed against the\n"
        "task's baseline in pairs, as in a run; nothing is kept. Several end with a table, the\n"
        "fastest first. A speedup of --screen has a wide interval: it is for sorting out.\n"
        "Exit code 1 when a kernel's verdict is not \"ok\" (it is wrong, does not build, breaks a\n"
        "rule, was screened ...), 3 when one is \"infra\" (the machine's fault, tried twice).",
    .run = run,
};
