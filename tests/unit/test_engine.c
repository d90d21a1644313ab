/* The engine with a back end that only pretends: verdicts, faults, what people ask for, stops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/loop/engine.h"
#include "tests/support/dropvfs.h"
#include "tests/support/enginetest.h"
#include "tests/support/scratch.h"

static int begin(void **state)
{
    *state = scratch_new();
    et_setup(*state, false);
    return 0;
}

static int end(void **state)
{
    scratch_free(*state);
    return 0;
}

/* A run of an outside agent with these markers submitted before it starts, driven to its end (a
 * budget of as many calls). */
static char *run_markers(const char *const *markers, size_t n, int jobs)
{
    char *path = et_create("outside", jobs, (int64_t)n);
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "file%zu.c", i + 2);
        et_submit(path, name, markers[i], (int)i);
    }
    assert_int_equal(et_run(path), ENGINE_ENDED);
    et_check(path);
    return path;
}

static void test_verdicts(void **state)
{
    (void)state;
    static const char *const markers[] = {
        "FAKE_SPEEDUP=1.5",    "FAKE_BENCH=wrong",
        "FAKE_BUILD=build",    "FAKE_SPEEDUP=2.0",
        "FAKE_BENCH=screened", "FAKE_CODE=a",
        "FAKE_CODE=a",         "FAKE_SPEEDUP=1.9 */ asm(\"\"); /*",
        "FAKE_BUILD=timeout",  "FAKE_BENCH=inaccurate"};
    static const enum verdict want[] = {
        VERDICT_OK, VERDICT_WRONG, VERDICT_BUILD, VERDICT_OK,      VERDICT_SCREENED,
        VERDICT_OK, VERDICT_SAME,  VERDICT_RULE,  VERDICT_TIMEOUT, VERDICT_INACCURATE};
    for (int jobs = 1; jobs <= 3; jobs++) {
        char *path = run_markers(markers, ARRAY_LEN(markers), jobs);
        struct run_state *s = et_state(path);
        assert_int_equal(s->reason, END_BUDGET);
        assert_int_equal(s->nversions, 2 + ARRAY_LEN(markers));
        for (size_t i = 0; i < ARRAY_LEN(want); i++)
            assert_int_equal(state_version(s, (int64_t)i + 2)->verdict, want[i]);
        assert_int_equal(s->ncalls, ARRAY_LEN(markers));
        assert_int_equal(s->ncalls_done, ARRAY_LEN(markers));
        assert_true(state_version(s, 2)->record);
        assert_true(state_version(s, 5)->record);
        assert_false(state_version(s, 6)->record);
        assert_true(isnan(state_version(s, 3)->speedup));
        assert_true(state_version(s, 8)->speedup == state_version(s, 7)->speedup);
        assert_int_equal(s->ninflight, 0);
        assert_int_equal(s->unknown, 0);
        assert_true(s->have_baseline && s->baseline_ns > 9e6 && s->baseline_ns < 11e6);
        state_free(s);
        free(path);
    }
}

/* One failure of ours is forgiven, a second is not; the candidate cannot stop the run by it. */
static void test_infra(void **state)
{
    char *journal = fs_join(*state, "journal");
    setenv("WARPLOOP_FAKE_JOURNAL", journal, 1);
    static const char *const markers[] = {
        "FAKE_BENCH=infra-once", "FAKE_BENCH=infra", "FAKE_BUILD=infra-once", "FAKE_BUILD=noobject",
        "FAKE_SPEEDUP=1.2",      "FAKE_BENCH=crash", "FAKE_BENCH=garbage",    "FAKE_SPEEDUP=1.3",
        "FAKE_BENCH=noid",       "FAKE_BUILD=crash", "FAKE_SPEEDUP=1.4"};
    static const enum verdict want[] = {VERDICT_OK,    VERDICT_INFRA, VERDICT_OK,    VERDICT_INFRA,
                                        VERDICT_OK,    VERDICT_INFRA, VERDICT_INFRA, VERDICT_OK,
                                        VERDICT_INFRA, VERDICT_INFRA, VERDICT_OK};
    char *path = run_markers(markers, ARRAY_LEN(markers), 2);
    struct run_state *s = et_state(path);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(state_version(s, (int64_t)i + 2)->verdict, want[i]);
    assert_int_equal(et_count(path, EV_PAUSED, ""), 0);
    assert_int_equal(et_count(path, EV_TRY, "the fake back end crashes now"), 2);
    assert_int_equal(et_count(path, EV_TRY, "signal 11"), 2); /* the bench's and the build's */
    assert_int_equal(et_count(path, EV_TRY, "answered what was not asked"), 1);
    state_free(s);
    free(path);
    free(journal);
}

