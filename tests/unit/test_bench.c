/* Whole evaluations: every verdict, with the candidates that earn it, and the program itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/proc.h"
#include "tests/support/benchtest.h"

static struct nursery nursery;
static struct machine machine;

static cJSON *evaluate_flags(const char *candidate, const char *incumbent, const char *baseline,
                             const struct benchtest_options *o)
{
    struct wire_msg m;
    benchtest_request(candidate, incumbent, baseline, o, &m);
    cJSON *result = benchtest_run(&nursery, &machine, &m);
    wire_msg_free(&m);
    return result;
}

/* Again, when other programs on this machine kept the core busy: then nothing can be a record. */
static cJSON *evaluate_quietly(const char *candidate, const char *incumbent, const char *baseline,
                               const struct benchtest_options *o)
{
    for (int i = 0;; i++) {
        cJSON *r = evaluate_flags(candidate, incumbent, baseline, o);
        if (i == 4 || !strstr(json_str(r, "message", ""), "other processes"))
            return r;
        cJSON_Delete(r);
        clock_sleep_ns(1000000000);
    }
}

static void expect(const cJSON *r, const char *verdict, const char *part)
{
    const char *got = json_str(r, "verdict", "none"), *message = json_str(r, "message", "");
    if (strcmp(got, verdict) != 0 || !strstr(message, part))
        fail_msg("verdict %s (%s); %s (...%s...) was expected", got, message, verdict, part);
}

static void test_right(void **state)
{
    (void)state;
    struct benchtest_options o = {.mode = "check"};
    cJSON *r = evaluate_flags("", NULL, NULL, &o);
    expect(r, "ok", "right");
    const cJSON *y = cJSON_GetObjectItem(cJSON_GetObjectItem(r, "errors"), "y");
    assert_true(json_num(y, "ratio", 1) < 1e-6);
    assert_true(fabs(json_num(y, "limit", 0) - 1e-5) < 1e-12);
    assert_null(cJSON_GetObjectItem(r, "speedup"));
    cJSON_Delete(r);
}

/* What a candidate does and what it is told. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *verdict, *message;
    } bad[] = {
        {"-DWRONG", "wrong", "y is wrong in family ordinary, shape short: y[4,1] is"},
        {"-DWRONG_LONG", "wrong", "shape long"},
        {"-DINACCURATE", "inaccurate", "y is inaccurate"},
        {"-DMAKES_NAN", "wrong", "last is wrong"},
        {"-DUNTOUCHED", "wrong", "y was not written: 15 of 15"},
        {"-DFORGETS_ONE", "wrong",
         "y was not written: 5 of 15 elements are untouched, the first "
         "at 2"},
        {"-DEXITS_FIRST", "fault", "system call"},
        {"-DWRITES_AFTER", "fault", "just after the end of y"},
        {"-DWRITES_JUST_AFTER", "wrong", "wrote outside: just after the end of last"},
        {"-DWRITES_BEFORE", "wrong", "wrote outside: just before the start of y"},
        {"-DWRITES_INPUT", "fault", "input x"},
        {"-DWRITES_NULL", "fault", "0x0"},
        {"-DFORKS", "fault", "system call"},
        {"-DSPAWNS_THREAD", "fault", "system call"},
        {"-DALLOCATES", "fault", "system call"},
        {"-DPRINTS", "fault", "system call"},
        {"-DOPENS_SOCKET", "fault", "system call"},
        {"-DREADS_ETC", "fault", "system call"},
        {"-DTRUNCATES", "fault", "system call"},
        {"-DKILLS_PARENT", "fault", "system call"},
        {"-DDAEMON", "fault", "system call"},
        {"-DIO_URING", "fault", "system call"},
        {"-DUNPROTECTS", "fault", "system call"},
        {"-DLOOPS", "timeout", "did not end within 0.1 s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct benchtest_options o = {.mode = "check", .call_ms = 100};
        print_message("%s\n", bad[i].flags);
        cJSON *r = evaluate_flags(bad[i].flags, NULL, NULL, &o);
        /* The exit that is allowed is the end of a process that wrote nothing. */
        if (strcmp(bad[i].flags, "-DEXITS_FIRST") == 0)
            expect(r, "wrong", "was not written");
        else
            expect(r, bad[i].verdict, bad[i].message);
        cJSON_Delete(r);
        /* The next candidate is unharmed. */
        if (i % 6 == 0) {
            r = evaluate_flags("", NULL, NULL, &o);
            expect(r, "ok", "right");
            cJSON_Delete(r);
        }
    }
}

