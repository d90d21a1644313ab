/* The inbox: what people ask a run for, from any process. */
#include "core/log/log_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

#define INBOX_TEXT_MAX ((size_t)1 << 20)

static bool insert(struct log *log, const char *author, const char *kind, const char *text,
                   struct error *e)
{
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(log->db, "INSERT INTO inbox(time,author,kind,text) VALUES(?1,?2,?3,?4)",
                           -1, &st, NULL) != SQLITE_OK)
        return log_sql_error(log, e, "write");
    sqlite3_bind_int64(st, 1, clock_wall_ns());
    sqlite3_bind_text(st, 2, author, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 3, kind, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 4, text, -1, SQLITE_STATIC);
    log->batch_bytes = (int64_t)strlen(text);
    bool ok = log_step_done(log, st, e, "write");
    sqlite3_finalize(st);
    return ok;
}

bool inbox_put(const char *path, const char *author, const char *kind, const char *text,
               struct error *e)
{
    size_t n = strlen(text);
    if (n > INBOX_TEXT_MAX)
        return error_set(e, ERR_INPUT,
                         "the text has %zu bytes; at most %zu are taken: put the long part in a "
                         "file and name it",
                         n, INBOX_TEXT_MAX);
    struct log *log = log_open(path, e);
    if (!log)
        return false;
    bool ok = insert(log, author, kind, text, e);
    log_close(log);
    return ok;
}

static char *column_copy(sqlite3_stmt *st, int col)
{
    const unsigned char *s = sqlite3_column_text(st, col);
    return xstrdup(s ? (const char *)s : "");
}

bool inbox_list(struct log *log, struct command **cmds, size_t *n, struct error *e)
{
    size_t cap = 0;
    int rc;
    *cmds = NULL;
    *n = 0;
    sqlite3_stmt *st = log_stmt(log, STMT_INBOX_LIST, e);
    if (!st)
        return false;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        VEC_ROOM(*cmds, *n, cap);
        (*cmds)[(*n)++] = (struct command){.id = sqlite3_column_int64(st, 0),
                                           .author = column_copy(st, 1),
                                           .kind = column_copy(st, 2),
                                           .text = column_copy(st, 3)};
    }
    sqlite3_reset(st);
    if (rc == SQLITE_DONE)
        return true;
    inbox_free(*cmds, *n);
    *cmds = NULL;
    *n = 0;
    return log_sql_error(log, e, "read");
}

void inbox_free(struct command *cmds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(cmds[i].author);
        free(cmds[i].kind);
        free(cmds[i].text);
    }
    free(cmds);
}

bool inbox_done(struct log *log, int64_t id, struct error *e)
{
    struct error why;
    if (!log->in_batch) {
        log_begin(log);
        if (inbox_done(log, id, e))
            return log_commit(log, e);
        log_rollback(log);
        return false;
    }
    if (log->failed) {
        if (e)
            *e = log->failure;
        return false;
    }
    sqlite3_stmt *st = log_stmt(log, STMT_INBOX_DONE, &why);
    if (st) {
        sqlite3_bind_int64(st, 1, id);
        if (log_step_done(log, st, &why, "write"))
            return true;
    }
    log->failed = true;
    log->failure = why;
    if (e)
        *e = why;
    return false;
}