static bool is_paused(const struct run_state *s)
{
    return s->paused;
}

static bool has_ended(const struct run_state *s)
{
    return s->ended;
}

static bool benching(const struct run_state *s)
{
    for (size_t i = 0; i < s->ninflight; i++)
        if (s->inflight[i].kind == EFFECT_BENCH && s->inflight[i].version >= 2)
            return true;
    return false;
}

static void test_three_infra_pause(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 5);
    for (int i = 0; i < 4; i++)
        et_submit(path, "x", "FAKE_BENCH=infra", i);
    et_submit(path, "x", "FAKE_SPEEDUP=2", 9);
    struct et_engine g = {0};
    et_start(&g, path);
    assert_true(et_wait(path, is_paused, 5000));
    struct run_state *s = et_state(path);
    assert_int_equal(s->pause_code, 3);
    assert_non_null(strstr(s->pause_cause, "3 versions in a row"));
    assert_int_equal(state_version(s, 5)->verdict, VERDICT_NONE);
    state_free(s);
    et_ask(path, "resume", ""); /* the count begins anew */
    assert_true(et_wait(path, has_ended, 5000));
    assert_int_equal(et_join(&g), ENGINE_ENDED);
    assert_int_equal(et_count(path, EV_PAUSED, ""), 1);
    et_check(path);
    free(path);
}

static void test_baseline_fails(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 1);
    et_submit(path, "x", "", 1);
    setenv("WARPLOOP_FAKE_BASELINE", "wrong", 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    struct run_state *s = et_state(path);
    assert_int_equal(s->reason, END_ERROR);
    assert_int_equal(et_count(path, EV_ENDED, "the baseline cannot be measured: wrong"), 1);
    state_free(s);
    unsetenv("WARPLOOP_FAKE_BASELINE"); /* mended: the next engine goes on */
    assert_int_equal(et_run(path), ENGINE_ENDED);
    s = et_state(path);
    assert_int_equal(s->reason, END_BUDGET);
    assert_int_equal(state_version(s, 2)->verdict, VERDICT_OK);
    state_free(s);
    et_check(path);
    free(path);
}

