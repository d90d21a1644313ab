#include "tests/support/dropvfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/mem.h"

#define PIECE 512

/* A write, or a change of size, or a removal, that was not synced yet. */
struct pending {
    int64_t at;
    size_t n;
    unsigned char *bytes; /* NULL: the file gets the size `at`, or is removed when that is -1 */
};

struct image {
    char *path;
    struct buf safe; /* content that a power cut leaves */
    bool there;      /* and whether it leaves a file at all */
    struct pending *pending;
    size_t npending, cap_pending;
};

struct drop_file {
    sqlite3_file base;
    struct image *image; /* NULL: a temporary file, not followed */
    sqlite3_file *real;
};

static struct {
    sqlite3_vfs vfs, *real;
    sqlite3_io_methods methods;
    struct image **images;
    size_t nimages, cap_images;
    void (*hook)(void *ctx, int64_t n, enum drop_op op);
    void *ctx;
    int64_t ops, fail_at;
    int fail_code;
    bool fail_once;
} g;

/* ---- what would survive ------------------------------------------------------------------------
 */

static struct image *image_of(const char *path)
{
    for (size_t i = 0; i < g.nimages; i++)
        if (strcmp(g.images[i]->path, path) == 0)
            return g.images[i];
    struct image *m = xcalloc(1, sizeof *m);
    m->path = xstrdup(path);
    m->there = fs_exists(path); /* what was there before is safe */
    if (m->there && !fs_read(path, (size_t)1 << 30, &m->safe, NULL))
        abort();
    VEC_ROOM(g.images, g.nimages, g.cap_images);
    g.images[g.nimages++] = m;
    return m;
}

static void set_size(struct buf *b, size_t n)
{
    if (n > b->len)
        memset(buf_room(b, n - b->len), 0, n - b->len);
    b->len = n;
    buf_add(b, "", 0);
}

static void put_bytes(struct buf *b, int64_t at, const unsigned char *bytes, size_t n)
{
    if (b->len < (size_t)at + n)
        set_size(b, (size_t)at + n);
    memcpy(b->s + at, bytes, n);
}

static void forget_pending(struct image *m)
{
    for (size_t i = 0; i < m->npending; i++)
        free(m->pending[i].bytes);
    m->npending = 0;
}

static void add_pending(struct image *m, int64_t at, const void *bytes, size_t n)
{
    struct pending p = {.at = at, .n = n};
    if (bytes) {
        p.bytes = xmalloc(n);
        memcpy(p.bytes, bytes, n);
    }
    VEC_ROOM(m->pending, m->npending, m->cap_pending);
    m->pending[m->npending++] = p;
}

/* False: the removal did not happen, so that what came after it in the new file did not either. */
static bool apply(struct image *m, const struct pending *p, enum drop_mode mode, uint64_t *seed)
{
    if (!p->bytes) {
        *seed = hash_mix(*seed, 1);
        bool happens = mode == DROP_NONE || *seed % 2;
        if (happens)
            set_size(&m->safe, p->at < 0 ? 0 : (size_t)p->at);
        m->there = happens && p->at < 0 ? false : m->there;
        return happens || p->at >= 0;
    }
    m->there = true;
    for (size_t done = 0; done < p->n;) {
        int64_t at = p->at + (int64_t)done;
        size_t n = PIECE - (size_t)(at % PIECE);
        if (n > p->n - done)
            n = p->n - done;
        *seed = hash_mix(*seed, (uint64_t)at);
        if (mode == DROP_NONE || *seed % 2)
            put_bytes(&m->safe, at, p->bytes + done, n);
        done += n;
    }
    return true;
}

static void write_rubbish(const char *path)
{
    char *shm = xasprintf("%s-shm", path);
    if (fs_exists(shm)) {
        char rubbish[32768];
        memset(rubbish, 0xa5, sizeof rubbish);
        if (!fs_write(shm, rubbish, sizeof rubbish, NULL))
            abort();
    }
    free(shm);
}

