/* warploop submit: hand kernels of one's own to a run. */
#include "core/cmd/submit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/cmd/ask.h"
#include "core/cmd/batch.h"
#include "core/cmd/json_out.h"
#include "core/cmd/plain.h"

#define SOURCE_MAX (1u << 20)

bool kernel_read(const char *file, struct buf *out, struct error *e)
{
    if (!fs_read(file, SOURCE_MAX, out, e)) {
        return false;
    }
    const char *nul = memchr(buf_str(out), 0, out->len);
    if (out->len && !nul) {
        return true;
    }
    if (nul) {
        error_set(e, ERR_INPUT, "%.300s has a NUL byte at offset %zu: expected a kernel's source",
                  file, (size_t)(nul - out->s));
    } else {
        error_set(e, ERR_INPUT, "%.300s is empty: expected a kernel's source", file);
    }
    buf_free(out);
    return false;
}

bool submission_read(struct submission *s, const char *file, const char *why, const char *strategy,
                     int64_t parent, struct error *e)
{
    *s = (struct submission){.file = xstrdup(file),
                             .why = xstrdup(why),
                             .strategy = xstrdup(strategy),
                             .parent = parent,
                             .version = -1};
    if (!kernel_read(file, &s->source, e)) {
        return false;
    }
    s->hash = hash_bytes(s->source.s, s->source.len);
    char *request = submission_request(s);
    size_t n = strlen(request);
    free(request);
    return n <= ASK_TEXT_MAX ||
           error_set(e, ERR_INPUT, "%.300s: the request has %zu bytes, at most %u are taken", file,
                     n, ASK_TEXT_MAX);
}

void submission_free(struct submission *s)
{
    free(s->file);
    free(s->why);
    free(s->strategy);
    buf_free(&s->source);
}

char *submission_request(const struct submission *s)
{
    const char *slash = strrchr(s->file, '/');
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "file", slash ? slash + 1 : s->file);
    cJSON_AddStringToObject(o, "source", buf_str(&s->source));
    cJSON_AddStringToObject(o, "why", s->why);
    cJSON_AddStringToObject(o, "strategy", s->strategy);
    if (s->parent >= 0) {
        json_put_i64(o, "parent", s->parent);
    }
    char *text = json_text(o);
    cJSON_Delete(o);
    return text;
}

int64_t submission_find(const struct run_state *st, const struct submission *s)
{
    for (size_t i = st->nversions; i-- > 0 && st->versions[i].id > s->after;) {
        if (strcmp(st->versions[i].source.hex, s->hash.hex) == 0) {
            return st->versions[i].id;
        }
    }
    return -1;
}

/* How many have no verdict yet. */
static size_t count_open(const struct run_state *st, struct submission *list, size_t n)
{
    size_t open = 0;
    for (size_t i = 0; i < n; i++) {
        list[i].version = submission_find(st, &list[i]);
        const struct version *v = state_version(st, list[i].version);
        open += !v || v->verdict == VERDICT_NONE;
    }
    return open;
}

bool submissions_wait(struct run_view *v, struct submission *list, size_t n, double seconds,
                      struct error *e)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * 1e9);
    bool said = false;
    for (;;) {
        if (!run_view_poll(v, e)) {
            return false;
        }
        size_t open = count_open(v->s, list, n);
        if (!open) {
            return true;
        }
        if (!v->pid) {
            return error_set(e, ERR_CHILD,
                             "%s: nobody drives this run any more; the submission is kept: "
                             "warploop resume %s",
                             v->name, v->name);
        }
        if (clock_mono_ns() >= end && n > 1) {
            return error_set(e, ERR_BUSY,
                             "%zu of %zu have no verdict after %.3g s; they will stand in "
                             "warploop show %s",
                             open, n, seconds, v->name);
        }
        if (clock_mono_ns() >= end) {
            return error_set(e, ERR_BUSY,
                             "no verdict after %.3g s; it will stand in warploop show %s", seconds,
                             v->name);
        }
        if (v->status == RUN_PAUSED && !said) {
            struct buf b = {0};
            put_paused(v, &b);
            fputs(buf_str(&b), stderr);
            buf_free(&b);
            said = true;
        }
        struct pollfd fd = {.fd = reader_fd(v->r), .events = POLLIN};
        int64_t left = (end - clock_mono_ns()) / 1000000 + 1;
        poll(&fd, 1, left < 0 ? 0 : left > 500 ? 500 : (int)left);
    }
}

enum exit_code submissions_exit(const struct run_state *st, const struct submission *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct version *v = state_version(st, list[i].version);
        if (!v || v->verdict != VERDICT_OK) {
            return EXIT_NOT_SO;
        }
    }
    return EXIT_DONE;
}

cJSON *submission_json(struct run_view *v, const struct submission *s)
{
    static const char *const names[] = {[SUBMISSION_NEW] = "submitted",
                                        [SUBMISSION_PENDING] = "pending",
                                        [SUBMISSION_KNOWN] = "known",
                                        [SUBMISSION_TWIN] = "duplicate"};
    const struct version none = {.id = -1, .speedup = NO_REAL, .lo = NO_REAL, .hi = NO_REAL};
    const struct version *ver = state_version(v->s, s->version);
    const struct version *shown = ver ? ver : &none;
    cJSON *o = cJSON_CreateObject();
    out_text(o, "run", v->name);
    out_text(o, "file", s->file);
    out_text(o, "source", s->hash.hex);
    out_text(o, "why", s->why);
    out_text(o, "strategy", s->strategy);
    out_text(o, "status", names[s->status]);
    out_id(o, "version", shown->id);
    out_text(o, "verdict", shown->verdict ? verdict_name(shown->verdict) : NULL);
    cJSON_AddBoolToObject(o, "record", shown->record);
    out_num(o, "speedup", shown->speedup);
    out_num(o, "lo", shown->lo);
    out_num(o, "hi", shown->hi);
    out_message(o, v, ver);
    return o;
}