static void test_no_back_end(void **state)
{
    char *path = et_create("outside", 2, 1), *back = xstrdup(getenv("WARPLOOP_BACKEND_DIR"));
    setenv("WARPLOOP_BACKEND_DIR", *state, 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    assert_int_equal(et_count(path, EV_ENDED, "cannot run"), 1);
    setenv("WARPLOOP_BACKEND_DIR", back, 1); /* built meanwhile */
    et_submit(path, "a", "", 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    struct run_state *s = et_state(path);
    assert_int_equal(s->reason, END_BUDGET);
    state_free(s);
    free(back);
    et_check(path);
    free(path);
}

/* ---- what people ask for ----------------------------------------------------------------------
 */

static void test_pause_outlives_engines(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 2);
    et_ask(path, "pause", "");
    et_submit(path, "a", "FAKE_SPEEDUP=2", 1);
    for (int i = 0; i < 2; i++) { /* two engines, both find it paused */
        struct et_engine g = {0};
        et_start(&g, path);
        clock_sleep_ns(50000000);
        et_stop(&g, 1);
        assert_int_equal(et_join(&g), ENGINE_STOPPED);
        assert_int_equal(et_count(path, EV_EFFECT, ""), 0);
    }
    et_submit(path, "b", "FAKE_SPEEDUP=1.5", 2);
    et_ask(path, "resume", "");
    assert_int_equal(et_run(path), ENGINE_ENDED);
    struct run_state *s = et_state(path);
    assert_int_equal(s->engines, 3);
    assert_int_equal(state_version(s, 3)->verdict, VERDICT_OK);
    state_free(s);
    et_check(path);
    free(path);
}

/* What is in flight at a pause is finished, nothing is begun. */
static void test_pause_while_benching(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 3);
    for (int i = 0; i < 3; i++)
        et_submit(path, "a", "FAKE_MS=100", i);
    struct et_engine g = {0};
    et_start(&g, path);
    assert_true(et_wait(path, benching, 5000));
    et_ask(path, "pause", "");
    assert_true(et_wait(path, is_paused, 1000));
    clock_sleep_ns(400000000);
    struct run_state *s = et_state(path);
    assert_int_equal(s->ninflight, 0);
    assert_int_equal(state_version(s, 2)->verdict, VERDICT_OK);
    assert_int_equal(state_version(s, 3)->verdict, VERDICT_NONE);
    state_free(s);
    et_ask(path, "resume", "");
    assert_int_equal(et_join(&g), ENGINE_ENDED);
    et_check(path);
    free(path);
}

static void test_stops(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 3);
    for (int i = 0; i < 3; i++)
        et_submit(path, "a", "FAKE_MS=300", i);
    struct et_engine g = {0};
    et_start(&g, path);
    assert_true(et_wait(path, benching, 5000));
    et_stop(&g, 1); /* the next safe point: the evaluation is finished first */
    assert_int_equal(et_join(&g), ENGINE_STOPPED);
    struct run_state *s = et_state(path);
    assert_int_equal(state_version(s, 2)->verdict, VERDICT_OK);
    assert_int_equal(state_version(s, 3)->verdict, VERDICT_NONE);
    assert_true(s->stopped);
    assert_int_equal(s->ninflight, 0);
    state_free(s);
    g = (struct et_engine){0};
    et_start(&g, path);
    assert_true(et_wait(path, benching, 5000));
    int64_t asked = clock_mono_ns();
    et_stop(&g, 2); /* at once */
    assert_int_equal(et_join(&g), ENGINE_STOPPED);
    assert_true(clock_mono_ns() - asked < 200000000);
    s = et_state(path);
    assert_int_equal(state_version(s, 3)->verdict, VERDICT_NONE);
    assert_int_equal(s->ninflight, 0);
    state_free(s);
    g = (struct et_engine){0};
    et_start(&g, path);
    assert_true(et_wait(path, benching, 5000));
    et_ask(path, "stop", "now");
    assert_int_equal(et_join(&g), ENGINE_STOPPED);
    et_ask(path, "stop", ""); /* for an engine that is gone: does not hinder the next */
    assert_int_equal(et_run(path), ENGINE_ENDED);
    et_check(path);
    free(path);
}

static void test_cancel(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 2);
    et_submit(path, "a", "FAKE_BENCH=hang", 1);
    et_submit(path, "b", "FAKE_SPEEDUP=2", 2);
    struct et_engine g = {0};
    et_start(&g, path);
    assert_true(et_wait(path, benching, 5000));
    int64_t asked = clock_mono_ns();
    et_ask(path, "cancel", "");
    while (et_count(path, EV_TRY, "cancelled by test") == 0 &&
           clock_mono_ns() - asked < INT64_C(5000000000))
        clock_sleep_ns(1000000);
    int64_t took = clock_mono_ns() - asked;
    if (took > 200000000)
        fail_msg("a cancellation took %lld ms", (long long)(took / 1000000));
    assert_int_equal(et_join(&g), ENGINE_ENDED);
    struct run_state *s = et_state(path);
    assert_int_equal(state_version(s, 2)->verdict, VERDICT_CANCELLED);
    assert_int_equal(state_version(s, 3)->verdict, VERDICT_OK); /* the run went on */
    state_free(s);
    et_check(path);
    free(path);
}

