/* The children that do the work: a pool of warploop-build processes and one warploop-bench, started
 * when first needed and kept. Each serves one request at a time.
 *
 * The programs are looked for in $WARPLOOP_BACKEND_DIR, else beside the running program. Nothing a
 * child does is trusted: a deadline stands over every request, garbage, a wrong id, silence or
 * death end the child and the request, what it printed is kept (bounded). Nothing here blocks but
 * backend_wait; requests are sent as the child reads them. */
#ifndef WARPLOOP_LOOP_BACKEND_H
#define WARPLOOP_LOOP_BACKEND_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/wire.h"

struct backend;

enum worker_kind { WORKER_BUILD, WORKER_BENCH };

enum backend_news {
    BACKEND_PROGRESS, /* *msg holds it */
    BACKEND_RESULT,   /* *msg holds the last reply */
    BACKEND_FAILED,   /* no reply: `why` says what happened, what was printed follows */
    BACKEND_TIMEOUT,  /* the deadline passed; the child was killed */
};

struct backend_event {
    int64_t id; /* as given to backend_start */
    enum backend_news news;
    struct wire_msg *msg; /* owned by the pool, valid during the call; NULL without one */
    const char *why;      /* "" or one or more lines for a person; foreign text within */
    int64_t ns;           /* since the request was given */
};
typedef void backend_fn(void *ctx, const struct backend_event *ev);

/* builders: at most so many build processes. */
struct backend *backend_new(int builders);
/* Kills everything that still runs. */
void backend_free(struct backend *b);

/* Give a request to a free worker; *m is taken. Its deadline is `timeout_ms` (of the head, else
 * 60 s) plus five seconds. ERR_BUSY: no worker of that kind is free. */
bool backend_start(struct backend *b, enum worker_kind kind, int64_t id, struct wire_msg *m,
                   struct error *e) WARN_UNUSED;
/* The same with the whole request as bytes (line and parts), which are taken: for what is asked
 * over and over and not worth making from JSON each time. */
bool backend_start_bytes(struct backend *b, enum worker_kind kind, int64_t id, struct buf *bytes,
                         int64_t timeout_ms, struct error *e) WARN_UNUSED;
/* Kill the worker that serves request `id`, with all below it; the request is forgotten. False when
 * there is none. */
bool backend_cancel(struct backend *b, int64_t id);

/* What to poll for; at most `max` entries. BACKEND_FDS(builders) are enough. */
#define BACKEND_FDS(builders) (3 * ((builders) + 1))
size_t backend_fds(const struct backend *b, struct pollfd *fds, size_t max);
/* Monotonic ns of the next deadline; INT64_MAX: none. */
int64_t backend_deadline(const struct backend *b);
/* Take in whatever is there and report it. Never blocks. fn may call backend_start. */
void backend_collect(struct backend *b, backend_fn *fn, void *ctx);

/* Sleep until a child says something, a deadline passes or a second is over, and report it. False,
 * at once, when stop_fd (-1: none) is readable: nothing was taken in. */
bool backend_wait(struct backend *b, int stop_fd, backend_fn *fn, void *ctx);

/* Where a program of the back end lies; the caller frees. */
char *backend_program(const char *name);

#endif