static void test_values_of_a_wrong_one(void **state)
{
    (void)state;
    struct benchtest_options o = {.mode = "check"};
    cJSON *r = evaluate_flags("-DWRONG", NULL, NULL, &o);
    assert_string_equal(json_str(r, "tensor", ""), "y");
    assert_string_equal(json_str(r, "family", ""), "ordinary");
    assert_string_equal(json_str(r, "shape", ""), "short");
    assert_int_equal(json_i64(r, "index", -1), 4 * 3 + 1);
    assert_true(fabs(json_num(r, "got", 0) - json_num(r, "want", 0) - 1) < 1e-4);
    assert_true(json_num(r, "error", 0) > json_num(r, "limit", 1));
    cJSON_Delete(r);
}

/* A former answer kept in static memory is gone at the next call: every one is computed. */
static void test_cache_is_useless(void **state)
{
    (void)state;
    struct benchtest_options o = {.mode = "full", .T = 32, .N = 256, .sets_min = 2, .sets_max = 2};
    cJSON *r = evaluate_flags("-DCACHES", NULL, NULL, &o);
    const char *verdict = json_str(r, "verdict", "");
    assert_true(strcmp(verdict, "ok") == 0 || strcmp(verdict, "screened") == 0);
    cJSON_Delete(r);
}

static void test_broken_task(void **state)
{
    (void)state;
    struct benchtest_options o = {.mode = "full"};
    cJSON *r = evaluate_flags("", NULL, "-DWRITES_NULL", &o);
    expect(r, "infra", "the baseline failed");
    cJSON_Delete(r);
    o.mode = "baseline";
    r = evaluate_flags(NULL, NULL, "-DINACCURATE", &o);
    expect(r, "inaccurate", "y is inaccurate");
    cJSON_Delete(r);
    struct wire_msg m;
    o.mode = "full";
    benchtest_request("", NULL, NULL, &o, &m);
    m.parts[0].bytes.len = 100; /* a cut object */
    r = benchtest_run(&nursery, &machine, &m);
    expect(r, "launch", "breaks a rule");
    cJSON_Delete(r);
    wire_msg_free(&m);
}

#define TIMED .T = 64, .N = 512, .sets_min = 5, .sets_max = 10

static void test_faster_is_a_record(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED, .profile = true, .flop = 1e6};
    cJSON *r = evaluate_quietly("-DWORK=20", "-DWORK=80", "-DWORK=120", &o);
    expect(r, "ok", "and a record");
    assert_true(json_bool(r, "record", false));
    double gain = json_num(r, "gain", 0), speedup = json_num(r, "speedup", 0);
    assert_true(gain > 2.5 && gain < 6 && speedup > 3.5 && speedup < 9);
    assert_true(json_num(r, "gain_lo", 0) < gain && gain < json_num(r, "gain_hi", 0));
    assert_true(json_num(r, "record_lower", 0) > 1.005);
    assert_true(json_num(r, "sets", 0) >= 5);
    const cJSON *s = cJSON_GetArrayItem(cJSON_GetObjectItem(r, "shapes"), 0);
    assert_string_equal(json_str(s, "name", ""), "scored");
    assert_true(json_num(s, "ns", 0) > 0 && json_num(s, "incumbent_ns", 0) > json_num(s, "ns", 0));
    const cJSON *c;
    size_t with_value = 0;
    cJSON_ArrayForEach(c, cJSON_GetObjectItem(r, "counters"))
    {
        bool value = cJSON_IsNumber(cJSON_GetObjectItem(c, "value"));
        with_value += value;
        /* There or absent with the reason; never both, never neither. */
        assert_true(value != (strlen(json_str(c, "absent", "")) > 0));
    }
    assert_true(with_value > 6);
    const cJSON *m = cJSON_GetObjectItem(r, "machine");
    assert_true(strlen(json_str(m, "jail", "")) > 3 && strlen(json_str(m, "cpu", "")) > 1);
    assert_true(json_num(m, "calibration_ns", 0) > 0);
    cJSON_Delete(r);
}

static void test_first_version_beats_the_baseline(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED};
    cJSON *r = evaluate_quietly("-DWORK=20", NULL, "-DWORK=80", &o);
    expect(r, "ok", "and a record");
    assert_true(json_bool(r, "record", false));
    assert_null(cJSON_GetObjectItem(r, "gain"));
    cJSON_Delete(r);
}

static void test_same_is_no_record(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED};
    cJSON *r = evaluate_flags("-DWORK=40", "-DWORK=40 -DOTHER", "-DWORK=40", &o);
    const char *verdict = json_str(r, "verdict", "");
    assert_true(strcmp(verdict, "ok") == 0 || strcmp(verdict, "screened") == 0);
    assert_false(json_bool(r, "record", true));
    cJSON_Delete(r);
}

