/* The pool of children: answers, garbage, death, silence, floods. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/loop/backend.h"
#include "tests/support/enginetest.h"
#include "tests/support/scratch.h"

struct seen {
    int progress, results, failed, timeouts;
    int64_t id;
    char why[4096], verdict[64];
    size_t object;
};

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

static void note(void *ctx, const struct backend_event *ev)
{
    struct seen *s = ctx;
    s->id = ev->id;
    switch (ev->news) {
    case BACKEND_PROGRESS:
        s->progress++;
        break;
    case BACKEND_RESULT:
        s->results++;
        snprintf(s->verdict, sizeof s->verdict, "%s", json_str(ev->msg->head, "verdict", ""));
        if (wire_part(ev->msg, "object"))
            s->object = wire_part(ev->msg, "object")->len;
        break;
    case BACKEND_FAILED:
        s->failed++;
        break;
    case BACKEND_TIMEOUT:
        s->timeouts++;
        break;
    }
    if (ev->news == BACKEND_FAILED || ev->news == BACKEND_TIMEOUT)
        snprintf(s->why, sizeof s->why, "%s", ev->why);
}

static struct wire_msg request(int64_t id, const char *op, const char *part, const char *text,
                               size_t n, int timeout_ms)
{
    struct wire_msg m = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m.head, "op", op);
    json_put_i64(m.head, "id", id);
    cJSON_AddNumberToObject(m.head, "timeout_ms", timeout_ms);
    wire_add_part(&m, part, text, n);
    return m;
}

static bool ask(struct backend *b, int64_t id, bool build, const char *text, size_t n,
                int timeout_ms)
{
    struct wire_msg m = request(id, build ? "build" : "evaluate", build ? "source" : "candidate",
                                text, n, timeout_ms);
    struct error e = {0};
    return backend_start(b, build ? WORKER_BUILD : WORKER_BENCH, id, &m, &e);
}

/* Wait as the engine does, until something final came, at most ms. Returns how often it woke. */
static int wait_final(struct backend *b, struct seen *s, int ms)
{
    int64_t until = clock_mono_ns() + ms * INT64_C(1000000);
    int woke = 0, before = s->results + s->failed + s->timeouts;
    while (s->results + s->failed + s->timeouts == before && clock_mono_ns() < until) {
        struct pollfd fds[BACKEND_FDS(4)];
        size_t n = backend_fds(b, fds, BACKEND_FDS(4));
        int64_t left = until, deadline = backend_deadline(b);
        if (deadline < left)
            left = deadline;
        left = (left - clock_mono_ns()) / 1000000 + 1;
        poll(fds, n, left > 0 ? (int)left : 0);
        backend_collect(b, note, s);
        woke++;
    }
    return woke;
}

static void test_answers(void **state)
{
    (void)state;
    struct backend *b = backend_new(2);
    struct seen s = {0};
    assert_true(ask(b, 7, true, "int x;", 6, 1000));
    assert_true(ask(b, 8, true, "int y;", 6, 1000));
    assert_false(ask(b, 9, true, "int z;", 6, 1000)); /* both builders are busy */
    wait_final(b, &s, 5000);
    wait_final(b, &s, 5000);
    assert_int_equal(s.results, 2);
    assert_true(s.object > 0);
    assert_true(ask(b, 10, false, "FAKE_SPEEDUP=2", 14, 1000));
    wait_final(b, &s, 5000);
    assert_int_equal(s.results, 3);
    assert_int_equal(s.id, 10);
    assert_int_equal(s.progress, 2);
    assert_string_equal(s.verdict, "ok");
    backend_free(b);
}

/* More than any socket buffer takes at once. */
static void test_large(void **state)
{
    (void)state;
    struct backend *b = backend_new(1);
    struct seen s = {0};
    size_t n = 8u << 20;
    char *text = xmalloc(n + 1);
    memset(text, 'x', n);
    text[n] = '\0';
    assert_true(ask(b, 1, true, text, n, 10000));
    wait_final(b, &s, 10000);
    assert_int_equal(s.results, 1);
    assert_true(s.object > n);
    free(text);
    backend_free(b);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *marker, *why;
    } cases[] = {{"FAKE_BENCH=crash", "signal 11"},
                 {"FAKE_BENCH=crash", "the fake back end crashes now"},
                 {"FAKE_BENCH=garbage", "broke its protocol"},
                 {"FAKE_BENCH=noid", "answered what was not asked"},
                 {"FAKE_BENCH=closed", "ended"}};
    struct backend *b = backend_new(1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct seen s = {0};
        assert_true(ask(b, (int64_t)i + 1, false, cases[i].marker, strlen(cases[i].marker), 1000));
        wait_final(b, &s, 3000);
        assert_int_equal(s.failed, 1);
        assert_non_null(strstr(s.why, cases[i].why));
        s = (struct seen){0}; /* the next request gets a fresh child */
        assert_true(ask(b, 100, false, "x", 1, 1000));
        wait_final(b, &s, 3000);
        assert_int_equal(s.results, 1);
    }
    backend_free(b);
}