static void test_goal(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 1);
    et_submit(path, "a", "FAKE_SPEEDUP=2", 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    assert_int_equal(et_run(path), ENGINE_ENDED); /* nothing to do, nothing written */
    struct run_state *s = et_state(path);
    assert_int_equal(s->engines, 1);
    state_free(s);
    et_ask(path, "goal", "{\"target\":-1}");
    et_ask(path, "goal", "no json");
    et_ask(path, "goal", "{\"text\":\"faster\",\"calls\":\"2\",\"target\":null}");
    et_submit(path, "b", "FAKE_SPEEDUP=3", 2);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    s = et_state(path);
    assert_int_equal(s->ngoals, 2);
    assert_string_equal(state_goal(s)->text, "faster");
    assert_true(isnan(state_goal(s)->target));
    assert_int_equal(state_goal(s)->calls, 2);
    assert_true(state_goal(s)->hours == 1);
    assert_int_equal(et_count(path, EV_FAULT, "goal by test refused"), 2);
    assert_int_equal(s->incumbent, 3);
    assert_int_equal(s->reason, END_BUDGET);
    state_free(s);
    et_check(path);
    free(path);
}

static void test_refused(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 1);
    et_ask(path, "submit", "{}");
    et_ask(path, "submit", "{\"source\":\"\"}");
    et_ask(path, "submit", "{\"blob\":\"00\"}");
    et_ask(path, "submit", "[");
    et_ask(path, "dance", "");
    et_ask(path, "note", "a \033[31mred\033[0m note \xff");
    et_submit(path, "a\033]0;x\007", "FAKE_SPEEDUP=2", 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    assert_int_equal(et_count(path, EV_FAULT, "refused"), 5);
    assert_int_equal(et_count(path, EV_NOTE, "red"), 1);
    struct run_state *s = et_state(path);
    assert_int_equal(s->nversions, 3);
    state_free(s);
    et_check(path);
    free(path);
}

static bool two_seen(const struct run_state *s)
{
    return s->nsteers == 2 && s->steers[0].seen && s->steers[1].seen;
}

static void test_steer(void **state)
{
    (void)state;
    char *path = et_create("tuner", 1, 4);
    et_ask(path, "steer", "make it faster, please");
    et_ask(path, "steer", "try interchange tiled TILE=64");
    assert_int_equal(et_run(path), ENGINE_ENDED);
    assert_true(et_wait(path, two_seen, 0));
    assert_int_equal(et_count(path, EV_SAY, "cannot read prose"), 1);
    struct run_state *s = et_state(path);
    assert_string_equal(state_version(s, 2)->config, "interchange tiled TILE=64");
    state_free(s);
    et_check(path);
    free(path);
}

static void test_steer_outside(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 2);
    et_submit(path, "a", "FAKE_SPEEDUP=2", 1);
    et_ask(path, "steer", "mind the divisions");
    struct et_engine g = {0};
    et_start(&g, path);
    clock_sleep_ns(100000000);
    assert_int_equal(et_count(path, EV_STEER_SEEN, ""), 0); /* nobody has read it yet */
    et_submit(path, "b", "FAKE_SPEEDUP=3", 2);
    assert_int_equal(et_join(&g), ENGINE_ENDED);
    assert_int_equal(et_count(path, EV_STEER_SEEN, ""), 1);
    et_check(path);
    free(path);
}

/* ---- one driver, faults of the machine --------------------------------------------------------
 */

static void test_one_driver(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 1);
    struct et_engine g = {0};
    struct error e = {0};
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1};
    et_start(&g, path);
    assert_int_equal(engine_run(path, &o, &e), ENGINE_FAILED);
    assert_int_equal(e.code, ERR_BUSY);
    assert_non_null(strstr(e.msg, "process"));
    et_stop(&g, 1);
    assert_int_equal(et_join(&g), ENGINE_STOPPED);
    free(path);
}

