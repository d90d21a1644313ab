/* warploop log: the events of a run, or those that a search finds. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"
#include "core/log/log.h"
#include "core/log/runs.h"

struct printer {
    bool body, json;
    int64_t skip; /* events before this seq are not printed */
    int64_t last;
};

static void print_text(const struct event *ev, bool body)
{
    struct buf raw = {0};
    struct buf b = {0};
    char when[32];
    clock_format(ev->time, when, sizeof when);
    buf_addf(&b, "%6lld  %s  ", (long long)ev->seq, when);
    event_describe(ev, &raw);
    text_line(&b, buf_str(&raw), raw.len, body ? 100000 : 400);
    buf_addc(&b, '\n');
    if (body && *ev->body) {
        buf_adds(&b, "        ");
        text_line(&b, ev->body, strlen(ev->body), 100000);
        buf_addc(&b, '\n');
    }
    buf_free(&raw);
    cmd_print(&b);
}

static void print_event(const struct event *ev, const struct printer *p)
{
    if (p->json) {
        print_json(json_event(ev, p->body));
    } else {
        print_text(ev, p->body);
    }
}

static bool each(void *ctx, const struct event *ev)
{
    struct printer *p = ctx;
    p->last = ev->seq;
    if (ev->seq >= p->skip) {
        print_event(ev, p);
    }
    return !ferror(stdout);
}

/* Everything that comes, until interrupted or the run has ended and nobody drives it. */
static bool follow(struct log *log, const char *path, struct printer *p, struct error *e)
{
    struct reader *r = reader_open(path, e);
    if (!r) {
        return false;
    }
    bool ok = true;
    while (ok && !ferror(stdout)) {
        fflush(stdout);
        int64_t pid = 0;
        char host[128];
        bool driven = reader_driver(r, &pid, host, sizeof host);
        ok = reader_poll(r, e) >= 0 && log_each(log, p->last, 0, p->body, each, p, e);
        if (!driven && reader_state(r)->ended) {
            break;
        }
        struct pollfd fd = {.fd = reader_fd(r), .events = POLLIN};
        poll(&fd, 1, 1000);
    }
    reader_close(r);
    return ok;
}

static void print_hit(const struct event *ev, const char *snippet, const struct printer *p)
{
    if (p->json) {
        cJSON *o = json_event(ev, p->body);
        out_text(o, "snippet", snippet);
        print_json(o);
        return;
    }
    print_text(ev, false);
    struct buf b = {0};
    buf_adds(&b, "        ");
    put_line(&b, snippet, 200);
    buf_addc(&b, '\n');
    cmd_print(&b);
}

static bool search(struct log *log, const char *words, size_t limit, const struct printer *p,
                   size_t *found, struct error *e)
{
    struct log_hit *hits = NULL;
    if (!log_search(log, words, limit, &hits, found, e)) {
        return false;
    }
    for (size_t i = 0; i < *found; i++) {
        struct event ev = {0};
        if (log_get(log, hits[i].seq, &ev, NULL)) {
            print_hit(&ev, hits[i].snippet, p);
            event_free_texts(&ev);
        }
    }
    log_hits_free(hits, *found);
    return true;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    char *path = NULL;
    if (!runs_find(args_pos(a, 0), &path, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    struct log *log = log_open_read(path, &e);
    const char *words = args_text(a, "grep", NULL);
    int64_t limit = args_whole(a, "last", 0);
    struct printer p = {.body = args_flag(a, "body"), .json = args_flag(a, "json")};
    bool ok = log != NULL;
    if (ok && words) {
        size_t found = 0;
        ok = search(log, words, limit ? (size_t)limit : 100, &p, &found, &e);
        if (ok && found == 0) {
            fprintf(stderr,
                    "nothing found: the search looks at hypotheses, outcomes, notes, steers "
                    "and reasoning\n");
            rc = EXIT_NOT_SO;
        }
    } else if (ok) {
        p.skip = limit ? log_last_seq(log) - limit + 1 : 0;
        ok = log_each(log, p.skip > 0 ? p.skip - 1 : 0, 0, p.body, each, &p, &e);
        if (ok && args_flag(a, "follow")) {
            ok = follow(log, path, &p, &e);
        }
    }
    if (log) {
        log_close(log);
    }
    free(path);
    return ok ? rc : cmd_fail(&e);
}

static const struct option_desc options[] = {
    {.name = "grep",
     .letter = 'g',
     .kind = OPTION_TEXT,
     .value = "WORDS",
     .help = "full-text search: events that hold all these words, newest first"},
    {.name = "last",
     .letter = 'n',
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 1,
     .hi = 1e9,
     .help = "only the last N events (or the first N that the search finds)"},
    {.name = "follow", .letter = 'f', .kind = OPTION_FLAG, .help = "go on with what comes"},
    {.name = "body", .letter = 'b', .kind = OPTION_FLAG, .help = "with each event's JSON body"},
    JSON_OPTION("one object a line (see below)"),
    {0},
};

const struct cmd cmd_log = {
    .name = "log",
    .usage = "[RUN]",
    .summary = "the events of a run; --grep searches them",
    .options = options,
    .details =
        "Exit code 1 when a search finds nothing.\n"
        "\n"
        "With --json each line is an event: seq, time_ns, kind (run-created, version, try, record\n"
        "...), text, hash, and the numbers id, ref, code, n, x, lo, hi, y; body with --body, "
        "snippet\n"
        "with --grep. Of a try: id is the version, verdict what it came to, x its speedup with "
        "the\n"
        "interval lo to hi, y the gain over the best version of then, which is ref.",
    .run = run,
};
