/* Inside of the event log: what its modules (log_open, log_write, log_read, log_copy, search,
 * inbox) share. Nothing outside core/log/ includes this. */
#ifndef WARPLOOP_LOG_LOG_PRIVATE_H
#define WARPLOOP_LOG_LOG_PRIVATE_H

#include <sqlite3.h>
#include <zstd.h>

#include "core/log/log.h"

#define LOG_APPLICATION_ID 0x57415250 /* "WARP" in the file's header */
#define LOG_BUSY_MS        5000       /* how long a file locked by another program is waited for */
#define LOG_BODY_PLAIN     256        /* bodies shorter than this are not compressed */
#define LOG_HASH_RAW       32

enum log_stmt {
    STMT_BEGIN,
    STMT_COMMIT,
    STMT_ROLLBACK,
    STMT_LAST,
    STMT_APPEND,
    STMT_BODY,
    STMT_INDEX,
    STMT_BLOB_HAS,
    STMT_BLOB_PUT,
    STMT_BLOB_GET,
    STMT_EACH,
    STMT_EACH_BODY,
    STMT_GET,
    STMT_INBOX_LIST,
    STMT_INBOX_DONE,
    STMT_COUNT
};

struct log {
    sqlite3 *db;
    char *path;
    bool readonly, indexed; /* indexed: FTS5 is in this SQLite and in the file */
    int lock_fd;            /* -1 when not locked */
    bool in_batch;
    bool failed; /* something went wrong in the batch: `failure` is what log_commit reports */
    struct error failure;
    int64_t last_seq, last_time;
    int64_t kept_seq, kept_time; /* as they were before the batch */
    int64_t batch_bytes;         /* appended in this batch, for the message of a full disk */
    int64_t commits;
    void (*before_commit)(void *ctx);
    void *hook_ctx;
    ZSTD_CCtx *cctx; /* made when first wanted */
    ZSTD_DCtx *dctx;
    sqlite3_stmt *stmts[STMT_COUNT];
};

/* Turn SQLite's last error on this handle into an error that says what to do. Returns false. */
bool log_sql_error(struct log *log, struct error *e, const char *doing);
/* The same for a connection without a handle. */
bool log_db_error(sqlite3 *db, const char *path, int64_t needed, struct error *e,
                  const char *doing);

/* A prepared statement, reset and without bindings; kept by the handle. NULL: *e is filled. */
sqlite3_stmt *log_stmt(struct log *log, enum log_stmt which, struct error *e);
/* Run a statement that gives no rows and reset it. */
bool log_step_done(struct log *log, sqlite3_stmt *st, struct error *e, const char *doing);

/* Hash between its 64 hex digits and the 32 bytes that are stored. from_hex is false for a text
 * that is no hash. */
bool log_hash_from_hex(const char *hex, unsigned char raw[LOG_HASH_RAW]);
void log_hash_to_hex(const unsigned char raw[LOG_HASH_RAW], char hex[HASH_LEN + 1]);

/* zstd when that is smaller; returns true and appends to out, or false: keep it as it is. */
bool log_compress(struct log *log, const void *bytes, size_t n, struct buf *out);
/* Undo it; false when damaged or not `size` bytes (0: as the frame says, at most 256 MiB). */
bool log_decompress(struct log *log, const void *bytes, size_t n, size_t size, struct buf *out);

/* Make a complete empty run file at `path` (which exists and is empty). */
bool log_make_schema(const char *path, struct error *e);
/* "beside it" name, made and empty, mode 0600; the caller frees. NULL: *e is filled. */
char *log_temp_beside(const char *path, struct error *e);
/* Sync tmp, give it the name `path` (never over an existing file), sync the folder; removes tmp on
 * failure. */
bool log_move_into_place(const char *tmp, const char *path, struct error *e);

/* Words of a person made into an FTS5 query in which nothing is syntax: every word a quoted prefix,
 * all of them wanted. Empty when there is no word. Caller frees. */
char *search_query(const char *words);
/* Whether a kind's text is found by log_search. */
bool search_covers(enum event_kind kind);

/* "kda-3.lock" from "kda-3.warp"; caller frees. */
char *log_sibling(const char *path, const char *ending);

#endif
