/* A front end's view of a run, in this process or another's: its own read-only connection, its own
 * folded state, brought up to date by reader_poll. No read transaction outlives a call. Never
 * writes: `watch` is read-only by construction. One thread only. */
#ifndef WARPLOOP_LOG_READER_H
#define WARPLOOP_LOG_READER_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/log/log.h"
#include "core/log/state.h"

struct reader;

struct reader *reader_open(const char *path, struct error *e);
/* The same for one who has to stay responsive: the first fold and every poll end after about
 * max_ns, and reader_share says whether that was all. */
struct reader *reader_open_brief(const char *path, int64_t max_ns, struct error *e);
void reader_close(struct reader *r);

/* Fold what is new. Returns the number of new events, 0 when nothing changed, -1 on an error (the
 * state stays as it was; a locked or vanished file is not fatal, try again later). */
int64_t reader_poll(struct reader *r, struct error *e);
/* How much of the run is folded: 1, or less when the last poll ran out of time (then poll again).
 */
double reader_share(const struct reader *r);
const struct run_state *reader_state(const struct reader *r);

/* Descriptor that becomes readable when the file may have changed (inotify on its folder); -1 where
 * inotify is not available: look once a second then. reader_poll clears it. */
int reader_fd(const struct reader *r);

/* Whether an engine drives the run at this moment, and which. */
bool reader_driver(const struct reader *r, int64_t *pid, char *host, size_t size);

/* Source text of a version. */
bool reader_source(struct reader *r, int64_t version, struct buf *out, struct error *e) WARN_UNUSED;
/* One event with body; free with event_free_texts. */
bool reader_event(struct reader *r, int64_t seq, struct event *out, struct error *e) WARN_UNUSED;
/* The bench's result (JSON text) of a version's try, or of the baseline for version 0. */
bool reader_result(struct reader *r, int64_t version, struct buf *out, struct error *e) WARN_UNUSED;
/* The build's reply (JSON text: mix, command, compiler, log) of a version. */
bool reader_build(struct reader *r, int64_t version, struct buf *out, struct error *e) WARN_UNUSED;
/* What is being worked on now ("bench v7: time, set 3 of 5"): from ID.live; "" when unknown. */
void reader_live(const struct reader *r, char *out, size_t size);

/* One line for a person about an event of the `says` list or the log: "v7 chunkwise CHUNK=16: ok,
 * 1.84x (1.82..1.86), +12 % on v5, a record". Appended to out, not sanitised. */
void event_describe(const struct event *ev, struct buf *out);

#endif
