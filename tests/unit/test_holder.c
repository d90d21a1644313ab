/* The holder on a real terminal: leaving, hang-up, Ctrl-Z, exit codes, and a child that is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/loop/holder.h"
#include "tests/support/scratch.h"
#include "tests/support/vt.h"

static int begin(void **state)
{
    *state = scratch_new();
    return 0;
}

static int end(void **state)
{
    scratch_free(*state);
    return 0;
}

static void put_file(const char *dir, const char *name, const char *text)
{
    if (!fs_write(scratch_path(dir, name), text, strlen(text), NULL))
        abort();
}

/* Goes on without a screen: notes that it lives, a few seconds at most. */
static int work_on(const char *dir)
{
    for (int i = 0; i < 300; i++) {
        char text[64];
        snprintf(text, sizeof text, "%d %d %d", i, (int)getpid(), (int)getsid(0));
        put_file(dir, "count", text);
        if (fs_exists(scratch_path(dir, "enough")))
            break;
        clock_sleep_ns(10000000);
    }
    return 0;
}

/* What the workbench does with the terminal, in small. */
static int workbench(void *ctx)
{
    const char *dir = ctx;
    int fd = holder_fork("warploop resume kda-1 goes on");
    struct termios tio;
    signal(SIGHUP, SIG_IGN);
    tcgetattr(0, &tio);
    cfmakeraw(&tio);
    tcsetattr(0, TCSANOW, &tio);
    printf("\033[?1049h\033[?25l\033[2J\033[Hworkbench of %d up", (int)getpid());
    fflush(stdout);
    put_file(dir, "up", "x");
    for (;;) {
        char key = 0;
        ssize_t n = read(0, &key, 1);
        if (n <= 0 && errno != EINTR) { /* hung up */
            holder_left(fd);
            return work_on(dir);
        }
        if (key == 'q') {
            printf("\033[?1049l\033[?25hgoes on as %d\r\n", (int)getpid());
            fflush(stdout);
            holder_left(fd);
            return work_on(dir);
        }
        if (key == 'e')
            return 7;
        if (key == 'z') {
            raise(SIGSTOP);
            printf(" back again");
            fflush(stdout);
        }
        if (key == 'k')
            kill(getpid(), SIGKILL);
    }
}

static struct vt *start(const char *dir)
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", dir);
    struct vt_opts o = {.rows = 24, .cols = 80, .call = workbench, .ctx = copy};
    struct vt *v = vt_start(&o);
    assert_true(vt_wait(v, "up", 3000));
    return v;
}

static bool wait_file(const char *dir, const char *name)
{
    for (int i = 0; i < 500; i++) {
        if (fs_exists(scratch_path(dir, name)))
            return true;
        clock_sleep_ns(10000000);
    }
    return false;
}

/* The child counts on, as a session of its own. */
static void expect_going_on(const char *dir)
{
    struct buf a = {0}, b = {0};
    int count = 0, pid = 0, sid = 0, later = 0;
    assert_true(wait_file(dir, "count"));
    assert_true(fs_read(scratch_path(dir, "count"), 1000, &a, NULL));
    assert_int_equal(sscanf(buf_str(&a), "%d %d %d", &count, &pid, &sid), 3);
    assert_int_equal(pid, sid);
    clock_sleep_ns(200000000);
    assert_true(fs_read(scratch_path(dir, "count"), 1000, &b, NULL));
    later = atoi(buf_str(&b));
    assert_true(later > count);
    put_file(dir, "enough", "x");
    buf_free(&a);
    buf_free(&b);
}

static void test_leave(void **state)
{
    struct vt *v = start(*state);
    vt_send(v, "q");
    int status = vt_wait_exit(v, 3000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(vt_wait(v, "goes on as", 1000));
    assert_false(vt_altscreen(v));
    expect_going_on(*state);
    vt_end(v);
}

static void test_exit_code(void **state)
{
    struct vt *v = start(*state);
    vt_send(v, "e");
    int status = vt_wait_exit(v, 3000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    vt_end(v);
}

static void test_killed(void **state)
{
    struct vt *v = start(*state);
    assert_true(vt_altscreen(v));
    assert_false(vt_cooked(v));
    vt_send(v, "k");
    int status = vt_wait_exit(v, 3000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGKILL);
    assert_true(vt_wait(v, "warploop resume kda-1 goes on", 1000));
    assert_true(vt_wait(v, "signal 9", 1000));
    assert_false(vt_altscreen(v));
    assert_true(vt_cursor_visible(v));
    assert_true(vt_cooked(v));
    vt_end(v);
}

static void test_stopped(void **state)
{
    struct vt *v = start(*state);
    vt_send(v, "z");
    assert_true(vt_wait_stopped(v, 3000)); /* the holder stops too: the shell gets its prompt */
    vt_signal(v, SIGCONT);
    assert_true(vt_wait(v, "back again", 3000));
    vt_send(v, "e");
    assert_int_equal(WEXITSTATUS(vt_wait_exit(v, 3000)), 7);
    vt_end(v);
}

static void test_hang_up(void **state)
{
    struct vt *v = start(*state);
    vt_hangup(v);
    int status = vt_wait_exit(v, 3000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_going_on(*state);
    vt_end(v);
}

static void test_terminated(void **state)
{
    struct vt *v = start(*state);
    vt_signal(v, SIGTERM); /* to the holder: the child's to carry out */
    int status = vt_wait_exit(v, 3000);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 128 + SIGTERM);
    vt_end(v);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {T(test_leave),   T(test_exit_code), T(test_killed),
                                       T(test_stopped), T(test_hang_up),   T(test_terminated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
