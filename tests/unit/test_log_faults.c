/* The event log against power cuts, kills, full disks, damage, foreign files and other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/log.h"
#include "core/log/reader.h"
#include "tests/support/dropvfs.h"
#include "tests/support/invariants.h"
#include "tests/support/mkrun.h"
#include "tests/support/scratch.h"

static struct error e;

#define ok(x) assert_good((x), #x)
static void assert_good(bool good, const char *what)
{
    if (!good)
        fail_msg("%s: %s", what, e.msg);
}

static int set_up(void **state)
{
    e = (struct error){0};
    *state = scratch_new();
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

/* ---- power cuts --------------------------------------------------------------------------------
 */

/* Batches of different sizes, two of them over what SQLite keeps in memory or in its journal
 * before it writes through; the log is closed and opened again in the middle. */
#define BATCHES 14

static bool big_batch(int b)
{
    return b == 4 || b == 9;
}

static int64_t batch_events(int b)
{
    return 1 + b % 4;
}

static bool append_batch(struct log *log, int b)
{
    struct hash h;
    struct buf noise = {0};
    char text[64];
    for (uint64_t i = 0; i < (big_batch(b) ? 300000u : 50u); i++) {
        uint64_t w = hash_mix((uint64_t)b, i);
        buf_add(&noise, &w, sizeof w);
    }
    log_begin(log);
    bool good = log_put_blob(log, noise.s, noise.len, &h, NULL);
    for (int64_t i = 0; good && i < batch_events(b); i++) {
        struct event ev = event_make(EV_NOTE);
        snprintf(text, sizeof text, "batch %d event %d", b, (int)i);
        ev.text = text;
        ev.id = b;
        ev.n = i;
        ev.hash = h.hex;
        good = log_append(log, &ev, NULL);
    }
    buf_free(&noise);
    if (good)
        return log_commit(log, NULL);
    log_rollback(log);
    return false;
}

/* The number of batches that were acknowledged before the first failure. */
static int write_batches(const char *path)
{
    struct log *log = log_open(path, NULL);
    int done = 0;
    while (log && done < BATCHES && append_batch(log, done)) {
        done++;
        if (done == 7) {
            log_close(log);
            log = log_open(path, NULL);
        }
    }
    log_close(log);
    return done;
}

struct prefix {
    struct log *log;
    int batch;      /* the one that the next event should be of */
    int64_t within; /* and its number in it */
};

static bool expect_next(void *ctx, const struct event *ev)
{
    struct prefix *p = ctx;
    struct buf out = {0};
    assert_int_equal(ev->id, p->batch);
    assert_int_equal(ev->n, p->within);
    ok(log_get_blob(p->log, ev->hash, &out, &e));
    assert_true(out.len == (big_batch(p->batch) ? 2400000u : 400u));
    buf_free(&out);
    if (++p->within == batch_events(p->batch)) {
        p->batch++;
        p->within = 0;
    }
    return true;
}

static void check_integrity(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    sqlite3_finalize(st);
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO search(search) VALUES('integrity-check')", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
}

/* After the cut: whole batches only, all that were acknowledged, at most one more. */
static void check_prefix(const char *path, int acknowledged)
{
    struct log *log = log_open(path, &e);
    ok(log != NULL);
    struct prefix p = {.log = log};
    ok(log_each(log, 0, 0, false, expect_next, &p, &e));
    assert_int_equal(p.within, 0);
    assert_in_range(p.batch, acknowledged, acknowledged + 1);
    ok(p.batch == BATCHES || append_batch(log, p.batch)); /* and it goes on */
    log_close(log);
    check_integrity(path);
}

/* Which operations were syncs, and how many operations there are. */
struct plan {
    bool sync[20000];
    int64_t n;
};

static void note_op(void *ctx, int64_t n, enum drop_op op)
{
    struct plan *p = ctx;
    assert_true(n < 20000);
    p->sync[n] = op == DROP_SYNC || op == DROP_DELETE;
    p->n = n;
}

static void fresh(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        char *name = xasprintf("%s%s", path, endings[i]);
        unlink(name);
        free(name);
    }
    log_close(log_create(path, &e));
}

