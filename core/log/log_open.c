#include "core/log/log_private.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

/* What the fold needs stands in `event`; `body` is a table of its own so that a fold does not read
 * past megabytes that are only shown. Hashes are kept as 32 bytes. The triggers are for people with
 * another SQLite tool in hand: history is not edited. */
static const char schema[] =
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " code INTEGER NOT NULL, id INTEGER NOT NULL, ref INTEGER NOT NULL, n INTEGER NOT NULL,"
    " x REAL, lo REAL, hi REAL, y REAL, hash, text TEXT);"
    "CREATE TABLE body(seq INTEGER PRIMARY KEY, body NOT NULL);"
    "CREATE TABLE blob(id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " zstd INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE TABLE inbox(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,"
    " author TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);"
    "CREATE TRIGGER event_update BEFORE UPDATE ON event BEGIN"
    " SELECT raise(ABORT, 'events are never changed'); END;"
    "CREATE TRIGGER event_delete BEFORE DELETE ON event BEGIN"
    " SELECT raise(ABORT, 'events are never deleted'); END;";

/* External content: the index holds no second copy of the texts. */
static const char schema_search[] = "CREATE VIRTUAL TABLE search USING fts5(text, content='event', "
                                    "content_rowid='seq', columnsize=0,"
                                    " tokenize=\"unicode61 remove_diacritics 2\");";

static bool exec(sqlite3 *db, const char *path, const char *sql, struct error *e, const char *doing)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           log_db_error(db, path, 0, e, doing);
}

bool log_make_schema(const char *path, struct error *e)
{
    sqlite3 *db = NULL;
    char ids[160];
    snprintf(ids, sizeof ids,
             "PRAGMA page_size=4096; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;"
             "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d;",
             LOG_APPLICATION_ID, LOG_SCHEMA);
    bool ok = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
                  SQLITE_OK ||
              log_db_error(db, path, 0, e, "make the run");
    ok = ok && exec(db, path, ids, e, "make the run") && exec(db, path, schema, e, "make the run");
    if (ok)
        sqlite3_exec(db, schema_search, NULL, NULL, NULL); /* without FTS5, search is slower */
    ok = ok && exec(db, path, "COMMIT", e, "make the run");
    sqlite3_close(db);
    return ok;
}

char *log_sibling(const char *path, const char *ending)
{
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".warp") == 0)
        n -= 5;
    return xasprintf("%.*s%s", (int)n, path, ending);
}

char *log_temp_beside(const char *path, struct error *e)
{
    char *tmp = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0) {
        error_sys(e, "cannot make %s (is the folder there, and may you write in it?)", path);
        free(tmp);
        return NULL;
    }
    fchmod(fd, 0600);
    close(fd); /* no SQLite connection is open on it yet, so no lock is lost by this */
    return tmp;
}

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (fd < 0)
        return false;
    bool ok = fsync(fd) == 0 || errno == EINVAL; /* some file systems cannot sync folders */
    close(fd);
    return ok;
}

static bool rename_new(const char *tmp, const char *path)
{
    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return true;
    if (errno != EINVAL && errno != ENOSYS)
        return false;
    if (link(tmp, path) != 0) /* a file system without RENAME_NOREPLACE (NFS) */
        return false;
    unlink(tmp);
    return true;
}