void dropvfs_power_cut(enum drop_mode mode, uint64_t seed)
{
    for (size_t i = 0; i < g.nimages; i++) {
        struct image *m = g.images[i];
        for (size_t k = 0; mode != DROP_ALL && k < m->npending; k++)
            if (!apply(m, &m->pending[k], mode, &seed))
                break;
        forget_pending(m);
        if (!m->there)
            unlink(m->path);
        else if (!fs_write(m->path, m->safe.s, m->safe.len, NULL))
            abort();
        write_rubbish(m->path);
    }
}

/* ---- the file methods --------------------------------------------------------------------------
 */

static struct drop_file *self(sqlite3_file *f)
{
    return (struct drop_file *)(void *)f;
}

/* Count the operation; the code that it shall fail with, or SQLITE_OK. */
static int count(enum drop_op op)
{
    g.ops++;
    if (g.hook)
        g.hook(g.ctx, g.ops, op);
    bool fails = g.fail_at && (g.fail_once ? g.ops == g.fail_at : g.ops >= g.fail_at);
    return fails ? g.fail_code : SQLITE_OK;
}

static int drop_close(sqlite3_file *f)
{
    return self(f)->real->pMethods->xClose(self(f)->real);
}

static int drop_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
    return self(f)->real->pMethods->xRead(self(f)->real, to, n, at);
}

static int drop_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
    struct drop_file *d = self(f);
    if (!d->image)
        return d->real->pMethods->xWrite(d->real, from, n, at);
    int rc = count(DROP_WRITE);
    if (rc == SQLITE_OK)
        rc = d->real->pMethods->xWrite(d->real, from, n, at);
    if (rc == SQLITE_OK)
        add_pending(d->image, at, from, (size_t)n);
    return rc;
}

static int drop_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct drop_file *d = self(f);
    if (!d->image)
        return d->real->pMethods->xTruncate(d->real, size);
    int rc = count(DROP_TRUNCATE);
    if (rc == SQLITE_OK)
        rc = d->real->pMethods->xTruncate(d->real, size);
    if (rc == SQLITE_OK)
        add_pending(d->image, size, NULL, 0);
    return rc;
}

/* Not passed on: the machine that runs the test does not lose power, and syncing is slow. */
static int drop_sync(sqlite3_file *f, int flags)
{
    struct drop_file *d = self(f);
    uint64_t seed = 0;
    (void)flags;
    if (!d->image)
        return SQLITE_OK;
    int rc = count(DROP_SYNC);
    if (rc != SQLITE_OK)
        return rc;
    for (size_t i = 0; i < d->image->npending; i++)
        apply(d->image, &d->image->pending[i], DROP_NONE, &seed);
    forget_pending(d->image);
    d->image->there = true;
    return SQLITE_OK;
}

static int drop_file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return self(f)->real->pMethods->xFileSize(self(f)->real, size);
}

static int drop_lock(sqlite3_file *f, int level)
{
    return self(f)->real->pMethods->xLock(self(f)->real, level);
}

static int drop_unlock(sqlite3_file *f, int level)
{
    return self(f)->real->pMethods->xUnlock(self(f)->real, level);
}

static int drop_check_lock(sqlite3_file *f, int *held)
{
    return self(f)->real->pMethods->xCheckReservedLock(self(f)->real, held);
}

static int drop_control(sqlite3_file *f, int op, void *arg)
{
    return self(f)->real->pMethods->xFileControl(self(f)->real, op, arg);
}

static int drop_sector_size(sqlite3_file *f)
{
    return self(f)->real->pMethods->xSectorSize(self(f)->real);
}

/* Nothing may be relied on that the model does not keep. */
static int drop_traits(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int drop_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return self(f)->real->pMethods->xShmMap(self(f)->real, page, size, extend, out);
}

static int drop_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return self(f)->real->pMethods->xShmLock(self(f)->real, offset, n, flags);
}

static void drop_shm_barrier(sqlite3_file *f)
{
    self(f)->real->pMethods->xShmBarrier(self(f)->real);
}

static int drop_shm_unmap(sqlite3_file *f, int delete_it)
{
    return self(f)->real->pMethods->xShmUnmap(self(f)->real, delete_it);
}

/* ---- the VFS -----------------------------------------------------------------------------------
 */