/* Nothing happens: nothing is spent. */
static void test_idle(void **state)
{
    (void)state;
    char *path = et_create("outside", 2, 1);
    struct et_engine g = {0};
    et_start(&g, path);
    clock_sleep_ns(300000000); /* baseline and start */
    clockid_t clock;
    struct timespec a, b;
    assert_int_equal(pthread_getcpuclockid(g.thread, &clock), 0);
    clock_gettime(clock, &a);
    clock_sleep_ns(1000000000);
    clock_gettime(clock, &b);
    int64_t spent = (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
    if (spent > 2000000)
        fail_msg("an idle engine spent %lld us in a second", (long long)(spent / 1000));
    et_stop(&g, 1);
    et_join(&g);
    free(path);
}

static int64_t commits;

static void count_commit(int64_t n)
{
    commits = n;
}

static void test_few_commits(void **state)
{
    (void)state;
    static const char *const markers[] = {"a", "b", "FAKE_BENCH=wrong", "d", "e", "f", "g", "h"};
    char *recorded = run_markers(markers, ARRAY_LEN(markers), 2);
    char *agent = xasprintf("replay:%s", recorded);
    for (int jobs = 1; jobs <= 2; jobs++) {
        char *path = et_create(agent, jobs, 0);
        struct engine_opts o = {.stop_fd = -1, .wake_fd = -1, .before_commit = count_commit};
        assert_int_equal(engine_run(path, &o, NULL), ENGINE_ENDED);
        int64_t beginning = 8; /* reference, baseline, start: built and measured */
        assert_true(commits - beginning <= 4 * (int64_t)ARRAY_LEN(markers));
        free(path);
    }
    free(agent);
    free(recorded);
}

static int64_t full_from, full_for;

static void disk_of_commit(int64_t n)
{
    if (n == full_from)
        dropvfs_fail(dropvfs_ops() + 1, SQLITE_FULL, false);
    if (n == full_from + full_for)
        dropvfs_fail(0, 0, false);
}

static void test_disk_full(void **state)
{
    (void)state;
    static const char *const markers[] = {"FAKE_SPEEDUP=1.5", "FAKE_SPEEDUP=2"};
    char *plain = run_markers(markers, 2, 1);
    struct run_state *s = et_state(plain);
    char *want = state_canonical(s);
    state_free(s);
    dropvfs_install(false);
    for (full_from = 2; full_from <= 8; full_from += 3) {
        char *path = et_create("outside", 1, 2);
        for (int i = 0; i < 2; i++) {
            char name[32];
            snprintf(name, sizeof name, "file%d.c", i + 2);
            et_submit(path, name, markers[i], i);
        }
        full_for = 1;
        struct engine_opts o = {.stop_fd = -1, .wake_fd = 1 << 20, .before_commit = disk_of_commit};
        struct error e = {0};
        assert_int_equal(engine_run(path, &o, &e), ENGINE_ENDED);
        s = et_state(path);
        char *got = state_canonical(s);
        assert_string_equal(got, want);
        assert_int_equal(et_count(path, EV_FAULT, "could not be written for"), 1);
        et_check(path);
        state_free(s);
        free(got);
        free(path);
    }
    dropvfs_remove();
    free(want);
    free(plain);
}

/* The log itself breaks: the engine ends with the message, what was committed stands. */
static void breaks_at_commit(int64_t n)
{
    if (n == 5)
        dropvfs_fail(dropvfs_ops() + 1, SQLITE_IOERR_WRITE, false);
}

static void test_log_breaks(void **state)
{
    (void)state;
    dropvfs_install(false);
    char *path = et_create("outside", 2, 1);
    et_submit(path, "a", "", 1);
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1, .before_commit = breaks_at_commit};
    struct error e = {0};
    assert_int_equal(engine_run(path, &o, &e), ENGINE_FAILED);
    assert_true(e.msg[0] != '\0');
    dropvfs_fail(0, 0, false);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    et_check(path);
    free(path);
    dropvfs_remove();
}