static void test_slow_is_screened(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED};
    cJSON *r = evaluate_flags("-DWORK=120", "-DWORK=30", "-DWORK=60", &o);
    expect(r, "screened", "clearly slower");
    assert_false(json_bool(r, "record", true));
    assert_true(json_num(r, "gain", 1) < 0.6);
    assert_null(cJSON_GetObjectItem(r, "gain_lo"));
    assert_true(json_num(r, "sets", 0) == 1);
    cJSON_Delete(r);
    /* The first version of all is no worse than nothing: it is measured, however slow. */
    r = evaluate_flags("-DWORK=120", NULL, "-DWORK=60", &o);
    expect(r, "ok", "not provably faster");
    assert_false(json_bool(r, "record", true));
    assert_true(json_num(r, "speedup", 1) < 0.7 && json_num(r, "sets", 0) >= 2);
    cJSON_Delete(r);
}

/* A call that takes next to nothing: a bound, not a fantastic speedup. */
static void test_below_the_resolution(void **state)
{
    (void)state;
    struct benchtest_options o = {.T = 4, .N = 16};
    cJSON *r = evaluate_flags("-DWORK=1", NULL, "-DWORK=4000", &o);
    expect(r, "ok", "below the clock's resolution");
    const cJSON *s = cJSON_GetArrayItem(cJSON_GetObjectItem(r, "shapes"), 0);
    double resolution = json_num(s, "resolution_ns", 0), ns = json_num(s, "ns", 0),
           empty = json_num(cJSON_GetObjectItem(r, "machine"), "calibration_ns", 0);
    assert_true(json_bool(s, "below_resolution", false));
    assert_true(resolution >= 0.0999 * empty && fabs(ns - resolution) < 1);
    double bound = json_num(s, "baseline_ns", 0) / ns, speedup = json_num(r, "speedup", 0);
    assert_true(speedup > 0.5 * bound && speedup < 2 * bound);
    cJSON_Delete(r);
}

static void test_above_the_peak_is_implausible(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED, .flop = 1e13};
    cJSON *r = evaluate_flags("-DWORK=20", NULL, "-DWORK=40", &o);
    expect(r, "implausible", "measured peak");
    cJSON_Delete(r);
}

static void test_baseline_alone(void **state)
{
    (void)state;
    struct benchtest_options o = {TIMED, .mode = "baseline", .flop = 1e6};
    cJSON *r = evaluate_flags(NULL, NULL, "-DWORK=20", &o);
    expect(r, "ok", "");
    assert_true(json_num(r, "speedup", 0) == 1);
    const cJSON *s = cJSON_GetArrayItem(cJSON_GetObjectItem(r, "shapes"), 0);
    assert_true(json_num(s, "baseline_ns", 0) > 0);
    assert_true(json_num(s, "peak_share", 0) > 0 && json_num(s, "peak_share", 2) < 1);
    cJSON_Delete(r);
}

/* ---------------------------------------------------------------- the program */

static char *program(void)
{
    const char *dir = getenv("WARPLOOP_BIN");
    if (dir && *dir)
        return fs_join(dir, "warploop-bench");
    char *here = fs_program_dir(), *path = xasprintf("%s/../../bin/warploop-bench", here);
    free(here);
    return path;
}

static void start(struct proc *p)
{
    struct error e;
    char *path = program(), *argv[] = {path, NULL};
    bool ok = proc_start(p, argv, NULL, &e);
    if (!ok)
        print_error("%s\n", e.msg);
    assert_true(ok);
    free(path);
}

static void test_serves(void **state)
{
    (void)state;
    struct proc p;
    struct wire_msg m, reply;
    struct error e;
    struct benchtest_options o = {.mode = "check"};
    start(&p);
    struct wire_reader reader = {.fd = p.wire};
    for (int i = 0; i < 2; i++) {
        size_t progress = 0;
        benchtest_request("", NULL, NULL, &o, &m);
        assert_true(wire_send(p.wire, &m, &e));
        wire_msg_free(&m);
        for (;;) {
            assert_int_equal(wire_read(&reader, true, &reply, &e), WIRE_MSG);
            assert_string_equal(json_str(reply.head, "id", ""), "7");
            bool last = strcmp(json_str(reply.head, "type", ""), "result") == 0;
            if (last)
                expect(reply.head, "ok", "right");
            wire_msg_free(&reply);
            if (last)
                break;
            progress++;
        }
        assert_true(progress >= 1);
    }
    m = (struct wire_msg){.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m.head, "op", "dance");
    assert_true(wire_send(p.wire, &m, &e));
    wire_msg_free(&m);
    assert_int_equal(wire_read(&reader, true, &reply, &e), WIRE_MSG);
    expect(reply.head, "infra", "unknown op");
    wire_msg_free(&reply);
    wire_reader_free(&reader);
    close(p.wire);
    p.wire = -1;
    assert_int_equal(proc_wait(&p), 0); /* end of file ends it, without complaint */
}

