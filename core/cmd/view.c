#include "core/cmd/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/cmd/options.h"
#include "core/log/runs.h"

static enum run_status status_of(const struct run_state *s, bool driven)
{
    if (driven) {
        return s->paused ? RUN_PAUSED : RUN_RUNNING;
    }
    if (s->ended) {
        return RUN_ENDED;
    }
    if (s->engines == 0) {
        return RUN_NEW;
    }
    return s->stopped ? RUN_STOPPED : RUN_CRASHED;
}

static int64_t run_size(const char *path)
{
    static const char *const suffixes[] = {"", "-wal"};
    int64_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        char *file = xasprintf("%s%s", path, suffixes[i]);
        struct stat st;
        if (stat(file, &st) == 0) {
            n += st.st_size;
        }
        free(file);
    }
    return n;
}

static void refresh(struct run_view *v)
{
    v->pid = 0;
    v->host[0] = 0;
    bool driven = reader_driver(v->r, &v->pid, v->host, sizeof v->host);
    v->s = reader_state(v->r);
    v->status = status_of(v->s, driven);
    v->size = run_size(v->path);
}

bool run_view_path(const char *path, struct run_view *v, struct error *e)
{
    *v = (struct run_view){.path = xstrdup(path), .name = runs_name(path)};
    v->r = reader_open(path, e);
    if (!v->r || reader_poll(v->r, e) < 0) {
        run_view_close(v);
        return false;
    }
    refresh(v);
    return true;
}

bool run_view_open(const char *run, struct run_view *v, struct error *e)
{
    *v = (struct run_view){0};
    char *path = NULL;
    if (!runs_find(run, &path, e)) {
        return false;
    }
    bool ok = run_view_path(path, v, e);
    free(path);
    return ok;
}

bool run_view_poll(struct run_view *v, struct error *e)
{
    bool ok = reader_poll(v->r, e) >= 0;
    refresh(v);
    return ok;
}

void run_view_close(struct run_view *v)
{
    if (v->r) {
        reader_close(v->r);
    }
    free(v->path);
    free(v->name);
    *v = (struct run_view){0};
}

const char *run_status_name(enum run_status s)
{
    switch (s) {
    case RUN_NEW:
        return "new";
    case RUN_RUNNING:
        return "running";
    case RUN_PAUSED:
        return "paused";
    case RUN_STOPPED:
        return "stopped";
    case RUN_CRASHED:
        return "crashed";
    case RUN_ENDED:
        return "ended";
    }
    return "?";
}

void run_status_text(const struct run_view *v, struct buf *out)
{
    buf_adds(out, run_status_name(v->status));
    switch (v->status) {
    case RUN_RUNNING:
    case RUN_PAUSED:
        buf_addf(out, " (pid %lld", (long long)v->pid);
        if (v->host[0]) {
            buf_adds(out, " on ");
            put_line(out, v->host, 40);
        }
        buf_addc(out, ')');
        break;
    case RUN_ENDED:
        buf_addf(out, ": %s", end_reason_name(v->s->reason));
        break;
    case RUN_STOPPED:
    case RUN_CRASHED:
        if (v->s->paused) {
            buf_adds(out, " while paused");
        }
        break;
    case RUN_NEW:
        break;
    }
}

bool version_parse(const struct run_state *s, const char *text, int64_t *out, struct error *e)
{
    int64_t last = (int64_t)s->nversions - 1;
    if (strcasecmp(text, "baseline") == 0) {
        *out = 0;
    } else if (strcasecmp(text, "start") == 0) {
        *out = 1;
    } else if (strcasecmp(text, "last") == 0) {
        *out = last;
    } else if (strcasecmp(text, "best") == 0) {
        if (s->incumbent < 0) {
            return error_set(e, ERR_NOTFOUND,
                             "there is no best version yet: none is right and timed");
        }
        *out = s->incumbent;
    } else if (!parse_whole(text + (*text == 'v' || *text == 'V'), out)) {
        return error_set(e, ERR_INPUT,
                         "version \"%.60s\": expected a number (7 or v7), baseline, "
                         "start, best or last",
                         text);
    }
    if (!state_version(s, *out)) {
        return error_set(e, ERR_NOTFOUND, "there is no version %.60s: this run has %s%lld", text,
                         last < 0 ? "none" : "v0 (baseline) to v",
                         (long long)(last < 0 ? 0 : last));
    }
    return true;
}

void put_speedup(struct buf *out, double x, double lo, double hi)
{
    if (isnan(x)) {
        buf_addc(out, '-');
        return;
    }
    buf_addf(out, x < 0.095 || x >= 99.5 ? "%.3gx" : "%.2fx", x);
    if (!isnan(lo) && !isnan(hi)) {
        buf_addf(out, " (%.2f..%.2f)", lo, hi);
    }
}

void put_change(struct buf *out, double ratio)
{
    if (isnan(ratio)) {
        buf_addc(out, '-');
        return;
    }
    double percent = (ratio - 1) * 100;
    buf_addf(out, fabs(percent) < 99.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

void put_ns(struct buf *out, double ns)
{
    if (isnan(ns)) {
        buf_addc(out, '-');
    } else if (ns < 1e3) {
        buf_addf(out, "%.0f ns", ns);
    } else if (ns < 1e6) {
        buf_addf(out, "%.3g us", ns / 1e3);
    } else if (ns < 1e9) {
        buf_addf(out, "%.3g ms", ns / 1e6);
    } else {
        buf_addf(out, "%.3g s", ns / 1e9);
    }
}

void put_bytes(struct buf *out, int64_t n)
{
    if (n < 1000) {
        buf_addf(out, "%lld B", (long long)n);
    } else if (n < 1000 * 1000) {
        buf_addf(out, "%.0f kB", (double)n / 1e3);
    } else {
        buf_addf(out, "%.1f MB", (double)n / 1e6);
    }
}

void put_age(struct buf *out, int64_t ns)
{
    int64_t s = ns < 0 ? 0 : ns / 1000000000;
    if (s < 120) {
        buf_addf(out, "%lld s", (long long)s);
    } else if (s < 120 * 60) {
        buf_addf(out, "%lld min", (long long)(s / 60));
    } else if (s < 48 * 3600) {
        buf_addf(out, "%lld h", (long long)(s / 3600));
    } else {
        buf_addf(out, "%lld days", (long long)(s / 86400));
    }
}

void put_line(struct buf *out, const char *text, int cols)
{
    text_line(out, text, strlen(text), cols);
}

void put_pad(struct buf *out, size_t col)
{
    const char *s = buf_str(out);
    const char *nl = memrchr(s, '\n', out->len);
    size_t start = nl ? (size_t)(nl - s) + 1 : 0;
    do {
        buf_addc(out, ' ');
    } while (out->len - start < col);
}
