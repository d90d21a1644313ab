#include "core/log/log_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static double real_at(sqlite3_stmt *st, int col)
{
    return sqlite3_column_type(st, col) == SQLITE_NULL ? NO_REAL : sqlite3_column_double(st, col);
}

static const char *text_at(sqlite3_stmt *st, int col)
{
    const unsigned char *s = sqlite3_column_text(st, col);
    return s ? (const char *)s : "";
}

static const char *hash_at(sqlite3_stmt *st, int col, char hex[HASH_LEN + 1])
{
    int type = sqlite3_column_type(st, col);
    if (type == SQLITE_NULL)
        return "";
    if (type != SQLITE_BLOB || sqlite3_column_bytes(st, col) != LOG_HASH_RAW)
        return text_at(st, col);
    log_hash_to_hex(sqlite3_column_blob(st, col), hex);
    return hex;
}

/* The row as an event; its texts live until the statement moves on. */
static void row_event(sqlite3_stmt *st, struct event *ev, char hex[HASH_LEN + 1])
{
    ev->seq = sqlite3_column_int64(st, 0);
    ev->time = sqlite3_column_int64(st, 1);
    ev->kind = (enum event_kind)sqlite3_column_int(st, 2);
    ev->code = sqlite3_column_int(st, 3);
    ev->id = sqlite3_column_int64(st, 4);
    ev->ref = sqlite3_column_int64(st, 5);
    ev->n = sqlite3_column_int64(st, 6);
    ev->x = real_at(st, 7);
    ev->lo = real_at(st, 8);
    ev->hi = real_at(st, 9);
    ev->y = real_at(st, 10);
    ev->hash = hash_at(st, 11, hex);
    ev->text = text_at(st, 12);
    ev->body = "";
}

/* The body of the row: plain where it is, else unpacked into *room. */
static bool row_body(struct log *log, sqlite3_stmt *st, struct event *ev, struct buf *room,
                     struct error *e)
{
    if (sqlite3_column_type(st, 13) != SQLITE_BLOB) {
        ev->body = text_at(st, 13);
        return true;
    }
    buf_clear(room);
    if (!log_decompress(log, sqlite3_column_blob(st, 13), (size_t)sqlite3_column_bytes(st, 13), 0,
                        room))
        return error_set(e, ERR_CORRUPT,
                         "%s: the body of event %lld is damaged; warploop log shows "
                         "the events around it",
                         log->path, (long long)ev->seq);
    ev->body = buf_str(room);
    return true;
}

bool log_each(struct log *log, int64_t after, int64_t upto, bool with_body, log_each_fn *fn,
              void *ctx, struct error *e)
{
    struct buf body = {0};
    char hex[HASH_LEN + 1];
    struct event ev;
    sqlite3_stmt *st = log_stmt(log, with_body ? STMT_EACH_BODY : STMT_EACH, e);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, after);
    sqlite3_bind_int64(st, 2, upto > 0 ? upto : INT64_MAX);
    bool ok = true;
    int rc;
    while (ok && (rc = sqlite3_step(st)) != SQLITE_DONE) {
        if (rc != SQLITE_ROW) {
            ok = log_sql_error(log, e, "read");
            break;
        }
        row_event(st, &ev, hex);
        ok = !with_body || row_body(log, st, &ev, &body, e);
        if (ok && !fn(ctx, &ev))
            break;
    }
    sqlite3_reset(st); /* ends the read transaction */
    buf_free(&body);
    return ok;
}

bool log_get(struct log *log, int64_t seq, struct event *out, struct error *e)
{
    struct buf body = {0};
    char hex[HASH_LEN + 1];
    sqlite3_stmt *st = log_stmt(log, STMT_GET, e);
    if (!st)
        return false;
    sqlite3_bind_int64(st, 1, seq);
    int rc = sqlite3_step(st);
    bool ok = rc == SQLITE_ROW;
    if (ok) {
        row_event(st, out, hex);
        ok = row_body(log, st, out, &body, e);
    } else if (rc == SQLITE_DONE) {
        error_set(e, ERR_NOTFOUND, "%s has no event %lld", log->path, (long long)seq);
    } else {
        log_sql_error(log, e, "read");
    }
    if (ok) {
        out->hash = xstrdup(out->hash);
        out->text = xstrdup(out->text);
        out->body = xstrdup(out->body);
    }
    sqlite3_reset(st);
    buf_free(&body);
    return ok;
}

void event_free_texts(struct event *ev)
{
    const char **owned[] = {&ev->hash, &ev->text, &ev->body};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        free((void *)(uintptr_t)*owned[i]);
        *owned[i] = "";
    }
}

int64_t log_last_seq(struct log *log)
{
    if (log->in_batch)
        return log->last_seq;
    sqlite3_stmt *st = log_stmt(log, STMT_LAST, NULL);
    if (!st)
        return 0;
    int64_t seq = sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return seq;
}

bool log_get_blob(struct log *log, const char *hash, struct buf *out, struct error *e)
{
    unsigned char raw[LOG_HASH_RAW];
    if (!log_hash_from_hex(hash, raw))
        return error_set(e, ERR_NOTFOUND, "\"%.80s\" is not the name of a stored blob", hash);
    sqlite3_stmt *st = log_stmt(log, STMT_BLOB_GET, e);
    if (!st)
        return false;
    sqlite3_bind_blob(st, 1, raw, sizeof raw, SQLITE_STATIC);
    int rc = sqlite3_step(st);
    if (rc != SQLITE_ROW) {
        sqlite3_reset(st);
        if (rc == SQLITE_DONE)
            return error_set(e, ERR_NOTFOUND, "%s holds no blob %.12s", log->path, hash);
        return log_sql_error(log, e, "read");
    }
    size_t size = (size_t)sqlite3_column_int64(st, 0), at = out->len;
    const void *bytes = sqlite3_column_blob(st, 2);
    size_t n = (size_t)sqlite3_column_bytes(st, 2);
    bool ok = true;
    if (sqlite3_column_int(st, 1))
        ok = log_decompress(log, bytes, n, size, out);
    else
        buf_add(out, bytes, n);
    sqlite3_reset(st);
    ok = ok && out->len - at == size;
    if (ok) {
        struct hash again = hash_bytes(out->s + at, size);
        ok = strcmp(again.hex, hash) == 0;
    }
    if (!ok) {
        out->len = at;
        buf_add(out, "", 0);
        error_set(e, ERR_CORRUPT,
                  "%s: the stored blob %.12s is damaged (its content no longer fits "
                  "its hash); other versions are not touched by that",
                  log->path, hash);
    }
    return ok;
}