/* The process, its children, theirs, and so on: their ids; how many. */
static size_t family_of(pid_t pid, pid_t *out, size_t max)
{
    size_t n = 1;
    out[0] = pid;
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("/proc/%d/task/%d/children", (int)out[i], (int)out[i]);
        struct buf text = {0};
        if (fs_read(path, 1u << 16, &text, NULL))
            for (char *p = text.s, *end; p && n < max; p = end) {
                long child = strtol(p, &end, 10);
                if (end == p)
                    break;
                out[n++] = (pid_t)child;
            }
        buf_free(&text);
        free(path);
    }
    return n;
}

/* A looping call has a real-time priority where that is granted: it must not outlive anyone. */
static void assert_gone_soon(const pid_t *pids, size_t n)
{
    int64_t begin = clock_mono_ns();
    for (size_t i = 0; i < n; i++)
        while (kill(pids[i], 0) == 0) {
            if (clock_mono_ns() - begin > 2000000000)
                fail_msg("process %d is still there", (int)pids[i]);
            clock_sleep_ns(5000000);
        }
}

/* How long it takes to be gone after `how` was done to it in mid-call. */
static void test_cancel(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct proc p;
        struct wire_msg m, reply;
        struct error e;
        struct benchtest_options o = {.mode = "check", .call_ms = 50000};
        pid_t pids[32];
        start(&p);
        struct wire_reader reader = {.fd = p.wire};
        benchtest_request("-DLOOPS", NULL, NULL, &o, &m);
        assert_true(wire_send(p.wire, &m, &e));
        wire_msg_free(&m);
        assert_int_equal(wire_read(&reader, true, &reply, &e), WIRE_MSG);
        wire_msg_free(&reply);
        size_t n = 0;
        for (int i = 0, same = 0; i < 3000 && same < 20; i++) {
            clock_sleep_ns(10000000);
            n = family_of(p.pid, pids, ARRAY_LEN(pids));
            same = n >= 6 ? same + 1 : 0; /* itself, the nursery, three templates, the call */
        }
        assert_true(n >= 6);
        int64_t begin = clock_mono_ns();
        if (how == 0) {
            close(p.wire);
            p.wire = -1;
        } else {
            kill(p.pid, how == 1 ? SIGTERM : SIGKILL);
        }
        wire_reader_free(&reader);
        proc_wait(&p);
        assert_true(clock_mono_ns() - begin < 200000000);
        assert_gone_soon(pids, n);
    }
}

/* Two that want the core all the time get it by turns. */
static void test_lock_is_fair(void **state)
{
    (void)state;
    int mine = 0, theirs = 0, link[2];
    struct machine nowhere = machine; /* a lock of its own: real runs may hold that of the core */
    nowhere.core = -1;
    assert_int_equal(pipe(link), 0);
    pid_t pid = fork();
    int64_t stop = clock_mono_ns() + 400000000;
    while (clock_mono_ns() < stop) {
        struct device_lock lock;
        struct error e;
        if (!device_lock_take(&nowhere, -1, NULL, NULL, &lock, &e))
            break;
        clock_sleep_ns(2000000);
        device_lock_release(&lock);
        mine++;
    }
    if (pid == 0)
        _exit(write(link[1], &mine, sizeof mine) != (ssize_t)sizeof mine);
    assert_int_equal(read(link[0], &theirs, sizeof theirs), sizeof theirs);
    waitpid(pid, NULL, 0);
    close(link[0]);
    close(link[1]);
    assert_true(mine > 3 && theirs > 3);
    assert_true(mine < 3 * theirs && theirs < 3 * mine);
}

static int begin(void **state)
{
    (void)state;
    struct error e;
    machine_probe(&machine);
    if (!nursery_start(&nursery, &e))
        return -1;
    machine_measure(&machine);
    return machine.peak_gflops > 0.5 ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    nursery_stop(&nursery);
    benchtest_free();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_values_of_a_wrong_one),
        cmocka_unit_test(test_cache_is_useless),
        cmocka_unit_test(test_broken_task),
        cmocka_unit_test(test_faster_is_a_record),
        cmocka_unit_test(test_first_version_beats_the_baseline),
        cmocka_unit_test(test_same_is_no_record),
        cmocka_unit_test(test_slow_is_screened),
        cmocka_unit_test(test_below_the_resolution),
        cmocka_unit_test(test_above_the_peak_is_implausible),
        cmocka_unit_test(test_baseline_alone),
        cmocka_unit_test(test_lock_is_fair),
        cmocka_unit_test(test_serves),
        cmocka_unit_test(test_cancel),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
