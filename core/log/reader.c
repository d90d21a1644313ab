#include "core/log/reader.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/log/live.h"

#define LOOK_AT_CLOCK 1024 /* events between two looks */

struct reader {
    char *path;
    struct log *log;
    struct run_state *state;
    int inotify;       /* -1: not available */
    int64_t max_ns;    /* of a poll; 0: no limit */
    int64_t deadline;  /* of this poll */
    unsigned folded;   /* events of this poll */
    int64_t known_seq; /* the newest event when the last poll ran out of time; 0: it did not */
};

static int watch_folder(const char *path)
{
    char *copy = xstrdup(path);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    /* The folder, not the file: the -wal beside it comes and goes, and is what a commit writes. */
    if (fd >= 0 &&
        inotify_add_watch(fd, dirname(copy), IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO) < 0) {
        close(fd);
        fd = -1;
    }
    free(copy);
    return fd;
}

struct reader *reader_open(const char *path, struct error *e)
{
    return reader_open_brief(path, 0, e);
}

struct reader *reader_open_brief(const char *path, int64_t max_ns, struct error *e)
{
    struct log *log = log_open_read(path, e);
    if (!log)
        return NULL;
    struct reader *r = xcalloc(1, sizeof *r);
    r->path = xstrdup(path);
    r->log = log;
    r->max_ns = max_ns;
    r->state = state_new();
    r->inotify = watch_folder(path); /* before the first fold, so that nothing is missed */
    if (reader_poll(r, e) >= 0)
        return r;
    reader_close(r);
    return NULL;
}

void reader_close(struct reader *r)
{
    if (!r)
        return;
    log_close(r->log);
    state_free(r->state);
    if (r->inotify >= 0)
        close(r->inotify);
    free(r->path);
    free(r);
}

static bool fold_one(void *ctx, const struct event *ev)
{
    struct reader *r = ctx;
    state_apply(r->state, ev);
    if (r->max_ns == 0 || ++r->folded % LOOK_AT_CLOCK != 0 || clock_mono_ns() < r->deadline)
        return true;
    r->known_seq = log_last_seq(r->log);
    return false;
}

static void drain(int fd)
{
    char junk[4096];
    while (fd >= 0) {
        ssize_t n = read(fd, junk, sizeof junk);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            break;
    }
}

int64_t reader_poll(struct reader *r, struct error *e)
{
    drain(r->inotify);
    int64_t before = r->state->last_seq;
    r->deadline = clock_mono_ns() + r->max_ns;
    r->folded = 0;
    r->known_seq = 0;
    if (!log_each(r->log, before, 0, false, fold_one, r, e))
        return -1;
    return r->state->last_seq - before;
}

double reader_share(const struct reader *r)
{
    if (r->known_seq <= r->state->last_seq)
        return 1;
    return (double)r->state->last_seq / (double)r->known_seq;
}

const struct run_state *reader_state(const struct reader *r)
{
    return r->state;
}

int reader_fd(const struct reader *r)
{
    return r->inotify;
}

bool reader_driver(const struct reader *r, int64_t *pid, char *host, size_t size)
{
    return log_driver(r->path, pid, host, size);
}

static bool no_version(const struct reader *r, int64_t version, struct error *e)
{
    return error_set(e, ERR_NOTFOUND, "there is no version v%lld: there are v0 to v%lld",
                     (long long)version, (long long)r->state->nversions - 1);
}

bool reader_source(struct reader *r, int64_t version, struct buf *out, struct error *e)
{
    const struct version *v = state_version(r->state, version);
    return v ? log_get_blob(r->log, v->source.hex, out, e) : no_version(r, version, e);
}

bool reader_event(struct reader *r, int64_t seq, struct event *out, struct error *e)
{
    return log_get(r->log, seq, out, e);
}

static bool body_of(struct reader *r, int64_t seq, struct buf *out, struct error *e)
{
    struct event ev;
    if (!log_get(r->log, seq, &ev, e))
        return false;
    buf_adds(out, ev.body);
    event_free_texts(&ev);
    return true;
}

bool reader_result(struct reader *r, int64_t version, struct buf *out, struct error *e)
{
    const struct version *v = state_version(r->state, version);
    if (!v)
        return no_version(r, version, e);
    int64_t seq = v->try_seq;
    if (version == 0 && r->state->have_baseline)
        seq = r->state->baseline_seq;
    return seq ? body_of(r, seq, out, e)
               : error_set(e, ERR_NOTFOUND, "v%lld has not been measured yet", (long long)version);
}

bool reader_build(struct reader *r, int64_t version, struct buf *out, struct error *e)
{
    const struct version *v = state_version(r->state, version);
    if (!v)
        return no_version(r, version, e);
    return v->build_seq
               ? body_of(r, v->build_seq, out, e)
               : error_set(e, ERR_NOTFOUND, "v%lld has not been built yet", (long long)version);
}

void reader_live(const struct reader *r, char *out, size_t size)
{
    live_read(r->path, out, size);
}
