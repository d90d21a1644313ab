/* The executor: what a call may touch, how it ends, what its window and CPU time are, and that
 * nothing a hostile object does reaches the next call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "gpu/c/executor.h"
#include "tests/support/benchtest.h"

static struct nursery nursery;
static struct ev_request request;
static struct arena inputs, outputs;

static const struct ev_shape *shape(void)
{
    return &request.shape[0];
}

static void open_executor(const char *flags, struct executor *x, int cancel_fd)
{
    struct error e;
    const struct buf *b = benchtest_object("kernel.c", flags);
    int object = executor_object(b->s, b->len, &e);
    assert_true(object >= 0);
    struct executor_options how = {.nursery = &nursery, .core = -1, .cancel_fd = cancel_fd};
    bool ok = executor_start(x, &how, object, &e) &&
              executor_map(x, &request, shape(), &inputs, &outputs, &e);
    if (!ok)
        print_error("%s\n", e.msg);
    assert_true(ok);
    close(object);
}

static void call(struct executor *x, struct call *c)
{
    struct error e;
    if (c->deadline_ns == 0)
        c->deadline_ns = 2000000000;
    bool ok = executor_call(x, c, &e);
    if (!ok)
        print_error("%s\n", e.msg);
    assert_true(ok);
}

static void fill(uint64_t seed)
{
    for (size_t i = 0; i < request.nbuffers; i++)
        if (request.buffer[i].kind == EV_INPUT)
            fill_make(request.family[0].fill[i], seed + i, &shape()->extent[i],
                      arena_data(&inputs, i));
}

/* y[0][0] as the kernel computes it. */
static float first_answer(void)
{
    const float *x = arena_data(&inputs, 0), *s0 = arena_data(&inputs, 1);
    return 0.9f * s0[0] + x[0];
}

static void test_call(void **state)
{
    (void)state;
    struct executor x;
    open_executor("", &x, -1);
    for (uint64_t k = 0; k < 5; k++) {
        struct call c = {.empty = false};
        size_t first = 0, buffer;
        bool after;
        fill(100 * k);
        arena_scribble(&outputs, k);
        assert_int_equal(arena_untouched(&outputs, k, 2, &first), 64 * 512);
        call(&x, &c);
        assert_int_equal(c.end, CALL_RETURNED);
        const float *y = arena_data(&outputs, 2);
        assert_true(y[0] - first_answer() < 1e-6f && first_answer() - y[0] < 1e-6f);
        assert_int_equal(arena_untouched(&outputs, k, 2, &first), 0);
        assert_int_equal(arena_untouched(&outputs, k, 3, &first), 0);
        assert_true(arena_slack_intact(&outputs, k, &buffer, &after));
        assert_true(c.window_ns > 0 && c.max_rss_kib > 0);
    }
    executor_stop(&x);
}

static void test_window_and_cpu_time(void **state)
{
    (void)state;
    struct executor x;
    double share = 0;
    open_executor("-DWORK=400", &x, -1);
    for (int k = 0; k < 40 && share < 0.9; k++) {
        struct call c = {.empty = false}, e = {.empty = true};
        call(&x, &c);
        call(&x, &e);
        assert_true(c.window_ns > 5000000); /* 13 M multiply-adds in a chain */
        assert_true(e.cpu_ns < c.cpu_ns / 2);
        assert_true(c.cpu_ns > 0 && c.cpu_ns < c.window_ns + 2000000);
        share = (double)c.cpu_ns / (double)c.window_ns > share
                    ? (double)c.cpu_ns / (double)c.window_ns
                    : share;
    }
    assert_true(share > 0.3); /* 0.98 unless other processes use the core all the time */
    executor_stop(&x);
}

/* Everything below is done by machine code that makes bare system calls. */
static void test_hostile(void **state)
{
    (void)state;
    static const struct {
        const char *flags;
        int signal;
    } hostile[] = {
        {"-DFORKS", SIGSYS},         {"-DSPAWNS_THREAD", SIGSYS}, {"-DALLOCATES", SIGSYS},
        {"-DPRINTS", SIGSYS},        {"-DOPENS_SOCKET", SIGSYS},  {"-DREADS_ETC", SIGSYS},
        {"-DTRUNCATES", SIGSYS},     {"-DKILLS_PARENT", SIGSYS},  {"-DDAEMON", SIGSYS},
        {"-DIO_URING", SIGSYS},      {"-DUNPROTECTS", SIGSYS},    {"-DWRITES_INPUT", SIGSEGV},
        {"-DWRITES_AFTER", SIGSEGV}, {"-DWRITES_NULL", SIGSEGV},
    };
    struct executor sane;
    open_executor("", &sane, -1);
    for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
        struct executor x;
        struct call c = {.empty = false};
        print_message("%s\n", hostile[i].flags);
        open_executor(hostile[i].flags, &x, -1);
        fill(i);
        float x0 = *(float *)arena_data(&inputs, 0);
        call(&x, &c);
        assert_int_equal(c.end, CALL_KILLED);
        assert_int_equal(c.signal, hostile[i].signal);
        assert_true(*(float *)arena_data(&inputs, 0) == x0);
        /* The same template serves on, and so does another version's. */
        struct call again = {.empty = true}, other = {.empty = false};
        call(&x, &again);
        assert_int_equal(again.end, CALL_RETURNED);
        call(&sane, &other);
        assert_int_equal(other.end, CALL_RETURNED);
        executor_stop(&x);
    }
    executor_stop(&sane);
}