static void test_deadline(void **state)
{
    (void)state;
    struct backend *b = backend_new(1);
    struct seen s = {0};
    int64_t began = clock_mono_ns();
    assert_true(ask(b, 1, false, "FAKE_BENCH=hang", 15, 10));
    int woke = wait_final(b, &s, 8000);
    int64_t took = (clock_mono_ns() - began) / 1000000;
    assert_int_equal(s.timeouts, 1);
    assert_true(took >= 5000 && took < 6000);
    assert_true(woke < 20); /* it slept meanwhile */
    assert_non_null(strstr(s.why, "deadline"));
    backend_free(b);
}

static void test_cancel(void **state)
{
    (void)state;
    struct backend *b = backend_new(1);
    struct seen s = {0};
    assert_true(ask(b, 1, false, "FAKE_BENCH=hang", 15, 60000));
    wait_final(b, &s, 50);
    int64_t began = clock_mono_ns();
    assert_true(backend_cancel(b, 1));
    assert_true(clock_mono_ns() - began < 100000000);
    assert_false(backend_cancel(b, 1));
    assert_int_equal(backend_deadline(b), INT64_MAX);
    assert_true(ask(b, 2, false, "x", 1, 1000));
    wait_final(b, &s, 3000);
    assert_int_equal(s.results, 1);
    backend_free(b);
}

/* A program that behaves as no back end should. */
static void put_program(const char *dir, const char *text)
{
    const char *path = scratch_path(dir, "warploop-bench");
    assert_true(fs_write(path, text, strlen(text), NULL));
    assert_int_equal(chmod(path, 0700), 0);
    setenv("WARPLOOP_BACKEND_DIR", dir, 1);
}

static void test_flood(void **state)
{
    struct seen s = {0};
    put_program(*state, "#!/bin/sh\nwhile :; do echo a flood of words; done\n");
    struct backend *b = backend_new(1);
    assert_true(ask(b, 1, false, "x", 1, -4500)); /* half a second in all */
    wait_final(b, &s, 3000);
    assert_int_equal(s.timeouts, 1);
    assert_non_null(strstr(s.why, "a flood of words"));
    assert_true(strlen(s.why) < 4096);
    backend_free(b);
}

static void test_closed_output(void **state)
{
    struct seen s = {0};
    put_program(*state, "#!/bin/sh\nexec >&- 2>&-\nread line <&3\nsleep 100\n");
    struct backend *b = backend_new(1);
    assert_true(ask(b, 1, false, "x", 1, -4500));
    int woke = wait_final(b, &s, 3000);
    assert_int_equal(s.timeouts, 1);
    assert_true(woke < 20); /* a closed pipe does not keep us awake */
    backend_free(b);
}

/* It neither reads nor answers: a large request must not hold us. */
static void test_deaf(void **state)
{
    struct seen s = {0};
    put_program(*state, "#!/bin/sh\nsleep 100\n");
    struct backend *b = backend_new(1);
    size_t n = 8u << 20;
    char *text = xcalloc(1, n);
    int64_t began = clock_mono_ns();
    assert_true(ask(b, 1, false, text, n, -4500));
    assert_true(clock_mono_ns() - began < 200000000);
    wait_final(b, &s, 3000);
    assert_int_equal(s.timeouts, 1);
    free(text);
    backend_free(b);
}

static void test_missing(void **state)
{
    setenv("WARPLOOP_BACKEND_DIR", *state, 1);
    struct backend *b = backend_new(1);
    struct wire_msg m = request(1, "evaluate", "candidate", "x", 1, 1000);
    struct error e = {0};
    assert_false(backend_start(b, WORKER_BENCH, 1, &m, &e));
    assert_non_null(strstr(e.msg, "warploop-bench"));
    backend_free(b);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_answers), T(test_large),         T(test_faults), T(test_deadline), T(test_cancel),
        T(test_flood),   T(test_closed_output), T(test_deaf),   T(test_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
