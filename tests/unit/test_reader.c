/* The front ends' view: the reader, the describing of events, the folder of runs, ID.live. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/live.h"
#include "core/log/reader.h"
#include "core/log/runs.h"
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
    setenv("WARPLOOP_HOME", *state, 1);
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

static bool readable(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static void say(struct log *log, const char *text)
{
    struct event ev = event_make(EV_SAY);
    ev.text = text;
    ok(log_append(log, &ev, &e));
}

static void test_poll(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct log *log = log_create(path, &e);
    struct reader *r = reader_open(path, &e);
    ok(r != NULL);
    assert_int_equal(reader_state(r)->last_seq, 0);
    assert_int_equal(reader_poll(r, &e), 0);
    log_begin(log);
    say(log, "one");
    say(log, "two");
    assert_int_equal(reader_poll(r, &e), 0);
    ok(log_commit(log, &e));
    assert_int_equal(reader_poll(r, &e), 2);
    assert_int_equal(reader_poll(r, &e), 0);
    assert_int_equal(reader_state(r)->nsays, 2);
    int64_t pid = 0;
    char host[64];
    assert_false(reader_driver(r, &pid, host, sizeof host));
    ok(log_lock(log, &e));
    assert_true(reader_driver(r, &pid, host, sizeof host));
    assert_int_equal(pid, getpid());
    log_close(log);
    reader_close(r);
}

static void test_wakes(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct log *log = log_create(path, &e);
    struct reader *r = reader_open(path, &e);
    int fd = reader_fd(r);
    if (fd < 0)
        skip();
    reader_poll(r, &e);
    assert_false(readable(fd, 0));
    say(log, "one");
    assert_true(readable(fd, 1000));
    assert_int_equal(reader_poll(r, &e), 1);
    assert_false(readable(fd, 0)); /* poll has cleared it */
    ok(inbox_put(path, "me", "pause", "", &e));
    reader_poll(r, &e);
    assert_false(readable(fd, 20)); /* reading wakes nobody */
    log_close(log);
    reader_close(r);
}

/* A reader holds no lock between calls: the writer's -wal can be merged and started afresh. */
static void test_holds_nothing(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct mkrun_opts o = {.calls = 600};
    struct stat st;
    ok(mkrun(path, &o, NULL, &e));
    struct log *log = log_open(path, &e);
    struct reader *r = reader_open(path, &e);
    for (int64_t call = 601; call < 1200; call++) {
        log_begin(log);
        ok(mkrun_call(log, call, &o, &e));
        ok(log_commit(log, &e));
        assert_true(reader_poll(r, &e) > 0);
    }
    assert_int_equal(stat(scratch_path(*state, "a-1.warp-wal"), &st), 0);
    assert_true(st.st_size < 12 << 20);
    log_close(log);
    reader_close(r);
}

