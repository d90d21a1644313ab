/* How the commands show a run: versions by name, numbers, ages, state, plain lines, evidence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/cmd/evidence.h"
#include "core/cmd/plain.h"
#include "core/cmd/view.h"
#include "core/log/log.h"
#include "tests/support/enginetest.h"
#include "tests/support/mkrun.h"
#include "tests/support/scratch.h"

static struct error e;

static int set_up(void **state)
{
    *state = scratch_new();
    et_setup(*state, false);
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

#define PUT_IS(want, call)                                                                         \
    do {                                                                                           \
        struct buf b = {0};                                                                        \
        call;                                                                                      \
        assert_string_equal(buf_str(&b), want);                                                    \
        buf_free(&b);                                                                              \
    } while (0)

static void test_numbers(void **state)
{
    (void)state;
    PUT_IS("-", put_speedup(&b, (double)NAN, 1, 2));
    PUT_IS("1.84x", put_speedup(&b, 1.84, (double)NAN, (double)NAN));
    PUT_IS("1.84x (1.82..1.86)", put_speedup(&b, 1.84, 1.82, 1.86));
    PUT_IS("0.0123x", put_speedup(&b, 0.0123, (double)NAN, (double)NAN));
    PUT_IS("120x", put_speedup(&b, 120, (double)NAN, (double)NAN));
    PUT_IS("-", put_change(&b, (double)NAN));
    PUT_IS("+12.3 %", put_change(&b, 1.123));
    PUT_IS("-50.0 %", put_change(&b, 0.5));
    PUT_IS("+900 %", put_change(&b, 10));
    PUT_IS("-", put_ns(&b, (double)NAN));
    PUT_IS("7 ns", put_ns(&b, 7));
    PUT_IS("1.5 us", put_ns(&b, 1500));
    PUT_IS("23.4 ms", put_ns(&b, 23.4e6));
    PUT_IS("2 s", put_ns(&b, 2e9));
    PUT_IS("999 B", put_bytes(&b, 999));
    PUT_IS("12 kB", put_bytes(&b, 12345));
    PUT_IS("1.2 MB", put_bytes(&b, 1234567));
    PUT_IS("0 s", put_age(&b, -5));
    PUT_IS("119 s", put_age(&b, INT64_C(119999999999)));
    PUT_IS("2 min", put_age(&b, INT64_C(120000000000)));
    PUT_IS("3 h", put_age(&b, INT64_C(3) * 3600 * 1000000000 + 1));
    PUT_IS("5 days", put_age(&b, INT64_C(5) * 86400 * 1000000000));
}

static void test_padding(void **state)
{
    (void)state;
    PUT_IS("one\ntwo  ", (buf_adds(&b, "one\ntwo"), put_pad(&b, 5)));
    PUT_IS("longer ", (buf_adds(&b, "longer"), put_pad(&b, 3)));
    PUT_IS("a b", put_line(&b, "a\nb", 40));
}

static struct run_view finished(void)
{
    char *path = et_create("tuner", 1, 3);
    struct run_view v;
    assert_int_equal(et_run(path), ENGINE_ENDED);
    assert_true(run_view_path(path, &v, &e));
    free(path);
    return v;
}

static void test_versions(void **state)
{
    (void)state;
    struct run_view v = finished();
    const struct run_state *s = v.s;
    int64_t id = -7, last = (int64_t)s->nversions - 1;
    static const char *const good[] = {"baseline", "START", "0", "v1", "V1"};
    static const int64_t ids[] = {0, 1, 0, 1, 1};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(version_parse(s, good[i], &id, &e));
        assert_int_equal(id, ids[i]);
    }
    assert_true(version_parse(s, "last", &id, &e) && id == last);
    assert_true(version_parse(s, "best", &id, &e) && id == s->incumbent);
    static const char *const bad[] = {"", "v", "x", "1.5", " 1", "newest"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(version_parse(s, bad[i], &id, &e));
        assert_int_equal(e.code, ERR_INPUT);
    }
    static const char *const none[] = {"-1", "99", "9223372036854775807"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        assert_false(version_parse(s, none[i], &id, &e));
        assert_int_equal(e.code, ERR_NOTFOUND);
        assert_non_null(strstr(e.msg, "v0 (baseline) to v"));
    }
    run_view_close(&v);
}

static void test_status(void **state)
{
    (void)state;
    char *path = et_create("outside", 1, 0);
    struct run_view v;
    assert_true(run_view_path(path, &v, &e));
    assert_int_equal(v.status, RUN_NEW);
    assert_int_equal(v.pid, 0);
    assert_false(version_parse(v.s, "best", &(int64_t){0}, &e));
    struct et_engine g = {0};
    et_start(&g, path);
    assert_true(run_view_poll(&v, &e));
    assert_int_equal(v.status, RUN_RUNNING);
    assert_int_equal(v.pid, getpid());
    struct buf b = {0};
    run_status_text(&v, &b);
    assert_non_null(strstr(buf_str(&b), "running (pid "));
    buf_free(&b);
    et_stop(&g, 1);
    assert_int_equal(et_join(&g), ENGINE_STOPPED);
    assert_true(run_view_poll(&v, &e));
    assert_int_equal(v.status, RUN_STOPPED);
    run_view_close(&v);
    free(path);
}

/* An engine that died leaves a run that is crashed, not running. */
static int die(const char *path)
{
    struct log *log = log_open(path, NULL);
    struct event ev = event_make(EV_ENGINE_STARTED);
    ev.id = 1;
    ev.n = getpid();
    _exit(log && log_lock(log, NULL) && log_append(log, &ev, NULL) ? 0 : 1);
}

