#include "core/cmd/ask.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/cmd/json_out.h"
#include "core/log/log.h"

static bool read_stdin(struct buf *out, size_t *total, struct error *e)
{
    char chunk[65536];
    *total = 0;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return error_sys(e, "cannot read standard input");
        }
        if (n == 0) {
            return true;
        }
        *total += (size_t)n;
        if (out->len <= ASK_TEXT_MAX) {
            buf_add(out, chunk, (size_t)n);
        }
    }
}

static bool check_text(const struct buf *text, size_t total, struct error *e)
{
    if (total > ASK_TEXT_MAX) {
        return error_set(e, ERR_INPUT,
                         "the text has %zu bytes; at most %u are taken: put the long "
                         "part in a file and name it",
                         total, ASK_TEXT_MAX);
    }
    const char *nul = memchr(buf_str(text), 0, text->len);
    if (nul) {
        return error_set(e, ERR_INPUT,
                         "the text has a NUL byte at offset %zu: expected text, not a "
                         "binary file",
                         (size_t)(nul - text->s));
    }
    for (size_t i = 0; i < text->len; i++) {
        if (!isspace((unsigned char)text->s[i])) {
            return true;
        }
    }
    return error_set(e, ERR_INPUT, "the text is empty");
}

bool ask_text(const char *arg, char **out, struct error *e)
{
    struct buf b = {0};
    size_t total = 0;
    bool ok = true;
    if (strcmp(arg, "-") == 0) {
        ok = read_stdin(&b, &total, e);
    } else {
        buf_adds(&b, arg);
        total = b.len;
    }
    if (!ok || !check_text(&b, total, e)) {
        buf_free(&b);
        return false;
    }
    *out = buf_take(&b);
    return true;
}

char *ask_author(void)
{
    char host[128] = "?";
    gethostname(host, sizeof host - 1);
    const struct passwd *pw = getpwuid(getuid());
    if (pw) {
        return xasprintf("%s@%s", pw->pw_name, host);
    }
    return xasprintf("uid %u@%s", (unsigned)getuid(), host);
}

void put_paused(const struct run_view *v, struct buf *out)
{
    buf_addf(out, "%s is paused", v->name);
    if (v->s->pause_cause && *v->s->pause_cause) {
        buf_adds(out, " by ");
        put_line(out, v->s->pause_cause, 200);
    }
    buf_addf(out, "; it goes on with: warploop resume %s\n", v->name);
}

void ask_put_line(const struct run_view *v, const char *kind, const char *what, struct buf *out)
{
    if (v->pid) {
        buf_addf(out, "%s: %s: asked for; the engine (pid %lld", v->name, what, (long long)v->pid);
        if (v->host[0]) {
            buf_adds(out, " on ");
            put_line(out, v->host, 60);
        }
        buf_adds(out, ") reads it at its next safe point\n");
        if (v->status == RUN_PAUSED && strcmp(kind, "resume") != 0) {
            put_paused(v, out);
        }
    } else {
        buf_addf(out, "%s: %s: kept; nobody drives this run now (", v->name, what);
        run_status_text(v, out);
        buf_addf(out, "), it is read when it goes on: warploop resume %s\n", v->name);
    }
}

static void print_asked(const struct run_view *v, const char *kind)
{
    cJSON *o = cJSON_CreateObject();
    out_text(o, "run", v->name);
    out_text(o, "request", kind);
    out_text(o, "state", run_status_name(v->status));
    out_id(o, "pid", v->pid ? v->pid : -1);
    out_text(o, "host", v->pid ? v->host : NULL);
    print_json(o);
}

bool ask_put(const struct run_view *v, const char *kind, const char *text, const char *what,
             enum ask_form form, struct error *e)
{
    char *author = ask_author();
    bool ok = inbox_put(v->path, author, kind, text, e);
    free(author);
    if (ok && form == ASK_JSON) {
        print_asked(v, kind);
    } else if (ok && form == ASK_TEXT) {
        struct buf b = {0};
        ask_put_line(v, kind, what, &b);
        cmd_print(&b);
    }
    return ok;
}

enum ask_form ask_form(const struct args *a)
{
    return args_flag(a, "json") ? ASK_JSON : ASK_TEXT;
}

enum exit_code ask_driver(const struct args *a, const char *kind, const char *text,
                          const char *what)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    if (!v.pid) {
        struct buf b = {0};
        buf_addf(&b, "warploop: %s: nobody drives this run (", v.name);
        run_status_text(&v, &b);
        buf_adds(&b, "): nothing to do\n");
        fputs(buf_str(&b), stderr);
        buf_free(&b);
        rc = EXIT_NOT_SO;
    } else if (!ask_put(&v, kind, text, what, ask_form(a), &e)) {
        rc = cmd_fail(&e);
    }
    run_view_close(&v);
    return rc;
}
