/* Statements and errors of SQLite, and the two encodings (hash, zstd) of what is stored. */
#include "core/log/log_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/mem.h"

static const char *const sql[STMT_COUNT] = {
    [STMT_BEGIN] = "BEGIN IMMEDIATE",
    [STMT_COMMIT] = "COMMIT",
    [STMT_ROLLBACK] = "ROLLBACK",
    [STMT_LAST] = "SELECT seq, time FROM event ORDER BY seq DESC LIMIT 1",
    [STMT_APPEND] = "INSERT INTO event(seq,time,kind,code,id,ref,n,x,lo,hi,y,hash,text)"
                    " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13)",
    [STMT_BODY] = "INSERT INTO body(seq,body) VALUES(?1,?2)",
    [STMT_INDEX] = "INSERT INTO search(rowid,text) VALUES(?1,?2)",
    [STMT_BLOB_HAS] = "SELECT 1 FROM blob WHERE hash=?1",
    [STMT_BLOB_PUT] = "INSERT INTO blob(hash,size,zstd,bytes) VALUES(?1,?2,?3,?4)",
    [STMT_BLOB_GET] = "SELECT size,zstd,bytes FROM blob WHERE hash=?1",
    [STMT_EACH] = "SELECT seq,time,kind,code,id,ref,n,x,lo,hi,y,hash,text FROM event"
                  " WHERE seq>?1 AND seq<=?2 ORDER BY seq",
    [STMT_EACH_BODY] = "SELECT e.seq,time,kind,code,id,ref,n,x,lo,hi,y,hash,text,body"
                       " FROM event e LEFT JOIN body b ON b.seq=e.seq"
                       " WHERE e.seq>?1 AND e.seq<=?2 ORDER BY e.seq",
    [STMT_GET] = "SELECT e.seq,time,kind,code,id,ref,n,x,lo,hi,y,hash,text,body"
                 " FROM event e LEFT JOIN body b ON b.seq=e.seq WHERE e.seq=?1",
    [STMT_INBOX_LIST] = "SELECT id,author,kind,text FROM inbox ORDER BY id",
    [STMT_INBOX_DONE] = "DELETE FROM inbox WHERE id=?1",
};

static bool full_error(const char *path, int64_t needed, struct error *e, const char *doing)
{
    struct statvfs s;
    char left[80] = "";
    if (statvfs(path, &s) == 0)
        snprintf(left, sizeof left, ", %.1f MB are free",
                 (double)s.f_bavail * (double)s.f_frsize / 1e6);
    /* Twice the batch and a little: the journal holds it once more, in whole pages. */
    return error_set(e, ERR_FULL,
                     "cannot %s %s: the disk is full%s, about %.1f MB are needed; nothing was half "
                     "written: make room and it goes on",
                     doing, path, left, (double)(2 * needed + 1000000) / 1e6);
}

bool log_db_error(sqlite3 *db, const char *path, int64_t needed, struct error *e, const char *doing)
{
    int rc = db ? sqlite3_errcode(db) & 0xff : SQLITE_NOMEM;
    int sys = db ? sqlite3_system_errno(db) : 0;
    const char *why = db ? sqlite3_errmsg(db) : "out of memory";
    bool io = rc == SQLITE_IOERR || rc == SQLITE_CANTOPEN;
    if (rc == SQLITE_FULL || (io && (sys == ENOSPC || sys == EDQUOT)))
        return full_error(path, needed, e, doing);
    if (rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return error_set(
            e, ERR_BUSY,
            "cannot %s %s: another program has locked it for more than %d s (a backup, "
            "an sqlite3 shell?): end that, then try again",
            doing, path, LOG_BUSY_MS / 1000);
    if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB || rc == SQLITE_FORMAT || rc == SQLITE_ERROR ||
        (io && db && sqlite3_extended_errcode(db) == SQLITE_IOERR_SHORT_READ))
        return error_set(
            e, ERR_CORRUPT,
            "cannot %s %s: the file is damaged or no run of warploop (%s); take a copy, "
            "then save what is readable with: sqlite3 COPY .recover | sqlite3 NEW.warp",
            doing, path, why);
    if (rc == SQLITE_READONLY || rc == SQLITE_PERM ||
        (io && (sys == EROFS || sys == EACCES || sys == EPERM)) ||
        (rc == SQLITE_CANTOPEN && (sys == 0 || sys == ENOENT))) /* a -wal or -shm not to be made */
        return error_set(
            e, ERR_READONLY,
            "cannot %s %s: the file or its folder cannot be written (%s); copy the run "
            "(its -wal file too) to a folder of your own",
            doing, path, why);
    return error_set(e, ERR_SYSTEM, "cannot %s %s: %s%s%s", doing, path, why, sys ? ": " : "",
                     sys ? strerror(sys) : "");
}