static void test_crashed(void **state)
{
    (void)state;
    char *path = et_create("outside", 1, 0);
    assert_int_equal(scratch_child(die, path), 0);
    struct run_view v;
    assert_true(run_view_path(path, &v, &e));
    assert_int_equal(v.status, RUN_CRASHED);
    run_view_close(&v);
    free(path);
}

static void test_summary(void **state)
{
    (void)state;
    struct run_view v = finished();
    struct buf b = {0};
    plain_summary(&v, &b);
    const char *s = buf_str(&b);
    assert_non_null(strstr(s, ": ended: "));
    assert_non_null(strstr(s, "best is v"));
    assert_non_null(strstr(s, v.path));
    assert_non_null(strstr(s, "\nlook again: warploop show "));
    assert_true(b.len && b.s[b.len - 1] == '\n');
    buf_free(&b);
    run_view_close(&v);
}

static void test_try_lines(void **state)
{
    (void)state;
    struct run_view v = finished();
    struct version ver = *state_version(v.s, 1);
    ver.id = 7;
    ver.strategy = (char[]){"wide\033[31m\nlanes"};
    ver.predicted = 1.25;
    ver.speedup = (double)NAN;
    ver.verdict = VERDICT_WRONG;
    ver.record = false;
    ver.try_seq = 0;
    PUT_IS("v7   wide lanes: expected +25.0 %, measured nothing, wrong\n",
           plain_try(v.r, &ver, &b));
    ver.strategy = (char[]){"wide"};
    ver.predicted = (double)NAN;
    ver.speedup = 2;
    ver.lo = 1.9;
    ver.hi = 2.1;
    ver.gain = 1.1;
    ver.against = 3;
    ver.verdict = VERDICT_OK;
    ver.record = true;
    PUT_IS("v7   wide: measured +10.0 % on v3: 2.00x (1.90..2.10), ok, RECORD\n",
           plain_try(v.r, &ver, &b));
    run_view_close(&v);
}

/* What plain_step prints while standard output is a file. */
static char *printed(struct plain *p)
{
    char text[8192];
    FILE *f = tmpfile();
    assert_non_null(f);
    fflush(stdout);
    int old = dup(STDOUT_FILENO);
    dup2(fileno(f), STDOUT_FILENO);
    bool ok = plain_step(p, &e);
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    assert_true(ok);
    rewind(f);
    struct buf b = {0};
    for (size_t n; (n = fread(text, 1, sizeof text, f)) > 0;) {
        buf_add(&b, text, n);
    }
    fclose(f);
    buf_addc(&b, '\0');
    return buf_take(&b);
}

static size_t lines(const char *s)
{
    size_t n = 0;
    for (; *s; s++) {
        n += *s == '\n';
    }
    return n;
}

static void test_plain_steps(void **state)
{
    (void)state;
    struct run_view v = finished();
    struct plain p;
    plain_begin(&p, &v, SIZE_MAX);
    char *all = printed(&p);
    assert_non_null(strstr(all, " baseline: 10 ms a call"));
    assert_non_null(strstr(all, "v1   start: measured "));
    assert_non_null(strstr(all, "RECORD"));
    assert_non_null(strstr(all, " ended: "));
    for (size_t i = 1; i < v.s->nversions; i++) {
        char *line = xasprintf("  v%zu ", i);
        char *first = strstr(all, line);
        assert_non_null(first);
        assert_null(strstr(first + 1, line)); /* each try once */
        free(line);
    }
    char *again = printed(&p);
    assert_string_equal(again, "");
    plain_begin(&p, &v, 2);
    char *two = printed(&p);
    assert_true(lines(two) <= 2 && lines(two) >= 1);
    free(all);
    free(again);
    free(two);
    run_view_close(&v);
}

static void parsed(struct json_doc *doc, const char *text)
{
    assert_true(json_parse(doc, "test", text, strlen(text), &e));
}

static void test_absent_counters(void **state)
{
    (void)state;
    struct evidence ev = {0};
    parsed(&ev.result, "{\"counters\":[{\"name\":\"cycles\",\"absent\":\"no PMU\"},"
                       "{\"name\":\"faults\",\"unit\":\"1/call\",\"value\":12,\"baseline\":14},"
                       "{\"name\":\"power\",\"absent\":\"no right\"},"
                       "{\"name\":\"branches\",\"absent\":\"no PMU\"}]}");
    struct buf b = {0};
    evidence_counters(&ev, &b);
    const char *s = buf_str(&b);
    assert_non_null(strstr(s, "  not measured: cycles, branches: no PMU\n"));
    assert_non_null(strstr(s, "  not measured: power: no right\n"));
    assert_non_null(strstr(s, "  faults                        12            14            -"));
    buf_free(&b);
    json_free(&ev.result);
}

static void test_shapes(void **state)
{
    (void)state;
    struct evidence ev = {0};
    parsed(&ev.result, "{\"shapes\":[{\"name\":\"t1\",\"ns\":2e7,\"ns_spread\":0.031,"
                       "\"baseline_ns\":4e7,\"speedup\":2,\"peak_share\":0.25}]}");
    struct buf b = {0};
    evidence_shapes(&ev, &b);
    assert_non_null(strstr(
        buf_str(&b), "  t1               20 ms       3.1 %    40 ms       2.00x                -"));
    assert_non_null(strstr(buf_str(&b), "25.0 %\n"));
    buf_free(&b);
    json_free(&ev.result);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_numbers),         T(test_padding), T(test_versions),  T(test_status),
        T(test_crashed),         T(test_summary), T(test_try_lines), T(test_plain_steps),
        T(test_absent_counters), T(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
