/* The event log: files, batches, events, blobs, the lock, copies, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/log.h"
#include "core/log/reader.h"
#include "tests/support/invariants.h"
#include "tests/support/mkrun.h"
#include "tests/support/scratch.h"

static struct error e;

#define ok(x) assert_true_msg((x), #x)
static void assert_true_msg(bool good, const char *what)
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

static struct log *new_log(void **state)
{
    struct log *log = log_create(scratch_path(*state, "a-1.warp"), &e);
    ok(log != NULL);
    return log;
}

static void say(struct log *log, const char *text)
{
    struct event ev = event_make(EV_SAY);
    ev.text = text;
    ok(log_append(log, &ev, &e));
}

/* What a person with the sqlite3 shell would see. */
static long raw_number(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    long n = -1;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    if (sqlite3_step(st) == SQLITE_ROW)
        n = (long)sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static int raw_exec(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void test_files(void **state)
{
    mode_t old = umask(0);
    struct log *log = new_log(state);
    const char *path = scratch_path(*state, "a-1.warp");
    ok(log_lock(log, &e));
    say(log, "one");
    umask(old);
    const char *const names[] = {"a-1.warp", "a-1.warp-wal", "a-1.warp-shm", "a-1.lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(mode_of(scratch_path(*state, names[i])), 0600);
    assert_string_equal(log_path(log), path);
    assert_int_equal(raw_number(path, "PRAGMA application_id"), 0x57415250);
    assert_int_equal(raw_number(path, "PRAGMA user_version"), LOG_SCHEMA);
    assert_null(log_create(path, &e));
    assert_int_equal(e.code, ERR_INPUT);
    log_close(log);
    /* One file and the lock are left: what is in the -wal was merged. */
    assert_false(fs_exists(scratch_path(*state, "a-1.warp-wal")));
    assert_null(log_open(scratch_path(*state, "none-1.warp"), &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_null(log_create(scratch_path(*state, "no/folder/a-1.warp"), &e));
}

static void test_names_with_marks(void **state)
{
    const char *path = scratch_path(*state, "a b?x=%41#&mode=memory-1.warp");
    struct log *log = log_create(path, &e);
    ok(log != NULL);
    say(log, "one");
    log_close(log);
    assert_true(fs_exists(path));
    ok((log = log_open_read(path, &e)) != NULL);
    assert_int_equal(log_last_seq(log), 1);
    log_close(log);
}

static void test_event_round_trip(void **state)
{
    struct log *log = new_log(state);
    const char *hex = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    const char *const hashes[] = {"", hex, "short", "ABCDEF", "0123456789abcdef0123456789abcdefx"};
    const char *const texts[] = {"",
                                 "plain",
                                 "\x1b[2J\a\x01",
                                 "bad \xff\xfe utf-8 \xc3",
                                 "d\xc3\xa9j\xc3\xa0 \xe2\x80\xae",
                                 "'; DROP TABLE event; --"};
    for (size_t i = 0; i < 30; i++) {
        struct event in = event_make((enum event_kind)(1 + i % (EV_COUNT - 1))), out;
        in.code = (int)i - 3;
        in.id = INT64_MAX - (int64_t)i;
        in.ref = INT64_MIN + (int64_t)i;
        in.n = (int64_t)i;
        in.x = i % 2 ? 1.0 / 3.0 : (double)NAN;
        in.lo = i % 3 ? -0.0 : (double)INFINITY;
        in.hi = 5e-324;
        in.hash = hashes[i % ARRAY_LEN(hashes)];
        in.text = texts[i % ARRAY_LEN(texts)];
        in.body = i % 4 ? "{\"a\":1}" : "";
        ok(log_append(log, &in, &e));
        assert_int_equal(in.seq, i + 1);
        ok(log_get(log, in.seq, &out, &e));
        assert_int_equal(out.kind, in.kind);
        assert_int_equal(out.code, in.code);
        assert_int_equal(out.id, in.id);
        assert_int_equal(out.ref, in.ref);
        assert_int_equal(out.n, in.n);
        assert_int_equal(out.time, in.time);
        assert_true(isnan(in.x) ? isnan(out.x) : out.x == in.x);
        assert_true(out.lo == in.lo && out.hi == in.hi && isnan(out.y));
        assert_string_equal(out.hash, in.hash);
        assert_string_equal(out.text, in.text);
        assert_string_equal(out.body, in.body);
        event_free_texts(&out);
        assert_string_equal(out.body, "");
    }
    struct event none;
    assert_false(log_get(log, 31, &none, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    log_close(log);
}

static void test_large_texts(void **state)
{
    struct log *log = new_log(state);
    char *big = xmalloc(2000001);
    for (size_t i = 0; i < 2000000; i++)
        big[i] = (char)(32 + hash_mix(i, 1) % 90);
    big[2000000] = '\0';
    struct event in = event_make(EV_TRY), out;
    in.text = big + 1000000;
    in.body = big;
    ok(log_append(log, &in, &e));
    ok(log_get(log, 1, &out, &e));
    assert_string_equal(out.text, in.text);
    assert_string_equal(out.body, in.body);
    event_free_texts(&out);
    free(big);
    log_close(log);
}

struct seen {
    int64_t n, last, stop_at;
    size_t body_bytes;
};

static bool see(void *ctx, const struct event *ev)
{
    struct seen *s = ctx;
    s->n++;
    s->last = ev->seq;
    s->body_bytes += strlen(ev->body);
    return ev->seq != s->stop_at;
}

static void test_each(void **state)
{
    struct log *log = new_log(state);
    for (int i = 0; i < 10; i++) {
        struct event ev = event_make(EV_TRY);
        ev.body = "{}";
        ok(log_append(log, &ev, &e));
    }
    struct seen s = {0};
    ok(log_each(log, 0, 0, false, see, &s, &e));
    assert_int_equal(s.n, 10);
    assert_int_equal(s.body_bytes, 0);
    s = (struct seen){0};
    ok(log_each(log, 3, 7, true, see, &s, &e));
    assert_int_equal(s.n, 4);
    assert_int_equal(s.last, 7);
    assert_int_equal(s.body_bytes, 8);
    s = (struct seen){.stop_at = 5};
    ok(log_each(log, 0, 0, false, see, &s, &e));
    assert_int_equal(s.last, 5);
    s = (struct seen){0};
    ok(log_each(log, 10, 0, false, see, &s, &e));
    assert_int_equal(s.n, 0);
    log_close(log);
}

static void test_batches(void **state)
{
    struct log *log = new_log(state);
    struct log *other = log_open_read(scratch_path(*state, "a-1.warp"), &e);
    ok(other != NULL);
    ok(log_lock(log, &e));
    log_begin(log);
    say(log, "one");
    say(log, "two");
    assert_int_equal(log_last_seq(log), 2);
    assert_int_equal(log_last_seq(other), 0); /* nobody sees half a batch */
    ok(log_commit(log, &e));
    assert_int_equal(log_last_seq(other), 2);
    assert_int_equal(log_commits(log), 1);
    log_begin(log);
    say(log, "three");
    log_rollback(log);
    assert_int_equal(log_last_seq(log), 2);
    say(log, "three again");
    assert_int_equal(log_last_seq(other), 3);
    assert_int_equal(log_commits(log), 2);
    assert_false(log_commit(log, &e)); /* no batch */
    log_begin(log);
    say(log, "four");
    log_begin(log); /* a slip: reported by the commit, which takes nothing */
    struct event ev = event_make(EV_SAY);
    assert_false(log_append(log, &ev, &e));
    e = (struct error){0};
    assert_false(log_commit(log, &e));
    assert_non_null(strstr(e.msg, "batch"));
    assert_int_equal(log_last_seq(other), 3);
    say(log, "four at last");
    assert_int_equal(log_last_seq(other), 4);
    log_begin(log);
    say(log, "lost at the close");
    log_close(log);
    assert_int_equal(log_last_seq(other), 4);
    log_close(other);
}

static void test_read_only_never_writes(void **state)
{
    log_close(new_log(state));
    struct log *log = log_open_read(scratch_path(*state, "a-1.warp"), &e);
    struct event ev = event_make(EV_SAY);
    struct hash h;
    assert_false(log_append(log, &ev, &e));
    assert_int_equal(e.code, ERR_READONLY);
    assert_false(log_put_blob(log, "x", 1, &h, &e));
    assert_false(inbox_done(log, 1, &e));
    log_close(log);
}

static void test_history_is_not_edited(void **state)
{
    struct log *log = new_log(state);
    say(log, "one");
    const char *path = scratch_path(*state, "a-1.warp");
    assert_int_not_equal(raw_exec(path, "UPDATE event SET text='x'"), SQLITE_OK);
    assert_int_not_equal(raw_exec(path, "DELETE FROM event"), SQLITE_OK);
    log_close(log);
}

static void test_time_never_goes_back(void **state)
{
    struct log *log = new_log(state);
    struct event ev = event_make(EV_SAY);
    ev.time = clock_wall_ns() + INT64_C(3600000000000); /* the clock was an hour fast ... */
    int64_t fast = ev.time;
    ok(log_append(log, &ev, &e));
    assert_int_equal(ev.time, fast);
    log_close(log);
    ok((log = log_open(scratch_path(*state, "a-1.warp"), &e)) != NULL);
    ev = event_make(EV_SAY); /* ... and was then put right */
    ok(log_append(log, &ev, &e));
    assert_int_equal(ev.time, fast);
    log_begin(log);
    ev.time = fast + 5;
    ok(log_append(log, &ev, &e));
    log_rollback(log);
    ev.time = 0;
    ok(log_append(log, &ev, &e));
    assert_int_equal(ev.time, fast); /* what was rolled back does not count */
    log_close(log);
}

static void put(struct log *log, const void *bytes, size_t n, struct hash *h)
{
    ok(log_put_blob(log, bytes, n, h, &e));
    assert_string_equal(h->hex, hash_bytes(bytes, n).hex);
}

static void test_blobs(void **state)
{
    struct log *log = new_log(state);
    const char *path = scratch_path(*state, "a-1.warp");
    struct hash empty, tiny, text, random;
    struct buf many = {0}, noise = {0}, out = {0};
    for (int i = 0; i < 5000; i++)
        buf_addf(&many, "line %d of a text that packs well\n", i);
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t w = hash_mix(i, 9);
        buf_add(&noise, &w, sizeof w);
    }
    put(log, "", 0, &empty);
    put(log, "a\0b", 3, &tiny);
    put(log, many.s, many.len, &text);
    put(log, many.s, many.len, &text);
    put(log, noise.s, noise.len, &random);
    assert_int_equal(raw_number(path, "SELECT count(*) FROM blob"), 4);
    assert_int_equal(raw_number(path, "SELECT zstd FROM blob WHERE size>100000"), 1);
    assert_true(raw_number(path, "SELECT length(bytes) FROM blob WHERE size>100000") < 20000);
    assert_int_equal(raw_number(path, "SELECT zstd FROM blob WHERE size=32000"), 0);
    buf_adds(&out, "kept ");
    ok(log_get_blob(log, text.hex, &out, &e));
    assert_int_equal(out.len, many.len + 5);
    assert_memory_equal(out.s + 5, many.s, many.len);
    buf_clear(&out);
    ok(log_get_blob(log, tiny.hex, &out, &e));
    assert_memory_equal(out.s, "a\0b", 4);
    buf_clear(&out);
    ok(log_get_blob(log, empty.hex, &out, &e));
    assert_int_equal(out.len, 0);
    buf_clear(&out);
    ok(log_get_blob(log, random.hex, &out, &e));
    assert_memory_equal(out.s, noise.s, noise.len);
    buf_clear(&out);
    assert_false(log_get_blob(log, hash_bytes("?", 1).hex, &out, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_false(log_get_blob(log, "", &out, &e));
    assert_false(log_get_blob(log, "no hash", &out, &e));
    /* Damage is seen, in packed and in plain ones; what was in `out` stays. */
    assert_int_equal(raw_exec(path, "UPDATE blob SET bytes=zeroblob(length(bytes))"), SQLITE_OK);
    buf_adds(&out, "before");
    const char *const names[] = {text.hex, tiny.hex, random.hex};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        e.code = ERR_NONE;
        assert_false(log_get_blob(log, names[i], &out, &e));
        assert_int_equal(e.code, ERR_CORRUPT);
        assert_string_equal(buf_str(&out), "before");
    }
    buf_free(&many);
    buf_free(&noise);
    buf_free(&out);
    log_close(log);
}

static void test_blob_belongs_to_the_batch(void **state)
{
    struct log *log = new_log(state);
    struct hash h;
    struct buf out = {0};
    log_begin(log);
    put(log, "gone", 4, &h);
    ok(log_get_blob(log, h.hex, &out, &e));
    log_rollback(log);
    assert_false(log_get_blob(log, h.hex, &out, &e));
    buf_free(&out);
    log_close(log);
}

/* ---- the lock ----------------------------------------------------------------------------------
 */

static void test_lock(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    char host[64], me[32];
    int64_t pid = -1;
    assert_false(log_driver(path, &pid, host, sizeof host)); /* no such run */
    struct log *log = new_log(state), *second = log_open(path, &e);
    assert_false(log_driver(path, &pid, host, sizeof host));
    assert_int_equal(pid, 0);
    ok(log_lock(log, &e));
    ok(log_lock(log, &e)); /* has it already */
    assert_true(log_driver(path, &pid, host, sizeof host));
    assert_int_equal(pid, getpid());
    assert_true(*host != '\0');
    assert_true(log_driver(path, NULL, NULL, 0));
    assert_false(log_lock(second, &e));
    assert_int_equal(e.code, ERR_BUSY);
    snprintf(me, sizeof me, "process %d", (int)getpid());
    assert_non_null(strstr(e.msg, me));
    assert_non_null(strstr(e.msg, host));
    log_close(log);
    assert_false(log_driver(path, &pid, host, sizeof host));
    ok(log_lock(second, &e));
    log_close(second);
}

static int lock_and_wait(const char *dir)
{
    struct log *log = log_open(scratch_path(dir, "a-1.warp"), NULL);
    if (!log || !log_lock(log, NULL))
        return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

static void test_any_death_releases_the_lock(void **state)
{
    log_close(new_log(state));
    assert_int_equal(scratch_child(lock_and_wait, *state), 128 + SIGKILL);
    struct log *log = log_open(scratch_path(*state, "a-1.warp"), &e);
    assert_false(log_driver(scratch_path(*state, "a-1.warp"), NULL, NULL, 0));
    ok(log_lock(log, &e));
    log_close(log);
}

static void test_a_second_writer_is_noticed(void **state)
{
    struct log *log = new_log(state), *rogue = log_open(scratch_path(*state, "a-1.warp"), &e);
    ok(log_lock(log, &e));
    say(log, "one");
    say(rogue, "two"); /* appends without the lock */
    struct event ev = event_make(EV_SAY);
    assert_false(log_append(log, &ev, &e));
    assert_int_equal(e.code, ERR_BUSY);
    log_close(log);
    log_close(rogue);
}

static void count_hook(void *ctx)
{
    ++*(int *)ctx;
}

static void test_before_commit(void **state)
{
    struct log *log = new_log(state);
    int n = 0;
    log_set_before_commit(log, count_hook, &n);
    say(log, "one");
    log_begin(log);
    say(log, "two");
    say(log, "three");
    assert_int_equal(n, 1);
    ok(log_commit(log, &e));
    assert_int_equal(n, 2);
    log_close(log);
}

/* ---- copies ------------------------------------------------------------------------------------
 */

struct pair {
    struct log *other;
    int64_t n;
};

static bool same_event(void *ctx, const struct event *a)
{
    struct pair *p = ctx;
    struct event b;
    ok(log_get(p->other, a->seq, &b, &e));
    assert_int_equal(a->time, b.time);
    assert_int_equal(a->kind, b.kind);
    assert_int_equal(a->code, b.code);
    assert_int_equal(a->id, b.id);
    assert_int_equal(a->ref, b.ref);
    assert_int_equal(a->n, b.n);
    assert_memory_equal(&a->lo, &b.lo, sizeof a->lo);
    assert_string_equal(a->hash, b.hash);
    assert_string_equal(a->text, b.text);
    assert_string_equal(a->body, b.body);
    event_free_texts(&b);
    p->n++;
    return true;
}

static char *canonical(const char *path)
{
    struct reader *r = reader_open(path, &e);
    ok(r != NULL);
    char *s = state_canonical(reader_state(r));
    reader_close(r);
    return s;
}

static void make_small_run(const char *path)
{
    struct mkrun_opts o = {.calls = 20, .object_bytes = 3000};
    ok(mkrun(path, &o, NULL, &e));
}

static void test_fork(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp"), *to = scratch_path(*state, "a-2.warp");
    make_small_run(path);
    struct log *log = log_open(path, &e);
    struct buf out = {0}, text = {0};
    struct hash named;
    put(log, "named by a body alone", 21, &named);
    buf_addf(&text, "{\"handle\":\"%s\"}", named.hex);
    struct event ev = event_make(EV_NOTE);
    ev.body = buf_str(&text);
    ok(log_append(log, &ev, &e));
    buf_free(&text);
    int64_t upto = log_last_seq(log);
    say(log, "after the cut");
    int64_t last = log_last_seq(log);
    ok(log_fork(path, upto, to, &e));
    struct log *child = log_open(to, &e);
    ok(child != NULL);
    assert_int_equal(log_last_seq(child), upto);
    struct pair p = {.other = child};
    ok(log_each(log, 0, upto, true, same_event, &p, &e));
    assert_int_equal(p.n, upto);
    /* Deleting the parent harms no child: sources, and objects that only bodies name, are there. */
    log_close(log);
    assert_int_equal(unlink(path), 0);
    ok(log_check_invariants(child, &e));
    ok(log_get_blob(child, named.hex, &out, &e));
    assert_string_equal(buf_str(&out), "named by a body alone");
    /* It can be searched, and goes on. */
    struct log_hit *hits = NULL;
    size_t n = 0;
    ok(log_search(child, "registers decay vector", 50, &hits, &n, &e));
    log_hits_free(hits, n);
    say(child, "goes on");
    assert_int_equal(log_last_seq(child), upto + 1);
    log_close(child);
    assert_true(last > upto);
    assert_false(log_fork(to, upto, to, &e)); /* never over a file */
    assert_int_equal(e.code, ERR_INPUT);
    assert_false(log_fork(to, upto + 2, scratch_path(*state, "a-3.warp"), &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_false(log_fork(to, 0, scratch_path(*state, "a-3.warp"), &e));
    assert_false(fs_exists(scratch_path(*state, "a-3.warp")));
    buf_free(&out);
}

static void append_kind(struct log *log, enum event_kind kind, int64_t id)
{
    struct event ev = event_make(kind);
    ev.id = id;
    ok(log_append(log, &ev, &e));
}

static void test_safe_point(void **state)
{
    struct log *log = new_log(state);
    int64_t safe = -1;
    append_kind(log, EV_RUN_CREATED, 0); /* 1: safe */
    append_kind(log, EV_CALL, 1);        /* 2 */
    append_kind(log, EV_EFFECT, 1);      /* 3 */
    append_kind(log, EV_CALL_DONE, 1);   /* 4 */
    append_kind(log, EV_INTERRUPTED, 1); /* 5: safe */
    append_kind(log, EV_CALL, 2);        /* 6 */
    const int64_t want[] = {0, 1, 1, 1, 1, 5, 5, 5};
    for (int64_t seq = 0; seq < 8; seq++) {
        ok(log_safe_point(log, seq, &safe, &e));
        assert_int_equal(safe, want[seq]);
    }
    log_close(log);
}

static int count_files(const char *dir)
{
    char *cmd = xasprintf("ls -A %s | wc -l", dir);
    FILE *f = popen(cmd, "r");
    int n = -1;
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    free(cmd);
    return n;
}

static int read_exported(const char *dir)
{
    struct error why;
    struct reader *r = reader_open(scratch_path(dir, "x.warp"), &why);
    if (!r) {
        fprintf(stderr, "%s\n", why.msg);
        return 1;
    }
    struct buf out = {0};
    bool good = reader_state(r)->nversions == 22 && reader_source(r, 10, &out, &why);
    buf_free(&out);
    reader_close(r);
    return good ? 0 : 2;
}

static void test_export(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp"), *to = scratch_path(*state, "x.warp");
    unsigned char head[20];
    make_small_run(path);
    struct log *writer = log_open(path, &e); /* in use meanwhile, with something in its -wal */
    say(writer, "the last word");
    ok(log_export(path, to, &e));
    FILE *f = fopen(to, "rb");
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    assert_int_equal(head[18], 1); /* the file format of a rollback journal, not of WAL */
    assert_int_equal(head[19], 1);
    assert_int_equal(mode_of(to), 0600);
    struct log *copy = log_open_read(to, &e);
    struct pair p = {.other = copy};
    ok(log_each(writer, 0, 0, true, same_event, &p, &e));
    assert_int_equal(p.n, log_last_seq(copy));
    log_close(copy);
    log_close(writer);
    char *a = canonical(path), *b = canonical(to);
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_false(log_export(path, to, &e));
    assert_int_equal(e.code, ERR_INPUT);
    unlink(path);
    int before = count_files(*state);
    assert_int_equal(scratch_unprivileged(*state, 0555, 0444, read_exported), 0);
    assert_int_equal(count_files(*state), before);
}

static int read_wal_mode(const char *dir)
{
    return read_exported(dir);
}

/* A run file in WAL mode, closed cleanly, from a read-only medium. */
static void test_read_only_folder(void **state)
{
    make_small_run(scratch_path(*state, "x.warp"));
    assert_int_equal(scratch_unprivileged(*state, 0555, 0400, read_wal_mode), 0);
    assert_int_equal(count_files(*state), 1);
}

/* ---- sizes -------------------------------------------------------------------------------------
 */

static double size_mb(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (double)st.st_size / 1e6;
}

static void test_thousand_calls_are_small(void **state)
{
    struct mkrun_opts o = {.calls = 1000, .object_bytes = 30000, .commits = 4};
    struct mkrun_stats st;
    ok(mkrun(scratch_path(*state, "a-1.warp"), &o, &st, &e));
    assert_true(st.commits <= 4000);
    double mb = size_mb(scratch_path(*state, "a-1.warp"));
    print_message("1,000 calls: %.1f MB\n", mb);
    assert_true(mb < 50);
    struct log *log = log_open_read(scratch_path(*state, "a-1.warp"), &e);
    ok(log_check_invariants(log, &e));
    log_close(log);
}

static int open_and_measure(const char *dir)
{
    struct error why;
    struct rusage u;
    int64_t t = clock_mono_ns();
    struct reader *r = reader_open(scratch_path(dir, "m-1.warp"), &why);
    double seconds = (double)(clock_mono_ns() - t) / 1e9;
    getrusage(RUSAGE_SELF, &u);
    printf("opened and folded %lld events in %.3f s, %.1f MB resident\n",
           r ? (long long)reader_state(r)->last_seq : 0, seconds, (double)u.ru_maxrss / 1e3);
    fflush(stdout);
    if (!r || reader_state(r)->unknown)
        return 1;
#ifdef __OPTIMIZE__
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    if (seconds > 1 || u.ru_maxrss > 100000)
        return 2;
#endif
#endif
    reader_close(r);
    return 0;
}

/* The whole million with WARPLOOP_TORTURE set; a fifth otherwise, which is as strict in memory. */
static void test_many_events_open_fast(void **state)
{
    bool all = getenv("WARPLOOP_TORTURE") != NULL;
    struct mkrun_opts o = {
        .events = all ? 1000000 : 200000, .source_bytes = 500, .small_bodies = !all};
    ok(mkrun(scratch_path(*state, "m-1.warp"), &o, NULL, &e));
    assert_int_equal(scratch_child(open_and_measure, *state), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_files),
        T(test_names_with_marks),
        T(test_event_round_trip),
        T(test_large_texts),
        T(test_each),
        T(test_batches),
        T(test_read_only_never_writes),
        T(test_history_is_not_edited),
        T(test_time_never_goes_back),
        T(test_blobs),
        T(test_blob_belongs_to_the_batch),
        T(test_lock),
        T(test_any_death_releases_the_lock),
        T(test_a_second_writer_is_noticed),
        T(test_before_commit),
        T(test_fork),
        T(test_safe_point),
        T(test_export),
        T(test_read_only_folder),
        T(test_thousand_calls_are_small),
        T(test_many_events_open_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
