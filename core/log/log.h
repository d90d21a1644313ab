/* The event log: one SQLite file per run, $WARPLOOP_HOME/runs/ID.warp, the only truth about it.
 *
 * WAL and synchronous=FULL (TRUNCATE journal where the file system cannot do WAL), mode 0600. Only
 * the engine that holds ID.lock (an OFD lock, released by any death) appends. People's commands
 * come in through the inbox, from any process. Opened after the last fork of a process; the file
 * is opened by nothing but SQLite. One connection belongs to one thread.
 *
 * Damage never crashes: a truncated or foreign file, a newer schema, a read-only or full file
 * system, a file locked by another program each give an error that says what to do. */
#ifndef WARPLOOP_LOG_LOG_H
#define WARPLOOP_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/log/event.h"

#define LOG_SCHEMA 1

struct log;

/* Create a new run file (fails if it exists). The caller holds nothing yet: log_lock next. */
struct log *log_create(const char *path, struct error *e);
/* Open for appending (engine). */
struct log *log_open(const char *path, struct error *e);
/* Open read-only: front ends, exports, also on read-only media. Never writes, never locks. */
struct log *log_open_read(const char *path, struct error *e);
void log_close(struct log *log);
const char *log_path(const struct log *log);

/* Take ID.lock for the life of this handle; ERR_BUSY names the pid and host of the holder. */
bool log_lock(struct log *log, struct error *e) WARN_UNUSED;
/* Who drives the run now: false when nobody. host is filled with at most size bytes. */
bool log_driver(const char *path, int64_t *pid, char *host, size_t size);

/* A batch is one transaction: begin, append/put any number, commit = one fsync. An error in
 * between is kept and reported by log_commit, which then rolls back: nothing is half written.
 * log_append outside a batch is a batch of one. Fills seq and time (if 0) of *ev. */
void log_begin(struct log *log);
bool log_append(struct log *log, struct event *ev, struct error *e);
bool log_commit(struct log *log, struct error *e) WARN_UNUSED;
void log_rollback(struct log *log);

/* Store bytes under their SHA-256 (compressed; stored once). Part of the current batch. */
bool log_put_blob(struct log *log, const void *bytes, size_t n, struct hash *name, struct error *e);
/* Read a blob back; hashed again, ERR_CORRUPT when it differs. */
bool log_get_blob(struct log *log, const char *hash, struct buf *out, struct error *e) WARN_UNUSED;

/* Hand every event with seq > after (and <= upto if upto > 0) to fn in order; the event's texts
 * live only during the call. `with_body` false leaves body "" and is faster. fn returns false to
 * stop early (still success). */
typedef bool log_each_fn(void *ctx, const struct event *ev);
bool log_each(struct log *log, int64_t after, int64_t upto, bool with_body, log_each_fn *fn,
              void *ctx, struct error *e) WARN_UNUSED;
/* One event with its body; texts are owned by the caller (event_free_texts). */
bool log_get(struct log *log, int64_t seq, struct event *out, struct error *e) WARN_UNUSED;
void event_free_texts(struct event *ev);
int64_t log_last_seq(struct log *log); /* 0 when empty or unreadable */

/* Full-text search over ledger lines (hypotheses, outcomes), notes, steers and reasoning; an FTS
 * query is made from plain words, so that no text can be a syntax error. Newest first. */
struct log_hit {
    int64_t seq;
    char *snippet;
};
bool log_search(struct log *log, const char *words, size_t limit, struct log_hit **hits, size_t *n,
                struct error *e) WARN_UNUSED;
void log_hits_free(struct log_hit *hits, size_t n);

/* ---- the inbox: what people ask for ------------------------------------------------------- */
struct command {
    int64_t id;
    char *author, *kind, *text; /* kind: pause resume steer goal stop submit cancel note ... */
};
/* From any process; opens, writes, closes. At most 1 MiB of text. Waits up to 5 s for a locked
 * file. */
bool inbox_put(const char *path, const char *author, const char *kind, const char *text,
               struct error *e) WARN_UNUSED;
/* The commands not yet taken, in order; the engine turns each into events and calls inbox_done in
 * the same batch, so that a crash neither loses nor repeats one. */
bool inbox_list(struct log *log, struct command **cmds, size_t *n, struct error *e) WARN_UNUSED;
void inbox_free(struct command *cmds, size_t n);
bool inbox_done(struct log *log, int64_t id, struct error *e);

/* The last moment up to `seq` at which no call was open and no effect in flight: where a fork may
 * be cut without anything half done in it. 0 when there was none. */
bool log_safe_point(struct log *log, int64_t seq, int64_t *safe, struct error *e) WARN_UNUSED;
/* Copy events 1..upto and the blobs they name into a new file at `to`, written beside and renamed
 * into place (fork). */
bool log_fork(const char *from, int64_t upto, const char *to, struct error *e) WARN_UNUSED;
/* One self-contained file, journal_mode=DELETE, that opens read-only anywhere. */
bool log_export(const char *from, const char *to, struct error *e) WARN_UNUSED;

/* Commits so far by this handle (for the budget test: at most four a tool call). */
int64_t log_commits(const struct log *log);
/* For tests: called right before every COMMIT of this handle; may end the process. */
void log_set_before_commit(struct log *log, void (*before_commit)(void *ctx), void *ctx);

#endif