bool log_move_into_place(const char *tmp, const char *path, struct error *e)
{
    char *copy = xstrdup(path);
    bool ok = sync_path(tmp, 0) && rename_new(tmp, path) && sync_path(dirname(copy), O_DIRECTORY);
    if (!ok && errno == EEXIST)
        error_set(e, ERR_INPUT, "%s exists already: choose another name", path);
    else if (!ok)
        error_sys(e, "cannot write %s", path);
    if (!ok)
        unlink(tmp);
    free(copy);
    return ok;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Whether a file beside the run can be mapped by several processes; true when none can be made. */
static bool mapping_works(const char *path)
{
    char *probe = xasprintf("%s.%lld-shm", path, (long long)getpid());
    int fd = open(probe, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool works = true;
    if (fd >= 0) {
        void *at = MAP_FAILED;
        if (ftruncate(fd, 4096) == 0) {
            at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            works = at != MAP_FAILED;
        }
        if (at != MAP_FAILED)
            munmap(at, 4096);
        unlink(probe);
        close(fd);
    }
    free(probe);
    return works;
}

/* WAL needs memory that all readers share. A file system of the network may map files and yet not
 * share them between hosts; others cannot map them at all. */
static bool shared_memory_works(const char *path)
{
    static const long remote[] = {
        NFS_SUPER_MAGIC,         SMB_SUPER_MAGIC,       V9FS_MAGIC,
        FUSE_SUPER_MAGIC,        AFS_SUPER_MAGIC,       CODA_SUPER_MAGIC,
        0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */, 0x19830326 /* BeeGFS */,
        0x00c36400 /* Ceph */,   0x01161970 /* GFS2 */, 0x7461636f /* OCFS2 */,
        0xfe534d42 /* SMB2 */,   0xff534d42 /* CIFS */, 0x61756673 /* aufs */,
    };
    struct statfs s;
    if (statfs(path, &s) != 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(remote); i++)
        if ((unsigned)s.f_type == (unsigned)remote[i])
            return false;
    return mapping_works(path);
}

static bool pragma(sqlite3 *db, const char *sql, struct buf *out)
{
    sqlite3_stmt *st = NULL;
    bool ok =
        sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
    if (ok) {
        const unsigned char *v = sqlite3_column_text(st, 0);
        buf_adds(out, v ? (const char *)v : "");
    }
    return sqlite3_finalize(st) == SQLITE_OK && ok;
}

static bool pragma_int(struct log *log, const char *sql, long *value, struct error *e)
{
    struct buf b = {0};
    bool ok = pragma(log->db, sql, &b) || log_sql_error(log, e, "read");
    *value = strtol(buf_str(&b), NULL, 10);
    buf_free(&b);
    return ok;
}

static bool check_header(struct log *log, struct error *e)
{
    long app = 0, schema_now = 0;
    if (!pragma_int(log, "PRAGMA application_id", &app, e) ||
        !pragma_int(log, "PRAGMA user_version", &schema_now, e))
        return false;
    if (app != LOG_APPLICATION_ID)
        return error_set(e, ERR_CORRUPT,
                         "%s is not a run of warploop (an empty file, or one of another program): "
                         "warploop ls lists the runs",
                         log->path);
    if (schema_now > LOG_SCHEMA)
        return error_set(e, ERR_NEWER,
                         "%s was written by a newer warploop (file schema %ld, this program knows "
                         "%d): use that version, or a newer one",
                         log->path, schema_now, LOG_SCHEMA);
    return true;
}

/* A file that another host left in WAL mode cannot even be read where shared memory is not to be
 * had; under an exclusive lock SQLite needs none, and can turn it back. */
static bool leave_wal(struct log *log)
{
    struct buf got = {0};
    bool ok =
        sqlite3_exec(log->db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK &&
        pragma(log->db, "PRAGMA journal_mode=TRUNCATE", &got) &&
        strcmp(buf_str(&got), "truncate") == 0;
    buf_free(&got);
    /* The lock goes with the first read after the mode is normal again. */
    return ok && sqlite3_exec(log->db, "PRAGMA locking_mode=NORMAL; SELECT 1 FROM sqlite_master",
                              NULL, NULL, NULL) == SQLITE_OK;
}

static bool is_busy(struct log *log)
{
    return (sqlite3_errcode(log->db) & 0xff) == SQLITE_BUSY;
}

static bool set_journal(struct log *log, struct error *e)
{
    struct buf now = {0}, got = {0};
    bool wal = shared_memory_works(log->path);
    bool ok = pragma(log->db, "PRAGMA journal_mode", &now);
    bool in_wal = strcmp(buf_str(&now), "wal") == 0;
    ok = ok && strcmp(buf_str(&now), wal ? "wal" : "truncate") == 0;
    if (!ok && wal && !in_wal)
        ok = pragma(log->db, "PRAGMA journal_mode=WAL", &got) && strcmp(buf_str(&got), "wal") == 0;
    if (!ok && !is_busy(log))
        ok = leave_wal(log);
    buf_free(&now);
    buf_free(&got);
    return ok || log_sql_error(log, e, "set up the journal of");
}

static bool read_last(struct log *log, struct error *e)
{
    sqlite3_stmt *st = log_stmt(log, STMT_LAST, e);
    if (!st)
        return false;
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        log->last_seq = sqlite3_column_int64(st, 0);
        log->last_time = sqlite3_column_int64(st, 1);
    }
    sqlite3_reset(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE || log_sql_error(log, e, "read");
}

/* Whether the run's file itself is all there is of it. */
static bool is_complete(const char *path)
{
    char *wal = xasprintf("%s-wal", path), *journal = xasprintf("%s-journal", path);
    struct stat st;
    bool pending =
        (stat(wal, &st) == 0 && st.st_size > 0) || (stat(journal, &st) == 0 && st.st_size > 0);
    free(wal);
    free(journal);
    return !pending;
}

static bool folder_writable(const char *path)
{
    char *copy = xstrdup(path);
    bool writable = access(dirname(copy), W_OK) == 0;
    free(copy);
    return writable;
}

static char *uri_of(const char *path, const char *query)
{
    struct buf b = {0};
    buf_adds(&b, "file:");
    for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
        if (*p == '%' || *p == '?' || *p == '#' || *p < 0x20)
            buf_addf(&b, "%%%02x", *p);
        else
            buf_addc(&b, (char)*p);
    }
    buf_adds(&b, query);
    return buf_take(&b);
}

static bool connect_db(struct log *log, bool immutable, struct error *e)
{
    struct stat st;
    if (stat(log->path, &st) != 0) {
        error_sys(e, "cannot open the run %s", log->path);
        if (e && (errno == ENOENT || errno == ENOTDIR))
            e->code = ERR_NOTFOUND;
        return false;
    }
    if (!S_ISREG(st.st_mode))
        return error_set(e, ERR_CORRUPT, "%s is not a file, so it is no run", log->path);
    const char *query = !log->readonly ? "?mode=rw"
                        : immutable    ? "?mode=ro&immutable=1"
                                       : "?mode=ro";
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI |
                (log->readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    char *uri = uri_of(log->path, query);
    int rc = sqlite3_open_v2(uri, &log->db, flags, NULL);
    free(uri);
    if (rc != SQLITE_OK)
        return log_sql_error(log, e, "open");
    sqlite3_extended_result_codes(log->db, 1);
    sqlite3_busy_timeout(log->db, LOG_BUSY_MS);
    sqlite3_db_config(log->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(log->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return true;
}

static bool reconnect(struct log *log, bool immutable, struct error *e)
{
    sqlite3_close(log->db);
    log->db = NULL;
    return connect_db(log, immutable, e);
}

/* Opens a file in WAL mode where shared memory is not to be had, after a first read has failed. A
 * writer turns WAL off. A reader takes a complete file as one that does not change; one whose last
 * commits still lie in the -wal (its last user was killed, or could only read) is first turned into
 * a complete one, which needs the right to write. */
static bool open_without_memory(struct log *log, bool complete, struct error *e)
{
    /* A connection that has missed the memory once asks for it for ever: each step is a new one. */
    if (!log->readonly)
        return reconnect(log, false, e) && (leave_wal(log) || true);
    if (complete)
        return reconnect(log, true, e);
    log->readonly = false;
    if (reconnect(log, false, NULL))
        leave_wal(log);
    log->readonly = true;
    return reconnect(log, false, e);
}

/* A complete file on a medium that cannot be written is read as one that does not change: there is
 * no place beside it for what WAL needs. */
static bool open_checked(struct log *log, struct error *e)
{
    bool complete = log->readonly && is_complete(log->path);
    if (!connect_db(log, complete && !folder_writable(log->path), e))
        return false;
    struct buf first = {0};
    bool readable = pragma(log->db, "PRAGMA schema_version", &first);
    buf_free(&first);
    int rc = readable ? SQLITE_OK : sqlite3_extended_errcode(log->db);
    bool no_memory = (rc & 0xff) == SQLITE_CANTOPEN || rc == SQLITE_IOERR_SHMMAP ||
                     rc == SQLITE_IOERR_SHMOPEN || rc == SQLITE_IOERR_SHMLOCK;
    if (no_memory && (log->readonly || !sqlite3_db_readonly(log->db, "main")) &&
        !open_without_memory(log, complete, e))
        return false;
    return check_header(log, e);
}

static bool set_up(struct log *log, struct error *e)
{
    if (!open_checked(log, e))
        return false;
    if (!log->readonly) {
        if (sqlite3_db_readonly(log->db, "main") == 1)
            return error_set(e, ERR_READONLY,
                             "%s cannot be written (its mode or its file system forbids it): "
                             "copy it elsewhere, or use warploop watch to look at it",
                             log->path);
        if (!set_journal(log, e) ||
            !exec(log->db, log->path,
                  "PRAGMA synchronous=FULL; PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY;"
                  "PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=8388608",
                  e, "set up"))
            return false;
    }
    struct buf found = {0};
    log->indexed = pragma(log->db, "SELECT 1 FROM search LIMIT 0", &found) ||
                   sqlite3_errcode(log->db) == SQLITE_OK;
    buf_free(&found);
    return read_last(log, e);
}

static struct log *open_as(const char *path, bool readonly, struct error *e)
{
    struct log *log = xcalloc(1, sizeof *log);
    log->path = xstrdup(path);
    log->readonly = readonly;
    log->lock_fd = -1;
    if (set_up(log, e))
        return log;
    log_close(log);
    return NULL;
}

struct log *log_open(const char *path, struct error *e)
{
    return open_as(path, false, e);
}

struct log *log_open_read(const char *path, struct error *e)
{
    return open_as(path, true, e);
}

struct log *log_create(const char *path, struct error *e)
{
    if (fs_exists(path)) {
        error_set(e, ERR_INPUT, "%s exists already: choose another name", path);
        return NULL;
    }
    char *tmp = log_temp_beside(path, e);
    if (!tmp)
        return NULL;
    bool ok = log_make_schema(tmp, e);
    if (!ok)
        unlink(tmp);
    ok = ok && log_move_into_place(tmp, path, e);
    free(tmp);
    return ok ? log_open(path, e) : NULL;
}

void log_close(struct log *log)
{
    if (!log)
        return;
    log_rollback(log);
    for (int i = 0; i < STMT_COUNT; i++)
        sqlite3_finalize(log->stmts[i]);
    sqlite3_close_v2(log->db);
    ZSTD_freeCCtx(log->cctx);
    ZSTD_freeDCtx(log->dctx);
    if (log->lock_fd >= 0)
        close(log->lock_fd); /* last: the lock outlives the connection */
    free(log->path);
    free(log);
}

const char *log_path(const struct log *log)
{
    return log->path;
}