static void power_cuts(const char *path, bool no_wal)
{
    struct plan *plan = xcalloc(1, sizeof *plan);
    fresh(path);
    dropvfs_install(no_wal);
    dropvfs_before(note_op, plan);
    assert_int_equal(write_batches(path), BATCHES);
    dropvfs_remove();
    /* At every sync, right before and right after it, and here and there between. */
    int64_t cuts = 0, every = plan->n / (getenv("WARPLOOP_TORTURE") ? 400 : 40) + 1;
    for (int64_t at = 1; at <= plan->n; at++) {
        bool near = plan->sync[at] || plan->sync[at - 1] || (at < plan->n && plan->sync[at + 1]);
        if (!near && at % every)
            continue;
        for (int mode = DROP_ALL; mode <= DROP_SOME; mode++, cuts++) {
            fresh(path);
            dropvfs_install(no_wal);
            dropvfs_fail(at, SQLITE_IOERR, false);
            int acknowledged = write_batches(path);
            dropvfs_power_cut((enum drop_mode)mode, (uint64_t)at);
            dropvfs_remove();
            check_prefix(path, acknowledged);
        }
    }
    print_message("%lld power cuts at %lld operations, %s\n", (long long)cuts, (long long)plan->n,
                  no_wal ? "TRUNCATE journal" : "WAL");
    assert_true(cuts > 100);
    free(plan);
}

static void test_power_cut_wal(void **state)
{
    power_cuts(scratch_path(*state, "a-1.warp"), false);
}

static void test_power_cut_truncate(void **state)
{
    power_cuts(scratch_path(*state, "a-1.warp"), true);
}

/* The test itself must be able to fail: without syncs, acknowledged batches are lost. */
static void test_power_cut_is_seen(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    fresh(path);
    dropvfs_install(false);
    struct log *log = log_open(path, &e);
    assert_true(append_batch(log, 0));
    log_close(log);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous=OFF; INSERT INTO body VALUES(99,'x')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    dropvfs_fail(dropvfs_ops() + 1, SQLITE_IOERR, false);
    sqlite3_close(db);
    dropvfs_power_cut(DROP_ALL, 1);
    dropvfs_remove();
    struct event ev;
    ok((log = log_open(path, &e)) != NULL);
    ok(log_get(log, 1, &ev, &e));
    event_free_texts(&ev);
    log_close(log);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_stmt *st = NULL;
    sqlite3_prepare_v2(db, "SELECT 1 FROM body WHERE seq=99", -1, &st, NULL);
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

/* ---- kills -------------------------------------------------------------------------------------
 */

static void kill_at(void *ctx, int64_t n, enum drop_op op)
{
    (void)op;
    if (n == *(int64_t *)ctx)
        kill(getpid(), SIGKILL);
}

static int kill_number; /* which operation the child dies at */

static int write_and_die(const char *dir)
{
    int64_t at = kill_number;
    dropvfs_install(false);
    dropvfs_before(kill_at, &at);
    int done = write_batches(scratch_path(dir, "a-1.warp"));
    return done;
}

/* SIGKILL before every so many writes: whole batches only. */
static void test_kill_in_a_transaction(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    int step = getenv("WARPLOOP_TORTURE") ? 7 : 61, status = 128 + SIGKILL, kills = 0;
    for (kill_number = 1; status == 128 + SIGKILL; kill_number += step, kills++) {
        fresh(path);
        status = scratch_child(write_and_die, *state);
        struct log *log = log_open(path, &e);
        ok(log != NULL);
        struct prefix p = {.log = log};
        ok(log_each(log, 0, 0, false, expect_next, &p, &e));
        assert_int_equal(p.within, 0);
        log_close(log);
        check_integrity(path);
    }
    assert_int_equal(status, BATCHES);
    assert_true(kills > 20);
}

/* ---- single failures ---------------------------------------------------------------------------
 */

/* The n-th operation fails once, with each of these: the batch is reported and rolled back whole,
 * the same handle works on. */
static void fail_once_everywhere(const char *path, int code, bool no_wal, enum error_code want)
{
    int failures = 0;
    for (int64_t at = 1; at < 400; at++) {
        fresh(path);
        dropvfs_install(no_wal);
        struct log *log = log_open(path, &e);
        ok(log != NULL);
        assert_true(append_batch(log, 0));
        int64_t start = dropvfs_ops();
        dropvfs_fail(start + at, code, true);
        struct event ev = event_make(EV_NOTE);
        ev.text = "a note that is long enough to be found";
        ev.id = 1;
        e = (struct error){0};
        bool good = log_append(log, &ev, &e);
        bool failed = dropvfs_ops() - start >= at;
        if (!good) {
            failures++;
            assert_int_equal(e.code, want);
            assert_int_equal(log_last_seq(log), 1);
            ev = event_make(EV_NOTE);
            ev.id = 1;
            ok(log_append(log, &ev, &e));
        }
        assert_int_equal(log_last_seq(log), 2);
        log_close(log);
        dropvfs_remove();
        check_integrity(path);
        if (!failed)
            break;
    }
    assert_true(failures > 2);
}

static void test_write_errors(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    fail_once_everywhere(path, SQLITE_IOERR_WRITE, false, ERR_SYSTEM);
    fail_once_everywhere(path, SQLITE_FULL, false, ERR_FULL);
    fail_once_everywhere(path, SQLITE_FULL, true, ERR_FULL);
}

static bool write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    bool good = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && good;
}