bool log_sql_error(struct log *log, struct error *e, const char *doing)
{
    return log_db_error(log->db, log->path, log->batch_bytes, e, doing);
}

sqlite3_stmt *log_stmt(struct log *log, enum log_stmt which, struct error *e)
{
    sqlite3_stmt **st = &log->stmts[which];
    if (*st) {
        sqlite3_reset(*st);
        sqlite3_clear_bindings(*st);
    } else if (sqlite3_prepare_v3(log->db, sql[which], -1, SQLITE_PREPARE_PERSISTENT, st, NULL) !=
               SQLITE_OK) {
        log_sql_error(log, e, "use");
    }
    return *st;
}

bool log_step_done(struct log *log, sqlite3_stmt *st, struct error *e, const char *doing)
{
    int rc = sqlite3_step(st);
    bool ok = rc == SQLITE_DONE || rc == SQLITE_ROW || log_sql_error(log, e, doing);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st); /* what was bound belongs to the caller */
    return ok;
}

static int nibble(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool log_hash_from_hex(const char *hex, unsigned char raw[LOG_HASH_RAW])
{
    for (int i = 0; i < LOG_HASH_RAW; i++) {
        int hi = nibble(hex[2 * i]), lo = hi < 0 ? -1 : nibble(hex[2 * i + 1]);
        if (lo < 0)
            return false;
        raw[i] = (unsigned char)(hi << 4 | lo);
    }
    return hex[HASH_LEN] == '\0';
}

void log_hash_to_hex(const unsigned char raw[LOG_HASH_RAW], char hex[HASH_LEN + 1])
{
    for (int i = 0; i < LOG_HASH_RAW; i++) {
        hex[2 * i] = "0123456789abcdef"[raw[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[raw[i] & 15];
    }
    hex[HASH_LEN] = '\0';
}

bool log_compress(struct log *log, const void *bytes, size_t n, struct buf *out)
{
    if (!log->cctx)
        log->cctx = ZSTD_createCCtx();
    if (!log->cctx || n < 64)
        return false;
    size_t room = ZSTD_compressBound(n);
    size_t got = ZSTD_compressCCtx(log->cctx, buf_room(out, room), room, bytes, n, 3);
    if (ZSTD_isError(got) || got >= n)
        return false;
    out->len += got;
    out->s[out->len] = '\0';
    return true;
}

bool log_decompress(struct log *log, const void *bytes, size_t n, size_t size, struct buf *out)
{
    unsigned long long full = ZSTD_getFrameContentSize(bytes, n);
    if (full == ZSTD_CONTENTSIZE_ERROR || full == ZSTD_CONTENTSIZE_UNKNOWN || full > (256u << 20) ||
        (size && full != size))
        return false;
    if (!log->dctx)
        log->dctx = ZSTD_createDCtx();
    if (!log->dctx)
        return false;
    size_t got =
        ZSTD_decompressDCtx(log->dctx, buf_room(out, (size_t)full), (size_t)full, bytes, n);
    if (ZSTD_isError(got) || got != full)
        return false;
    out->len += got;
    out->s[out->len] = '\0';
    return true;
}
