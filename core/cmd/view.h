/* A run as the commands show it: found by name, opened for reading, folded, with what drives it. */
#ifndef WARPLOOP_CMD_VIEW_H
#define WARPLOOP_CMD_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/log/reader.h"

enum run_status {
    RUN_NEW,     /* made, no engine yet */
    RUN_RUNNING, /* an engine drives it */
    RUN_PAUSED,  /* an engine drives it and waits for `resume` */
    RUN_STOPPED, /* its last engine stopped in order */
    RUN_CRASHED, /* its last engine died */
    RUN_ENDED,
};

struct run_view {
    char *path, *name;
    struct reader *r;
    const struct run_state *s; /* borrowed from r */
    enum run_status status;
    int64_t pid; /* of the engine that drives it, 0 none */
    char host[128];
    int64_t size; /* bytes of the file and its journal */
};

/* `run`: a name, a path, or NULL for the newest. */
bool run_view_open(const char *run, struct run_view *v, struct error *e) WARN_UNUSED;
/* Same with a path that is known to exist. */
bool run_view_path(const char *path, struct run_view *v, struct error *e) WARN_UNUSED;
/* Read what is new, status included. */
bool run_view_poll(struct run_view *v, struct error *e) WARN_UNUSED;
void run_view_close(struct run_view *v);

const char *run_status_name(enum run_status s); /* "running" ... */
/* "running (pid 123)", "ended: target met", "stopped", ...: one phrase. */
void run_status_text(const struct run_view *v, struct buf *out);

/* A version as people write it: 7, v7, "baseline" (0), "start" (1), "best" (the incumbent),
 * "last". ERR_NOTFOUND says what there is. */
bool version_parse(const struct run_state *s, const char *text, int64_t *out,
                   struct error *e) WARN_UNUSED;

/* "1.84x (1.82..1.86)"; "-" when x is NaN. */
void put_speedup(struct buf *out, double x, double lo, double hi);
/* A ratio as a change: "+12.3 %"; "-" when NaN. */
void put_change(struct buf *out, double ratio);
/* "23.4 ms" from ns; "-" when NaN. */
void put_ns(struct buf *out, double ns);
/* "1.2 MB". */
void put_bytes(struct buf *out, int64_t n);
/* "3 min ago" style span between two wall clock times, without the "ago". */
void put_age(struct buf *out, int64_t ns);
/* Foreign text as one line of at most `cols` columns. */
void put_line(struct buf *out, const char *text, int cols);
/* Append blanks until the last line of out is `col` bytes long (one at least). */
void put_pad(struct buf *out, size_t col);

#endif
