#include "core/log/log_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

static bool batch_fail(struct log *log, const struct error *why, struct error *e)
{
    if (!log->failed)
        log->failure = *why;
    log->failed = true;
    if (e)
        *e = *why;
    return false;
}

/* Begin, and see whether the file is as this handle left it. */
static bool begin(struct log *log, struct error *e)
{
    if (log->readonly)
        return error_set(e, ERR_READONLY, "%s was opened read-only", log->path);
    sqlite3_stmt *st = log_stmt(log, STMT_BEGIN, e);
    if (!st || !log_step_done(log, st, e, "write"))
        return false;
    st = log_stmt(log, STMT_LAST, e);
    if (!st)
        return false;
    int rc = sqlite3_step(st);
    int64_t seq = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    int64_t time = rc == SQLITE_ROW ? sqlite3_column_int64(st, 1) : 0;
    sqlite3_reset(st);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return log_sql_error(log, e, "read");
    if (log->lock_fd >= 0 && seq != log->last_seq)
        return error_set(e, ERR_BUSY,
                         "%s was written by another engine in spite of the lock (does the file "
                         "system honour locks?): stop one of the two",
                         log->path);
    log->last_seq = seq;
    log->last_time = time;
    return true;
}

void log_begin(struct log *log)
{
    struct error why;
    if (log->in_batch) { /* a slip of the caller; the outer batch decides */
        error_set(&why, ERR_SYSTEM, "a batch was begun within a batch");
        batch_fail(log, &why, NULL);
        return;
    }
    log->in_batch = true;
    log->failed = false;
    log->batch_bytes = 0;
    if (!begin(log, &why))
        batch_fail(log, &why, NULL);
    log->kept_seq = log->last_seq;
    log->kept_time = log->last_time;
}

static void bind_text(sqlite3_stmt *st, int at, const char *s)
{
    if (*s) /* stays NULL otherwise, which takes no room */
        sqlite3_bind_text(st, at, s, -1, SQLITE_STATIC);
}

static void bind_real(sqlite3_stmt *st, int at, double v)
{
    if (!isnan(v))
        sqlite3_bind_double(st, at, v);
}

static bool append_row(struct log *log, const struct event *ev, struct error *e)
{
    unsigned char raw[LOG_HASH_RAW];
    sqlite3_stmt *st = log_stmt(log, STMT_APPEND, e);
    if (!st)
        return false;
    const int64_t ints[] = {ev->seq, ev->time, ev->kind, ev->code, ev->id, ev->ref, ev->n};
    for (int i = 0; i < 7; i++)
        sqlite3_bind_int64(st, i + 1, ints[i]);
    bind_real(st, 8, ev->x);
    bind_real(st, 9, ev->lo);
    bind_real(st, 10, ev->hi);
    bind_real(st, 11, ev->y);
    if (log_hash_from_hex(ev->hash, raw))
        sqlite3_bind_blob(st, 12, raw, sizeof raw, SQLITE_STATIC);
    else
        bind_text(st, 12, ev->hash);
    bind_text(st, 13, ev->text);
    return log_step_done(log, st, e, "write");
}

static bool append_body(struct log *log, const struct event *ev, struct error *e)
{
    struct buf z = {0};
    size_t n = strlen(ev->body);
    sqlite3_stmt *st = log_stmt(log, STMT_BODY, e);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, ev->seq);
    if (n >= LOG_BODY_PLAIN && log_compress(log, ev->body, n, &z))
        sqlite3_bind_blob64(st, 2, z.s, z.len, SQLITE_STATIC); /* a blob is zstd, a text is plain */
    else
        sqlite3_bind_text(st, 2, ev->body, -1, SQLITE_STATIC);
    bool ok = log_step_done(log, st, e, "write");
    buf_free(&z);
    return ok;
}

static bool append_index(struct log *log, const struct event *ev, struct error *e)
{
    sqlite3_stmt *st = log_stmt(log, STMT_INDEX, e);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, ev->seq);
    sqlite3_bind_text(st, 2, ev->text, -1, SQLITE_STATIC);
    return log_step_done(log, st, e, "write");
}

static bool append(struct log *log, struct event *ev, struct error *e)
{
    struct error why;
    if (log->failed)
        return batch_fail(log, &log->failure, e);
    ev->seq = log->last_seq + 1;
    if (!ev->time)
        ev->time = clock_wall_ns();
    if (ev->time < log->last_time)
        ev->time = log->last_time; /* a clock that was set back does not turn history round */
    if (!append_row(log, ev, &why) || (*ev->body && !append_body(log, ev, &why)) ||
        (log->indexed && *ev->text && search_covers(ev->kind) && !append_index(log, ev, &why)))
        return batch_fail(log, &why, e);
    log->batch_bytes += 128 + (int64_t)strlen(ev->text) + (int64_t)strlen(ev->body);
    log->last_seq = ev->seq;
    log->last_time = ev->time;
    return true;
}