static void test_fault_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *flags, *where;
    } faults[] = {
        {"-DWRITES_AFTER", "just after the end of y"},
        {"-DWRITES_INPUT", "a write to input x, which is read-only"},
        {"-DWRITES_NULL", "at address 0x0, in no buffer"},
    };
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct executor x;
        struct call c = {.empty = false};
        char where[160];
        open_executor(faults[i].flags, &x, -1);
        call(&x, &c);
        executor_describe_fault(&x, &request, c.fault_address, where, sizeof where);
        assert_string_equal(where, faults[i].where);
        executor_stop(&x);
    }
}

static void test_deadline(void **state)
{
    (void)state;
    struct executor x;
    struct call c = {.deadline_ns = 100000000}, next = {.empty = true};
    open_executor("-DLOOPS", &x, -1);
    int64_t begin = clock_mono_ns();
    call(&x, &c);
    assert_int_equal(c.end, CALL_TIMEOUT);
    assert_true(clock_mono_ns() - begin < 1000000000);
    call(&x, &next);
    assert_int_equal(next.end, CALL_RETURNED);
    executor_stop(&x);
}

static void test_cancel(void **state)
{
    (void)state;
    struct executor x;
    struct error e;
    struct call c = {.deadline_ns = 5000000000};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    open_executor("-DLOOPS", &x, pair[0]);
    close(pair[1]);
    int64_t begin = clock_mono_ns();
    assert_false(executor_call(&x, &c, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    assert_true(clock_mono_ns() - begin < 200000000);
    executor_stop(&x);
    close(pair[0]);
}

/* The supervisor is the only one who can ever write inputs. */
static void test_inputs_are_sealed(void **state)
{
    (void)state;
    assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, inputs.fd, 0) == MAP_FAILED);
    assert_int_equal(ftruncate(inputs.fd, 0), -1);
    assert_int_equal(ftruncate(outputs.fd, 0), -1);
    assert_int_equal(ftruncate(outputs.fd, 1 << 30), -1);
    void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, inputs.fd, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p, 4096, PROT_READ | PROT_WRITE), -1);
    munmap(p, 4096);
}

static void test_slack(void **state)
{
    (void)state;
    size_t buffer;
    bool after;
    unsigned char *y = arena_data(&outputs, 3);
    arena_scribble(&outputs, 9);
    assert_true(arena_slack_intact(&outputs, 9, &buffer, &after));
    assert_false(arena_slack_intact(&outputs, 10, &buffer, &after));
    y[-1] ^= 1;
    assert_false(arena_slack_intact(&outputs, 9, &buffer, &after));
    assert_int_equal(buffer, 3);
    assert_false(after);
}

static void test_not_an_object(void **state)
{
    (void)state;
    struct executor x;
    struct error e;
    int object = executor_object("not an object", 13, &e);
    struct executor_options how = {.nursery = &nursery, .core = -1, .cancel_fd = -1};
    assert_false(executor_start(&x, &how, object, &e));
    assert_int_equal(e.code, ERR_INPUT);
    close(object);
}

static int begin(void **state)
{
    (void)state;
    struct error e;
    struct wire_msg m;
    struct benchtest_options o = {.mode = "full"};
    if (!nursery_start(&nursery, &e))
        return -1;
    benchtest_request(NULL, NULL, NULL, &o, &m);
    bool ok = ev_request_parse(m.head, &request, &e) &&
              arena_new(&request, shape(), ARENA_INPUTS, false, &inputs, &e) &&
              arena_new(&request, shape(), ARENA_OUTPUTS, false, &outputs, &e);
    wire_msg_free(&m);
    return ok ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    arena_free(&inputs);
    arena_free(&outputs);
    ev_request_free(&request);
    nursery_stop(&nursery);
    benchtest_free();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_window_and_cpu_time),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_fault_is_named),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_inputs_are_sealed),
        cmocka_unit_test(test_slack),
        cmocka_unit_test(test_not_an_object),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