/* Mounts of this process's own: as root, or in a user namespace in which it is root. */
static bool own_mounts(void)
{
    char uids[32], gids[32];
    snprintf(uids, sizeof uids, "0 %d 1", (int)geteuid());
    snprintf(gids, sizeof gids, "0 %d 1", (int)getegid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/uid_map", uids) &&
           write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/gid_map", gids);
}

static int fill_a_disk(const char *dir)
{
    struct error why;
    if (!own_mounts())
        return 77;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", dir, "tmpfs", 0, "size=2m") != 0)
        return 77;
    struct log *log = log_create(scratch_path(dir, "a-1.warp"), &why);
    if (!log || !log_lock(log, &why))
        return 1;
    int good = 0;
    int64_t before = 0;
    struct hash h;
    for (int i = 0; i < 1000; i++, good++) {
        struct buf noise = {0};
        for (uint64_t k = 0; k < 5000; k++) {
            uint64_t w = hash_mix((uint64_t)i, k);
            buf_add(&noise, &w, sizeof w);
        }
        struct event ev = event_make(EV_NOTE);
        ev.text = "note";
        before = log_last_seq(log);
        log_begin(log);
        bool put = log_put_blob(log, noise.s, noise.len, &h, &why) && log_append(log, &ev, &why);
        buf_free(&noise);
        if (!log_commit(log, &why) || !put)
            break;
    }
    if (why.code != ERR_FULL || !strstr(why.msg, "MB are needed") || good < 5 || good > 50)
        return 2;
    if (log_last_seq(log) != before)
        return 3;
    /* Room is made; the run goes on with the same handle. */
    if (mount("tmpfs", dir, "tmpfs", MS_REMOUNT, "size=20m") != 0)
        return 4;
    struct event ev = event_make(EV_NOTE);
    if (!log_append(log, &ev, &why) || ev.seq != before + 1)
        return 5;
    log_close(log);
    log = log_open_read(scratch_path(dir, "a-1.warp"), &why);
    return log && log_last_seq(log) == before + 1 ? 0 : 6;
}

static void test_disk_full(void **state)
{
    int rc = scratch_child(fill_a_disk, *state);
    if (rc == 77)
        print_message(
            "no right to mount a small file system here: only the simulated one was full\n");
    else
        assert_int_equal(rc, 0);
}

/* ---- damage ------------------------------------------------------------------------------------
 */

static void write_file(const char *path, const void *bytes, size_t n)
{
    unlink(path);
    ok(fs_write(path, bytes, n, &e));
}

static void refused(const char *path, enum error_code code)
{
    struct log *(*const openers[])(const char *, struct error *) = {log_open, log_open_read};
    for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
        e = (struct error){0};
        assert_null(openers[i](path, &e));
        assert_int_equal(e.code, code);
        assert_non_null(strstr(e.msg, path));
    }
    e = (struct error){0};
    assert_false(inbox_put(path, "me", "pause", "", &e));
    assert_int_equal(e.code, code);
}