static int drop_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *out)
{
    struct drop_file *d = self(f);
    (void)vfs;
    d->base.pMethods = NULL;
    d->real = (sqlite3_file *)(void *)(d + 1);
    d->image = path && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL))
                   ? image_of(path)
                   : NULL;
    int rc = g.real->xOpen(g.real, path, d->real, flags, out);
    if (rc == SQLITE_OK)
        d->base.pMethods = &g.methods;
    return rc;
}

static int drop_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    struct image *m = image_of(path);
    int rc = count(DROP_DELETE);
    if (rc == SQLITE_OK)
        rc = g.real->xDelete(g.real, path, 0);
    if (rc != SQLITE_OK)
        return rc;
    forget_pending(m);
    add_pending(m, -1, NULL, 0); /* a power cut may bring it back as it was last synced ... */
    if (sync_folder) {           /* ... unless the folder was synced too */
        forget_pending(m);
        m->there = false;
        buf_free(&m->safe);
    }
    return SQLITE_OK;
}

static int drop_access(sqlite3_vfs *vfs, const char *path, int flags, int *out)
{
    (void)vfs;
    return g.real->xAccess(g.real, path, flags, out);
}

static int drop_full_path(sqlite3_vfs *vfs, const char *path, int n, char *out)
{
    (void)vfs;
    return g.real->xFullPathname(g.real, path, n, out);
}

static int drop_random(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    return g.real->xRandomness(g.real, n, out);
}

static int drop_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return g.real->xSleep(g.real, us);
}

static int drop_time(sqlite3_vfs *vfs, double *out)
{
    (void)vfs;
    return g.real->xCurrentTime(g.real, out);
}

static int drop_last_error(sqlite3_vfs *vfs, int n, char *out)
{
    (void)vfs;
    return g.real->xGetLastError(g.real, n, out);
}

void dropvfs_install(bool no_wal)
{
    if (g.real) /* a test that failed left it */
        dropvfs_remove();
    memset(&g, 0, sizeof g);
    g.real = sqlite3_vfs_find(NULL);
    g.methods = (sqlite3_io_methods){
        .iVersion = no_wal ? 1 : 2,
        .xClose = drop_close,
        .xRead = drop_read,
        .xWrite = drop_write,
        .xTruncate = drop_truncate,
        .xSync = drop_sync,
        .xFileSize = drop_file_size,
        .xLock = drop_lock,
        .xUnlock = drop_unlock,
        .xCheckReservedLock = drop_check_lock,
        .xFileControl = drop_control,
        .xSectorSize = drop_sector_size,
        .xDeviceCharacteristics = drop_traits,
        .xShmMap = drop_shm_map,
        .xShmLock = drop_shm_lock,
        .xShmBarrier = drop_shm_barrier,
        .xShmUnmap = drop_shm_unmap,
    };
    g.vfs = (sqlite3_vfs){
        .iVersion = 1,
        .szOsFile = (int)sizeof(struct drop_file) + g.real->szOsFile,
        .mxPathname = g.real->mxPathname,
        .zName = "drop",
        .xOpen = drop_open,
        .xDelete = drop_delete,
        .xAccess = drop_access,
        .xFullPathname = drop_full_path,
        .xRandomness = drop_random,
        .xSleep = drop_sleep,
        .xCurrentTime = drop_time,
        .xGetLastError = drop_last_error,
    };
    sqlite3_vfs_register(&g.vfs, 1);
}

void dropvfs_remove(void)
{
    sqlite3_vfs_unregister(&g.vfs);
    sqlite3_vfs_register(g.real, 1);
    for (size_t i = 0; i < g.nimages; i++) {
        forget_pending(g.images[i]);
        buf_free(&g.images[i]->safe);
        free(g.images[i]->pending);
        free(g.images[i]->path);
        free(g.images[i]);
    }
    free(g.images);
    memset(&g, 0, sizeof g);
}

void dropvfs_before(void (*hook)(void *ctx, int64_t n, enum drop_op op), void *ctx)
{
    g.hook = hook;
    g.ctx = ctx;
}

int64_t dropvfs_ops(void)
{
    return g.ops;
}

void dropvfs_fail(int64_t n, int code, bool once)
{
    g.fail_at = n;
    g.fail_code = code;
    g.fail_once = once;
}