static void test_task_changed(void **state)
{
    char *kernels = fs_join(*state, "kernels"), *dir = fs_join(kernels, "tiny");
    char *from = fs_kernels_dir();
    char *copy = xasprintf("mkdir -p %s && cp -r %s/tiny %s/", kernels, from, kernels);
    assert_int_equal(system(copy), 0);
    setenv("WARPLOOP_KERNELS", kernels, 1);
    char *path = et_create("outside", 2, 1);
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1};
    struct error e = {0};
    char *prose = xasprintf("sed -i 's/A task small enough/A task that is small enough/' "
                            "%s/task.json",
                            dir);
    char *measured = xasprintf("sed -i 's/\"T\": [0-9]*/\"T\": 16/' %s/task.json", dir);
    assert_int_equal(system(prose), 0);
    et_submit(path, "a", "", 1);
    assert_int_equal(et_run(path), ENGINE_ENDED);
    et_submit(path, "b", "", 2);
    assert_int_equal(system(measured), 0);
    assert_int_equal(engine_run(path, &o, &e), ENGINE_FAILED);
    assert_int_equal(e.code, ERR_INPUT);
    assert_non_null(strstr(e.msg, "has changed since"));
    setenv("WARPLOOP_KERNELS", from, 1);
    free(kernels);
    free(dir);
    free(from);
    free(copy);
    free(prose);
    free(measured);
    free(path);
}

static void test_fork(void **state)
{
    (void)state;
    static const char *const markers[] = {"FAKE_SPEEDUP=1.5", "FAKE_SPEEDUP=2", "FAKE_SPEEDUP=2.5",
                                          "FAKE_SPEEDUP=3"};
    char *path = run_markers(markers, 4, 2), *forked = NULL, *none = NULL;
    struct error e = {0};
    assert_true(engine_fork(path, 3, &forked, &e));
    assert_string_not_equal(path, forked);
    struct run_state *s = et_state(forked);
    assert_int_equal(s->incumbent, 3);
    assert_non_null(s->parent_run);
    assert_int_equal(s->forked_from, 3);
    assert_false(s->ended);
    state_free(s);
    et_check(forked);
    unlink(path); /* a parent may go */
    assert_int_equal(et_run(forked), ENGINE_ENDED);
    s = et_state(forked);
    assert_int_equal(s->reason, END_BUDGET);
    assert_int_equal(s->incumbent, 5);
    state_free(s);
    et_check(forked);
    assert_false(engine_fork(forked, 77, &none, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    free(path);
    free(forked);
}

static void test_create_refuses(void **state)
{
    (void)state;
    char *path = NULL;
    struct error e = {0};
    struct run_opts o = {.task = "nosuch", .agent = "tuner", .target = (double)NAN};
    assert_false(engine_create(&o, &path, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    o.task = "tiny";
    o.agent = "nosuch";
    assert_false(engine_create(&o, &path, &e));
    o.agent = "tuner";
    o.target = -3;
    assert_false(engine_create(&o, &path, &e));
    o.target = 2;
    o.jobs = -1;
    assert_false(engine_create(&o, &path, &e));
    assert_null(path);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_verdicts),
        T(test_infra),
        T(test_three_infra_pause),
        T(test_baseline_fails),
        T(test_no_back_end),
        T(test_pause_outlives_engines),
        T(test_pause_while_benching),
        T(test_stops),
        T(test_cancel),
        T(test_goal),
        T(test_refused),
        T(test_steer),
        T(test_steer_outside),
        T(test_few_commits),
        T(test_one_driver),
        T(test_idle),
        T(test_disk_full),
        T(test_log_breaks),
        T(test_task_changed),
        T(test_fork),
        T(test_create_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
