/* warploop submit: hand a kernel of one's own to a run. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/cmd/ask.h"
#include "core/cmd/plain.h"
#include "core/cmd/submit.h"

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

bool submit_request(const char *file, const char *why, const char *strategy, char **out,
                    struct error *e)
{
    struct buf source = {0};
    if (!kernel_read(file, &source, e)) {
        return false;
    }
    const char *slash = strrchr(file, '/');
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "file", slash ? slash + 1 : file);
    cJSON_AddStringToObject(o, "source", buf_str(&source));
    cJSON_AddStringToObject(o, "why", why);
    cJSON_AddStringToObject(o, "strategy", strategy);
    *out = json_text(o);
    cJSON_Delete(o);
    buf_free(&source);
    return true;
}

/* The newest version above `after` that carries this source, or -1. */
static int64_t find_version(const struct run_state *s, int64_t after, const struct hash *source)
{
    for (size_t i = s->nversions; i-- > 0 && s->versions[i].id > after;) {
        if (strcmp(s->versions[i].source.hex, source->hex) == 0) {
            return s->versions[i].id;
        }
    }
    return -1;
}

/* Wait until the version that this source becomes has its verdict. */
static enum exit_code wait_verdict(struct run_view *v, int64_t after, const struct hash *source,
                                   double seconds)
{
    int64_t end = clock_mono_ns() + (int64_t)(seconds * 1e9);
    struct error e = {0};
    bool said = false;
    while (clock_mono_ns() < end) {
        if (!run_view_poll(v, &e)) {
            return cmd_fail(&e);
        }
        int64_t id = find_version(v->s, after, source);
        const struct version *ver = id < 0 ? NULL : state_version(v->s, id);
        if (ver && ver->verdict != VERDICT_NONE) {
            struct buf b = {0};
            plain_try(v->r, ver, &b);
            cmd_print(&b);
            return ver->verdict == VERDICT_OK ? EXIT_DONE : EXIT_NOT_SO;
        }
        if (!v->pid) {
            error_set(&e, ERR_CHILD,
                      "%s: nobody drives this run any more; the submission is kept: "
                      "warploop resume %s",
                      v->name, v->name);
            return cmd_fail(&e);
        }
        if (v->status == RUN_PAUSED && !said) {
            struct buf b = {0};
            put_paused(v, &b);
            fputs(buf_str(&b), stderr);
            buf_free(&b);
            said = true;
        }
        struct pollfd fd = {.fd = reader_fd(v->r), .events = POLLIN};
        poll(&fd, 1, 500);
    }
    error_set(&e, ERR_BUSY, "no verdict after %.0f s; it will stand in warploop show %s", seconds,
              v->name);
    return cmd_fail(&e);
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    const char *file = args_pos(a, 1);
    const char *why = args_text(a, "why", NULL);
    const char *strategy = args_text(a, "strategy", NULL);
    char *request = NULL;
    bool ok = true;
    if (!why || !strategy) {
        ok = error_set(&e, ERR_INPUT,
                       "submit: expected --why TEXT (what should get better, and how "
                       "much) and --strategy NAME (the ledger's key)");
    }
    ok = ok && submit_request(file, why, strategy, &request, &e);
    int64_t before = (int64_t)v.s->nversions - 1;
    ok = ok && ask_put(&v, "submit", request, "submit", &e);
    free(request);
    enum exit_code rc = ok ? EXIT_DONE : cmd_fail(&e);
    if (ok && args_flag(a, "wait")) {
        fflush(stdout);
        struct buf source = {0};
        ok = fs_read(file, SOURCE_MAX, &source, &e);
        struct hash h = hash_bytes(buf_str(&source), source.len);
        buf_free(&source);
        rc = ok ? wait_verdict(&v, before, &h, args_real(a, "timeout", 600)) : cmd_fail(&e);
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
    {.name = "wait", .kind = OPTION_FLAG, .help = "wait for the verdict and print it"},
    {.name = "timeout",
     .kind = OPTION_REAL,
     .value = "S",
     .lo = 0.1,
     .hi = 1e6,
     .help = "with --wait: at most so many seconds (default 600)"},
    {0},
};

const struct cmd cmd_submit = {
    .name = "submit",
    .usage = "RUN FILE",
    .summary = "hand a kernel to a run; it is judged like any other",
    .options = options,
    .details =
        "The run's engine has to be at work (run TASK --agent outside waits for submissions\n"
        "only). With --wait the exit code is 0 for a verdict \"ok\" and 1 for any other.",
    .run = run,
};