static void exec_on(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_foreign_files(void **state)
{
    char *path = xstrdup(scratch_path(*state, "x-1.warp"));
    char noise[8192];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)hash_mix(i, 3);
    refused(path, ERR_NOTFOUND);
    write_file(path, "", 0);
    refused(path, ERR_CORRUPT);
    write_file(path, noise, sizeof noise);
    refused(path, ERR_CORRUPT);
    write_file(path, "hello", 5);
    refused(path, ERR_CORRUPT);
    unlink(path);
    exec_on(path, "CREATE TABLE event(a)");
    refused(path, ERR_CORRUPT);
    unlink(path);
    exec_on(path, "PRAGMA application_id=1463898704"); /* ours, but nothing in it */
    refused(path, ERR_CORRUPT);
    refused(*state, ERR_CORRUPT); /* a folder */
    fresh(path);
    exec_on(path, "PRAGMA user_version=2");
    refused(path, ERR_NEWER);
    assert_non_null(strstr(e.msg, "newer"));
    free(path);
}

static bool ignore(void *ctx, const struct event *ev)
{
    (void)ctx;
    return ev->text != NULL && ev->body != NULL && ev->hash != NULL;
}

/* Everything that reads, on a file that may be damaged: errors are fine, a crash or a wrong blob is
 * not. Returns how many of the calls said that something is wrong. */
static int read_everything(const char *path)
{
    int bad = 0;
    struct reader *r = reader_open(path, NULL);
    bad += r == NULL;
    reader_close(r);
    struct log *log = log_open_read(path, NULL);
    if (!log)
        return bad + 1;
    bad += !log_each(log, 0, 0, true, ignore, NULL, NULL);
    struct log_hit *hits = NULL;
    struct command *cmds = NULL;
    size_t n = 0;
    bad += !log_search(log, "decay vector", 10, &hits, &n, NULL);
    log_hits_free(hits, n);
    bad += !inbox_list(log, &cmds, &n, NULL);
    inbox_free(cmds, n);
    bad += !log_check_invariants(log, NULL);
    log_close(log);
    return bad;
}

static void test_damaged_files(void **state)
{
    char *path = xstrdup(scratch_path(*state, "a-1.warp"));
    char *other = xstrdup(scratch_path(*state, "b-1.warp"));
    struct mkrun_opts o = {.calls = 30};
    struct buf whole = {0};
    ok(mkrun(path, &o, NULL, &e));
    ok(fs_read(path, 1u << 30, &whole, &e));
    assert_int_equal(read_everything(path), 0);
    for (size_t part = 1; part < 16; part++) { /* cut short */
        write_file(other, whole.s, whole.len * part / 16 / 4096 * 4096 + part % 2 * 100);
        assert_true(read_everything(other) > 0);
        e = (struct error){0};
        struct log *log = log_open(other, &e);
        if (!log)
            assert_int_equal(e.code, ERR_CORRUPT);
        log_close(log);
    }
    int seen = 0, rounds = getenv("WARPLOOP_TORTURE") ? 2000 : 150;
    for (int i = 0; i < rounds; i++) { /* pages or bytes overwritten */
        struct buf b = {0};
        buf_add(&b, whole.s, whole.len);
        for (uint64_t k = 0; k < 1 + (uint64_t)i % 20; k++) {
            size_t at = (size_t)(hash_mix((uint64_t)i, k) % whole.len);
            if (i % 2)
                b.s[at] = (char)hash_mix(k, (uint64_t)i);
            else
                memset(b.s + at / 4096 * 4096, (int)(i % 256), 4096);
        }
        write_file(other, b.s, b.len);
        seen += read_everything(other) > 0;
        struct log *log = log_open(other, NULL);
        if (log) {
            struct event ev = event_make(EV_NOTE);
            ev.text = "written on damage";
            if (!log_append(log, &ev, NULL))
                log_rollback(log);
        }
        log_close(log);
        buf_free(&b);
    }
    assert_true(seen > rounds / 2);
    buf_free(&whole);
    free(path);
    free(other);
}

/* ---- rights and other programs -----------------------------------------------------------------
 */

