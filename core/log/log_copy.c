/* Copies of a run: a fork (events up to one, and the blobs they name) and an export (everything,
 * one file). Both are written beside and renamed into place. */
#include "core/log/log_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"

struct copy {
    struct log *from, *to;
    struct error *e;
    bool ok;
};

static bool copy_blob(struct copy *c, const char *hex)
{
    unsigned char raw[LOG_HASH_RAW];
    if (!log_hash_from_hex(hex, raw))
        return true;
    sqlite3_stmt *has = log_stmt(c->to, STMT_BLOB_HAS, c->e);
    if (!has)
        return false;
    sqlite3_bind_blob(has, 1, raw, sizeof raw, SQLITE_STATIC);
    bool there = sqlite3_step(has) == SQLITE_ROW;
    sqlite3_reset(has);
    if (there)
        return true;
    sqlite3_stmt *get = log_stmt(c->from, STMT_BLOB_GET, c->e);
    sqlite3_stmt *put = get ? log_stmt(c->to, STMT_BLOB_PUT, c->e) : NULL;
    if (!put)
        return false;
    sqlite3_bind_blob(get, 1, raw, sizeof raw, SQLITE_STATIC);
    int rc = sqlite3_step(get);
    bool ok = rc == SQLITE_DONE; /* a hash that names no blob (a plan's identity alone) */
    if (rc == SQLITE_ROW) {
        sqlite3_bind_blob(put, 1, raw, sizeof raw, SQLITE_STATIC);
        sqlite3_bind_value(put, 2, sqlite3_column_value(get, 0));
        sqlite3_bind_value(put, 3, sqlite3_column_value(get, 1));
        sqlite3_bind_value(put, 4, sqlite3_column_value(get, 2));
        ok = log_step_done(c->to, put, c->e, "write");
    } else if (!ok) {
        log_sql_error(c->from, c->e, "read");
    }
    sqlite3_reset(get);
    return ok;
}

/* Bodies name blobs too (objects, compiler output): every run of exactly 64 hex digits may be one.
 */
static bool copy_named_blobs(struct copy *c, const char *body)
{
    static const char digits[] = "0123456789abcdef";
    for (const char *p = body; *p;) {
        size_t n = strspn(p, digits);
        if (n == HASH_LEN) {
            char hex[HASH_LEN + 1];
            memcpy(hex, p, HASH_LEN);
            hex[HASH_LEN] = '\0';
            if (!copy_blob(c, hex))
                return false;
        }
        p += n;
        p += strcspn(p, digits);
    }
    return true;
}

static bool copy_event(void *ctx, const struct event *ev)
{
    struct copy *c = ctx;
    struct event again = *ev;
    c->ok = log_append(c->to, &again, c->e);
    if (c->ok && again.seq != ev->seq)
        c->ok = error_set(c->e, ERR_CORRUPT, "%s: event %lld is missing", c->from->path,
                          (long long)again.seq);
    c->ok = c->ok && copy_blob(c, ev->hash) && copy_named_blobs(c, ev->body);
    return c->ok;
}

static bool fork_into(struct log *from, int64_t upto, const char *tmp, struct error *e)
{
    if (!log_make_schema(tmp, e))
        return false;
    struct log *to = log_open(tmp, e);
    if (!to)
        return false;
    struct copy c = {.from = from, .to = to, .e = e, .ok = true};
    log_begin(to);
    /* One read transaction on the parent, so that events and blobs are of one moment. */
    bool ok = sqlite3_exec(from->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ||
              log_sql_error(from, e, "read");
    ok = ok && log_each(from, 0, upto, true, copy_event, &c, e) && c.ok;
    sqlite3_exec(from->db, "COMMIT", NULL, NULL, NULL);
    ok = ok && log_commit(to, e);
    /* Back to one file, so that the rename moves everything. */
    if (ok && sqlite3_exec(to->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
        ok = log_sql_error(to, e, "write");
    log_close(to);
    return ok;
}

struct safe_point {
    int64_t open, safe; /* calls and effects begun and not closed */
};

static bool look_for_safe(void *ctx, const struct event *ev)
{
    struct safe_point *p = ctx;
    if (ev->kind == EV_CALL || ev->kind == EV_EFFECT)
        p->open++;
    if (ev->kind == EV_CALL_DONE || ev->kind == EV_EFFECT_DONE || ev->kind == EV_INTERRUPTED)
        p->open--;
    if (p->open <= 0)
        p->safe = ev->seq;
    return true;
}

bool log_safe_point(struct log *log, int64_t seq, int64_t *safe, struct error *e)
{
    struct safe_point p = {0, 0};
    if (seq > 0 && !log_each(log, 0, seq, false, look_for_safe, &p, e))
        return false;
    *safe = p.safe;
    return true;
}

static void unlink_all(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        char *name = xasprintf("%s%s", path, endings[i]);
        unlink(name);
        free(name);
    }
}

bool log_fork(const char *from, int64_t upto, const char *to, struct error *e)
{
    if (upto < 1)
        return error_set(e, ERR_INPUT, "a fork holds at least the first event of its parent");
    struct log *src = log_open_read(from, e);
    if (!src)
        return false;
    int64_t last = log_last_seq(src);
    char *tmp = NULL;
    bool ok = upto <= last ||
              error_set(e, ERR_NOTFOUND, "%s has only %lld events", from, (long long)last);
    ok = ok && (tmp = log_temp_beside(to, e)) != NULL;
    ok = ok && fork_into(src, upto, tmp, e) && log_move_into_place(tmp, to, e);
    if (!ok && tmp)
        unlink_all(tmp);
    free(tmp);
    log_close(src);
    return ok;
}

bool log_export(const char *from, const char *to, struct error *e)
{
    struct log *src = log_open_read(from, e);
    if (!src)
        return false;
    char *tmp = log_temp_beside(to, e);
    sqlite3_stmt *st = NULL;
    bool ok = tmp != NULL;
    if (ok && sqlite3_prepare_v2(src->db, "VACUUM INTO ?1", -1, &st, NULL) != SQLITE_OK)
        ok = log_sql_error(src, e, "copy");
    if (ok) {
        sqlite3_bind_text(st, 1, tmp, -1, SQLITE_STATIC);
        ok = log_step_done(src, st, e, "copy");
    }
    sqlite3_finalize(st);
    ok = ok && log_move_into_place(tmp, to, e);
    if (!ok && tmp)
        unlink_all(tmp);
    free(tmp);
    log_close(src);
    return ok;
}