static void test_texts(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct mkrun_opts o = {.calls = 5};
    struct buf out = {0};
    struct event ev;
    ok(mkrun(path, &o, NULL, &e));
    struct reader *r = reader_open(path, &e);
    ok(reader_source(r, 3, &out, &e));
    assert_non_null(strstr(buf_str(&out), "kernel of call 2"));
    buf_clear(&out);
    ok(reader_result(r, 3, &out, &e));
    assert_non_null(strstr(buf_str(&out), "\"type\":\"result\""));
    buf_clear(&out);
    ok(reader_build(r, 3, &out, &e));
    assert_non_null(strstr(buf_str(&out), "\"type\":\"built\""));
    buf_clear(&out);
    ok(reader_result(r, 0, &out, &e));           /* the baseline's */
    assert_false(reader_result(r, 1, &out, &e)); /* the start was never tried */
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_false(reader_build(r, 1, &out, &e));
    assert_false(reader_source(r, 99, &out, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_non_null(strstr(e.msg, "v99"));
    assert_false(reader_source(r, -1, &out, &e));
    ok(reader_event(r, 1, &ev, &e));
    assert_int_equal(ev.kind, EV_RUN_CREATED);
    assert_non_null(strstr(ev.body, "tuner"));
    event_free_texts(&ev);
    buf_free(&out);
    reader_close(r);
}

static void test_missing(void **state)
{
    assert_null(reader_open(scratch_path(*state, "none.warp"), &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
}

/* ---- describing --------------------------------------------------------------------------------
 */

static void describes(struct event ev, const char *want)
{
    struct buf out = {0};
    event_describe(&ev, &out);
    assert_string_equal(buf_str(&out), want);
    buf_free(&out);
}

static void test_describe(void **state)
{
    (void)state;
    struct event ev = event_make(EV_TRY);
    ev.id = 7;
    ev.ref = 5;
    ev.code = VERDICT_OK;
    ev.x = 1.84;
    ev.lo = 1.82;
    ev.hi = 1.86;
    ev.y = 1.12;
    describes(ev, "v7 ok, 1.84x (1.82..1.86), +12.0 % on v5");
    ev.code = VERDICT_WRONG;
    ev.x = ev.y = (double)NAN;
    ev.text = "family ragged, o[12]: 0.5, expected 0.25";
    describes(ev, "v7 wrong: family ragged, o[12]: 0.5, expected 0.25");
    ev = event_make(EV_RECORD);
    ev.id = 7;
    ev.x = 2;
    describes(ev, "v7 is a record: 2.00x");
    ev = event_make(EV_STEER);
    ev.id = 2;
    ev.text = "wide vectors";
    ev.body = "{\"author\":\"ann\"}";
    describes(ev, "steer 2: wide vectors (ann)");
    ev.body = "{broken";
    describes(ev, "steer 2: wide vectors");
    ev = event_make(EV_ENDED);
    ev.code = END_TARGET_MET;
    ev.text = "3.1x";
    describes(ev, "ended: target met: 3.1x");
    ev = event_make(EV_GOAL);
    ev.id = 1;
    ev.text = "be fast";
    ev.x = 3;
    ev.lo = 8;
    ev.n = 200;
    describes(ev, "goal 1: be fast (target 3x), at most 8 h, at most 200 calls");
    ev = event_make(EV_EFFECT);
    ev.code = EFFECT_BUILD;
    ev.id = 9;
    ev.ref = 4;
    ev.n = 2;
    describes(ev, "v4: build begun (effect 9, attempt 2)");
}

/* Every kind, known or not, gives a line and no crash. */
static void test_describe_all(void **state)
{
    (void)state;
    for (int kind = -1; kind < EV_COUNT + 2; kind++) {
        struct buf out = {0};
        struct event ev = event_make((enum event_kind)kind);
        ev.code = kind * 1000;
        event_describe(&ev, &out);
        if (kind != EV_SAY)
            assert_true(out.len > 0);
        buf_clear(&out);
        ev.text = "\x1b[2J";
        ev.body = "[]";
        ev.x = ev.lo = ev.hi = ev.y = (double)INFINITY;
        event_describe(&ev, &out);
        assert_true(out.len > 0);
        buf_free(&out);
    }
}

/* ---- ID.live -----------------------------------------------------------------------------------
 */

static void test_live(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    char out[600], small[8], big[2000];
    live_read(path, out, sizeof out);
    assert_string_equal(out, ""); /* none yet */
    struct live *l = live_open(path, &e);
    ok(l != NULL);
    live_read(path, out, sizeof out);
    assert_string_equal(out, "");
    live_set(l, "bench v7: time, set 3 of 5");
    live_read(path, out, sizeof out);
    assert_string_equal(out, "bench v7: time, set 3 of 5");
    live_read(path, small, sizeof small);
    assert_string_equal(small, "bench v");
    live_set(l, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
    live_read(path, small, sizeof small);
    assert_string_equal(small, "\xc3\xa9\xc3\xa9\xc3\xa9"); /* no character is cut */
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    live_set(l, big);
    live_read(path, out, sizeof out);
    assert_int_equal(strlen(out), 500);
    struct stat st;
    assert_int_equal(stat(scratch_path(*state, "a-1.live"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct live *second = live_open(path, &e); /* an engine after one that died */
    live_set(second, "goes on");
    live_read(path, out, sizeof out);
    assert_string_equal(out, "goes on");
    live_close(second);
    live_close(l);
    live_read(path, out, sizeof out);
    assert_string_equal(out, "");
    live_set(NULL, "nothing happens");
    live_close(NULL);
}

static void test_live_damaged(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    char out[600], noise[1000];
    memset(noise, 0xff, sizeof noise);
    const size_t sizes[] = {0, 3, 100, 1000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        ok(fs_write(scratch_path(*state, "a-1.live"), noise, sizes[i], &e));
        live_read(path, out, sizeof out);
        assert_string_equal(out, "");
        struct live *l = live_open(path, &e);
        ok(l != NULL);
        live_set(l, "whole again");
        live_read(path, out, sizeof out);
        assert_string_equal(out, "whole again");
        live_close(l);
    }
    assert_null(live_open(scratch_path(*state, "no/such/folder.warp"), &e));
}

/* ---- the folder of runs ------------------------------------------------------------------------
 */

static char *make_run(const char *task, int age)
{
    char *path = NULL;
    ok(runs_new_path(task, &path, &e));
    log_close(log_create(path, &e));
    struct timespec t[2] = {{.tv_sec = 1700000000 - age}, {.tv_sec = 1700000000 - age}};
    assert_int_equal(utimensat(0, path, t, 0), 0);
    return path;
}

static void test_runs(void **state)
{
    char **paths = NULL, *path = NULL;
    size_t n = 9;
    ok(runs_list(&paths, &n, &e));
    assert_int_equal(n, 0);
    runs_list_free(paths, n);
    assert_false(runs_find(NULL, &path, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_non_null(strstr(e.msg, "warploop run"));
    assert_false(runs_find("kda-1", &path, &e));
    assert_null(path);
    char *kda1 = make_run("kda", 100), *kda2 = make_run("kda", 300), *tiny = make_run("tiny", 200);
    assert_string_equal(strrchr(kda1, '/'), "/kda-1.warp");
    assert_string_equal(strrchr(kda2, '/'), "/kda-2.warp");
    assert_string_equal(strrchr(tiny, '/'), "/tiny-1.warp");
    ok(runs_list(&paths, &n, &e));
    assert_int_equal(n, 3);
    assert_string_equal(paths[0], kda1);
    assert_string_equal(paths[1], tiny);
    assert_string_equal(paths[2], kda2);
    runs_list_free(paths, n);
    const struct {
        const char *name, *want;
    } finds[] = {{NULL, kda1},     {"", kda1},           {"kda-2", kda2},
                 {"tiny-1", tiny}, {"kda-2.warp", kda2}, {kda2, kda2}};
    for (size_t i = 0; i < ARRAY_LEN(finds); i++) {
        ok(runs_find(finds[i].name, &path, &e));
        assert_string_equal(path, finds[i].want);
        free(path);
    }
    assert_false(runs_find("kda-3", &path, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    const char *near = strstr(e.msg, "kda-1"), *far = strstr(e.msg, "tiny-1");
    assert_true(near && far && near < far); /* the nearest name first */
    assert_false(runs_find("/no/such/file.warp", &path, &e));
    char *name = runs_name(kda2);
    assert_string_equal(name, "kda-2");
    free(name);
    /* A number is not given again while anything of its run is left. */
    ok(fs_write(scratch_path(*state, "runs/kda-7.lock"), "", 0, &e));
    ok(runs_new_path("kda", &path, &e));
    assert_string_equal(strrchr(path, '/'), "/kda-8.warp");
    free(path);
    assert_false(runs_new_path("../evil", &path, &e));
    assert_false(runs_new_path("", &path, &e));
    free(kda1);
    free(kda2);
    free(tiny);
}

static void test_runs_home(void **state)
{
    char **paths = NULL;
    size_t n = 0;
    setenv("WARPLOOP_HOME", "/proc/no-such-place", 1);
    assert_false(runs_list(&paths, &n, &e));
    assert_non_null(strstr(e.msg, "WARPLOOP_HOME"));
    char *fresh = xasprintf("%s/deep/er", (char *)*state);
    setenv("WARPLOOP_HOME", fresh, 1);
    ok(runs_list(&paths, &n, &e)); /* made when it is missing */
    struct stat st;
    assert_int_equal(stat(scratch_path(fresh, "runs"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    runs_list_free(paths, n);
    free(fresh);
}

/* A long run in slices: the same state in the end, and it is said how far one is. */
static void test_brief(void **state)
{
    const char *path = scratch_path(*state, "long.warp");
    ok(mkrun(path, &(struct mkrun_opts){.calls = 300, .small_bodies = true}, NULL, &e));
    struct reader *all = reader_open(path, &e), *r = reader_open_brief(path, 1, &e);
    ok(all && r);
    double share = reader_share(r);
    assert_true(reader_share(all) == 1 && share > 0 && share < 1);
    int polls = 0;
    for (; reader_share(r) < 1; polls++) {
        assert_true(reader_poll(r, &e) > 0);
        assert_true(reader_share(r) > share);
        share = reader_share(r);
    }
    assert_true(polls >= 2);
    const struct run_state *a = reader_state(all), *b = reader_state(r);
    assert_int_equal(a->last_seq, b->last_seq);
    assert_int_equal(a->nversions, b->nversions);
    assert_int_equal(a->nsays, b->nsays);
    assert_int_equal(reader_poll(r, &e), 0);
    reader_close(all);
    reader_close(r);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_poll),         T(test_wakes),    T(test_holds_nothing), T(test_texts),
        T(test_missing),      T(test_describe), T(test_describe_all),  T(test_live),
        T(test_live_damaged), T(test_runs),     T(test_runs_home),     T(test_brief),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