static int open_to_write(const char *dir)
{
    struct error why = {0};
    struct log *log = log_open(scratch_path(dir, "a-1.warp"), &why);
    if (log || why.code != ERR_READONLY || !strstr(why.msg, "a-1.warp"))
        return 1;
    if (inbox_put(scratch_path(dir, "a-1.warp"), "me", "pause", "", &why))
        return 2;
    log = log_open_read(scratch_path(dir, "a-1.warp"), &why);
    if (!log || log_last_seq(log) != 1)
        return 3;
    log_close(log);
    log = log_create(scratch_path(dir, "new-1.warp"), &why);
    if (log)
        return access(dir, W_OK) == 0 ? 0 : 4;
    return why.code == ERR_READONLY ? 0 : 5;
}

static void test_read_only(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct log *log = log_create(path, &e);
    struct event ev = event_make(EV_NOTE);
    ok(log_append(log, &ev, &e));
    log_close(log);
    assert_int_equal(scratch_unprivileged(*state, 0555, 0400, open_to_write), 0);
    assert_int_equal(scratch_unprivileged(*state, 0700, 0400, open_to_write), 0);
}

/* A run whose engine died, on a medium that became read-only: what stands in the -wal cannot be
 * read without writing beside it; that is said, and nothing stale is shown. */
static int open_with_wal(const char *dir)
{
    struct error why = {0};
    struct log *log = log_open_read(scratch_path(dir, "a-1.warp"), &why);
    if (log)
        return log_last_seq(log) == 2 ? 0 : 1;
    if (why.code == ERR_READONLY && strstr(why.msg, "-wal"))
        return 0;
    fprintf(stderr, "code %d: %s\n", (int)why.code, why.msg);
    return 2;
}

static int die_with_wal(const char *dir)
{
    struct log *log = log_open(scratch_path(dir, "a-1.warp"), NULL);
    struct event ev = event_make(EV_NOTE);
    if (!log || !log_append(log, &ev, NULL))
        return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

static void test_read_only_with_wal(void **state)
{
    struct log *log = log_create(scratch_path(*state, "a-1.warp"), &e);
    struct event ev = event_make(EV_NOTE);
    ok(log_append(log, &ev, &e));
    log_close(log);
    assert_int_equal(scratch_child(die_with_wal, *state), 128 + SIGKILL);
    assert_int_equal(scratch_unprivileged(*state, 0555, 0444, open_with_wal), 0);
    unlink(scratch_path(*state, "a-1.warp-shm"));
    assert_int_equal(scratch_unprivileged(*state, 0555, 0444, open_with_wal), 0);
}

static void test_locked_by_another_program(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct log *log = log_create(path, &e);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    int64_t start = clock_mono_ns();
    struct event ev = event_make(EV_NOTE);
    assert_false(log_append(log, &ev, &e));
    double waited = (double)(clock_mono_ns() - start) / 1e9;
    assert_int_equal(e.code, ERR_BUSY);
    assert_true(waited > 4 && waited < 9);
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    ok(log_append(log, &ev, &e));
    assert_int_equal(ev.seq, 1);
    sqlite3_close(db);
    log_close(log);
}

static void test_without_wal(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    dropvfs_install(true);
    struct log *log = log_create(path, &e);
    ok(log != NULL);
    struct reader *r = reader_open(path, &e);
    ok(r != NULL);
    struct event ev = event_make(EV_NOTE);
    ok(log_append(log, &ev, &e));
    assert_false(fs_exists(scratch_path(*state, "a-1.warp-wal")));
    struct stat st;
    assert_int_equal(stat(scratch_path(*state, "a-1.warp-journal"), &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(reader_poll(r, &e), 1);
    ok(inbox_put(path, "me", "pause", "", &e));
    ok(log_append(log, &ev, &e));
    assert_int_equal(reader_poll(r, &e), 1);
    reader_close(r);
    log_close(log);
    dropvfs_remove();
    /* Back on a file system with WAL, it is used again. */
    ok((log = log_open(path, &e)) != NULL);
    ok(log_append(log, &ev, &e));
    assert_true(fs_exists(scratch_path(*state, "a-1.warp-wal")));
    log_close(log);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_power_cut_is_seen),
        T(test_power_cut_wal),
        T(test_power_cut_truncate),
        T(test_kill_in_a_transaction),
        T(test_write_errors),
        T(test_disk_full),
        T(test_foreign_files),
        T(test_damaged_files),
        T(test_read_only),
        T(test_read_only_with_wal),
        T(test_locked_by_another_program),
        T(test_without_wal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