bool log_append(struct log *log, struct event *ev, struct error *e)
{
    if (log->in_batch)
        return append(log, ev, e);
    log_begin(log);
    if (append(log, ev, e))
        return log_commit(log, e);
    log_rollback(log);
    return false;
}

static int64_t stored_seq(struct log *log)
{
    sqlite3_stmt *st = log_stmt(log, STMT_LAST, NULL);
    int64_t seq = st && sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
    sqlite3_reset(st);
    return seq;
}

/* COMMIT failed. With a TRUNCATE journal that may be after the point of no return (the journal is
 * empty, only syncing it failed): then the batch is there, and one more commit makes sure of it. */
static bool committed_after_all(struct log *log, int64_t want)
{
    if (log->kept_seq == want || stored_seq(log) != want)
        return false;
    char again[48];
    snprintf(again, sizeof again, "PRAGMA user_version=%d", LOG_SCHEMA);
    if (sqlite3_exec(log->db, again, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    log->last_seq = log->kept_seq = want; /* there, but a power cut may still take it */
    return false;
}

bool log_commit(struct log *log, struct error *e)
{
    if (!log->in_batch)
        return error_set(e, ERR_SYSTEM, "there is no batch to commit");
    if (!log->failed && log->before_commit)
        log->before_commit(log->hook_ctx);
    struct error why;
    bool committing = !log->failed;
    if (committing) {
        sqlite3_stmt *st = log_stmt(log, STMT_COMMIT, &why);
        if (!st || !log_step_done(log, st, &why, "write"))
            batch_fail(log, &why, NULL);
    }
    if (log->failed) {
        int64_t seq = log->last_seq, time = log->last_time;
        why = log->failure;
        log_rollback(log);
        if (!committing || !committed_after_all(log, seq)) {
            if (e)
                *e = why;
            return false;
        }
        log->last_seq = seq;
        log->last_time = time;
    }
    log->in_batch = false;
    log->commits++;
    return true;
}

void log_rollback(struct log *log)
{
    if (!log->in_batch)
        return;
    /* SQLite has rolled back by itself after some errors (a full disk among them). */
    if (!sqlite3_get_autocommit(log->db)) {
        sqlite3_stmt *st = log_stmt(log, STMT_ROLLBACK, NULL);
        if (st)
            log_step_done(log, st, NULL, "roll back");
    }
    log->in_batch = log->failed = false;
    log->last_seq = log->kept_seq;
    log->last_time = log->kept_time;
}

bool log_put_blob(struct log *log, const void *bytes, size_t n, struct hash *name, struct error *e)
{
    unsigned char raw[LOG_HASH_RAW];
    *name = hash_bytes(bytes, n);
    log_hash_from_hex(name->hex, raw);
    if (!log->in_batch) {
        log_begin(log);
        if (log_put_blob(log, bytes, n, name, e))
            return log_commit(log, e);
        log_rollback(log);
        return false;
    }
    struct error why;
    if (log->failed)
        return batch_fail(log, &log->failure, e);
    sqlite3_stmt *st = log_stmt(log, STMT_BLOB_HAS, &why);
    if (!st)
        return batch_fail(log, &why, e);
    sqlite3_bind_blob(st, 1, raw, sizeof raw, SQLITE_STATIC);
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE || !(st = log_stmt(log, STMT_BLOB_PUT, &why))) {
        if (rc != SQLITE_DONE)
            log_sql_error(log, &why, "read");
        return batch_fail(log, &why, e);
    }
    struct buf z = {0};
    bool zstd = log_compress(log, bytes, n, &z);
    sqlite3_bind_blob(st, 1, raw, sizeof raw, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, (int64_t)n);
    sqlite3_bind_int(st, 3, zstd);
    sqlite3_bind_blob64(st, 4, zstd ? z.s : n ? bytes : "", zstd ? z.len : n, SQLITE_STATIC);
    log->batch_bytes += (int64_t)(zstd ? z.len : n);
    bool ok = log_step_done(log, st, &why, "write") || batch_fail(log, &why, e);
    buf_free(&z);
    return ok;
}

void log_set_before_commit(struct log *log, void (*before_commit)(void *ctx), void *ctx)
{
    log->before_commit = before_commit;
    log->hook_ctx = ctx;
}

int64_t log_commits(const struct log *log)
{
    return log->commits;
}
