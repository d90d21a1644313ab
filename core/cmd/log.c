/* warploop log: the events of a run, or those that a search finds. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/view.h"
#include "core/log/log.h"
#include "core/log/runs.h"

struct printer {
    bool body;
    int64_t skip; /* events before this seq are not printed */
    int64_t last;
};

static void print_event(const struct event *ev, bool body)
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

static bool each(void *ctx, const struct event *ev)
{
    struct printer *p = ctx;
    p->last = ev->seq;
    if (ev->seq >= p->skip) {
        print_event(ev, p->body);
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

static bool search(struct log *log, const char *words, size_t limit, size_t *found, struct error *e)
{
    struct log_hit *hits = NULL;
    if (!log_search(log, words, limit, &hits, found, e)) {
        return false;
    }
    for (size_t i = 0; i < *found; i++) {
        struct event ev = {0};
        if (log_get(log, hits[i].seq, &ev, NULL)) {
            print_event(&ev, false);
            event_free_texts(&ev);
        }
        struct buf b = {0};
        buf_adds(&b, "        ");
        put_line(&b, hits[i].snippet, 200);
        buf_addc(&b, '\n');
        cmd_print(&b);
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
    bool ok = log != NULL;
    if (ok && words) {
        size_t found = 0;
        ok = search(log, words, limit ? (size_t)limit : 100, &found, &e);
        if (ok && found == 0) {
            fprintf(stderr,
                    "nothing found: the search looks at hypotheses, outcomes, notes, steers "
                    "and reasoning\n");
            rc = EXIT_NOT_SO;
        }
    } else if (ok) {
        struct printer p = {.body = args_flag(a, "body")};
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
    {0},
};

const struct cmd cmd_log = {
    .name = "log",
    .usage = "[RUN]",
    .summary = "the events of a run; --grep searches them",
    .options = options,
    .details = "Exit code 1 when a search finds nothing.",
    .run = run,
};