/* ---- one kernel ----------------------------------------------------------------------------- */

static enum exit_code wait_one(struct run_view *v, struct submission *s, double seconds, bool json)
{
    struct error e = {0};
    bool ok = submissions_wait(v, s, 1, seconds, &e);
    if (json) {
        print_json(submission_json(v, s));
    } else if (ok) {
        struct buf b = {0};
        plain_try(v->r, state_version(v->s, s->version), &b);
        cmd_print(&b);
    }
    return ok ? submissions_exit(v->s, s, 1) : cmd_fail(&e);
}

static bool submit(const struct args *a, struct run_view *v, struct submission *s, struct error *e)
{
    int64_t parent = -1;
    const char *text = args_text(a, "parent", NULL);
    bool json = args_flag(a, "json"), wait = args_flag(a, "wait");
    bool ok = !text || version_parse(v->s, text, &parent, e);
    ok = ok && submission_read(s, args_pos(a, 1), args_text(a, "why", ""),
                               args_text(a, "strategy", ""), parent, e);
    s->after = (int64_t)v->s->nversions - 1;
    char *request = ok ? submission_request(s) : NULL;
    enum ask_form form = !json ? ASK_TEXT : wait ? ASK_SILENT : ASK_JSON;
    ok = ok && ask_put(v, "submit", request, "submit", form, e);
    free(request);
    return ok;
}

/* What is given together, before anything is looked up. */
static bool check_args(const struct args *a, struct error *e)
{
    bool batch = args_text(a, "batch", NULL);
    bool said = args_text(a, "why", NULL) && args_text(a, "strategy", NULL);
    if (batch && (args_pos(a, 1) || args_text(a, "why", NULL) || args_text(a, "strategy", NULL) ||
                  args_text(a, "parent", NULL))) {
        return error_set(e, ERR_INPUT,
                         "submit: with --batch, kernels lie in its folder, and why, strategy and "
                         "parent in a file beside each (see warploop submit --help)");
    }
    if (!batch && !args_pos(a, 1)) {
        return error_set(e, ERR_INPUT,
                         "submit: FILE is missing; usage: warploop submit RUN FILE --why TEXT "
                         "--strategy NAME, or warploop submit RUN --batch DIR");
    }
    return batch || said ||
           error_set(e, ERR_INPUT,
                     "submit: expected --why TEXT (what should get better, and how much) and "
                     "--strategy NAME (the ledger's key)");
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!check_args(a, &e) || !run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    if (args_text(a, "batch", NULL)) {
        rc = batch_submit(a, &v, args_text(a, "batch", NULL));
    } else {
        struct submission s = {.version = -1};
        if (!submit(a, &v, &s, &e)) {
            rc = cmd_fail(&e);
        } else if (args_flag(a, "wait")) {
            fflush(stdout);
            rc = wait_one(&v, &s, args_real(a, "timeout", 600), args_flag(a, "json"));
        }
        submission_free(&s);
    }
    run_view_close(&v);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "why",
     .letter = 'w',
     .kind = OPTION_TEXT,
     .value = "TEXT",
     .help = "the hypothesis: what should get better (needed)"},
    {.name = "strategy",
     .letter = 's',
     .kind = OPTION_TEXT,
     .value = "NAME",
     .help = "a short name of the idea, the ledger's key (needed)"},
    {.name = "parent",
     .kind = OPTION_TEXT,
     .value = "V",
     .help = "the version it was made from (default: the best)"},
    {.name = "batch",
     .letter = 'b',
     .kind = OPTION_TEXT,
     .value = "DIR",
     .help = "every kernel of a folder, instead of FILE"},
    {.name = "wait", .kind = OPTION_FLAG, .help = "wait for the verdicts and print them"},
    {.name = "timeout",
     .kind = OPTION_REAL,
     .value = "S",
     .lo = 0.1,
     .hi = 1e6,
     .help = "with --wait: at most so many seconds a kernel (default 600)"},
    JSON_OPTION("an object; with --batch an array of objects"),
    {0},
};

const struct cmd cmd_submit = {
    .name = "submit",
    .usage = "RUN [FILE]",
    .summary = "hand kernels to a run to be judged like any other",
    .options = options,
    .details =
        "The run's engine has to be at work (run TASK --agent outside waits for submissions\n"
        "only). With --wait the exit code is 0 when every verdict is \"ok\" and 1 otherwise.\n"
        "\n"
        "--batch DIR hands over every NAME.c of the folder in the order of names. Beside each\n"
        "lies NAME.json, which says what --why, --strategy and --parent say (parent may be\n"
        "left out). A whole one:\n"
        "\n"
        "  {\"why\": \"rows in blocks of 4: each load of k serves 4 rows, 1.3x\",\n"
        "   \"strategy\": \"row-blocking\", \"parent\": \"v7\"}\n"
        "\n"
        "When one of the files is bad nothing is submitted, and every fault is named. A kernel\n"
        "that the run already has, byte for byte, is reported and not submitted again: after\n"
        "whatever cut a batch short, the same command hands over the rest.",
    .run = run,
};
