/* The system call filters: what each lets through and what it stops. Every case runs in a child. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "gpu/c/seccomp.h"

#define GO_FD 9

/* Run `act` in a child behind the filter; its exit status is what act returns. */
static int behind(const struct seccomp_program *p, long (*act)(void))
{
    int go[2];
    assert_int_equal(pipe(go), 0);
    assert_int_equal(write(go[1], "g", 1), 1);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(go[0], GO_FD);
        if (!seccomp_enter(p))
            syscall(SYS_exit_group, 99);
        long r = act();
        syscall(SYS_exit_group, r & 0x7f);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(go[0]);
    close(go[1]);
    return status;
}

static char byte;
static long do_nothing(void)
{
    return 0;
}
static long do_read_go(void)
{
    return syscall(SYS_read, GO_FD, &byte, 1) == 1 ? 7 : 8;
}
static long do_read_stdin(void)
{
    return syscall(SYS_read, 0, &byte, 1);
}
static long do_write(void)
{
    return syscall(SYS_write, 1, "", 0);
}
static long do_mmap(void)
{
    return syscall(SYS_mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == -1;
}
static long do_mprotect(void)
{
    return syscall(SYS_mprotect, 0, 4096, PROT_EXEC);
}
static long do_open(void)
{
    return syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY);
}
static long do_fork(void)
{
    return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
static long do_clone3(void)
{
    return syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS ? 7 : 8;
}
static long do_socket(void)
{
    return syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM ? 7 : 8;
}
static long do_socketpair(void)
{
    int sv[2];
    return syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, sv) < 0 && errno == EPERM ? 7 : 8;
}
static long do_setsid(void)
{
    return syscall(SYS_setsid);
}
static long do_uring(void)
{
    return syscall(SYS_io_uring_setup, 8, NULL) < 0 && errno == ENOSYS ? 7 : 8;
}
static long do_ftruncate(void)
{
    return syscall(SYS_ftruncate, GO_FD, 0);
}
static long do_kill(void)
{
    return syscall(SYS_kill, getppid(), 0);
}
static long do_getpid(void)
{
    return syscall(SYS_getpid) < 0;
}
static long do_exec(void)
{
    char *argv[] = {(char[]){"true"}, NULL};
    return syscall(SYS_execve, "/bin/true", argv, NULL) < 0 && errno == EPERM ? 7 : 8;
}
static long do_ptrace(void)
{
    return syscall(SYS_ptrace, 0, 0, 0, 0) < 0 && errno == EPERM ? 7 : 8;
}
static long do_unshare(void)
{
    return syscall(SYS_unshare, CLONE_NEWUSER) < 0 && errno == EPERM ? 7 : 8;
}
static long do_thread(void)
{
    return syscall(SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, 0,
                   0, 0, 0) < 0 &&
                   errno == EPERM
               ? 7
               : 8;
}
static long do_executor_work(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, 4096, PROT_READ) != 0)
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(5);
    int st = 0;
    if (pid < 0 || waitpid(pid, &st, 0) != pid || WEXITSTATUS(st) != 5)
        return 2;
    return 7;
}
/* The template's filter, then the child's on top. */
static struct seccomp_program inner;
static long do_nested(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!seccomp_enter(&inner))
            _exit(3);
        char c;
        syscall(SYS_read, GO_FD, &c, 1);
        syscall(SYS_getppid);
        _exit(4);
    }
    int st = 0;
    return waitpid(pid, &st, 0) == pid && WIFSIGNALED(st) && WTERMSIG(st) == SIGSYS ? 7 : 8;
}

static bool killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}
static bool exited(int status, int code)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

static void test_timed_child(void **state)
{
    (void)state;
    struct error e = {0};
    struct seccomp_program p;
    assert_true(seccomp_timed_child(GO_FD, &p, &e));
    assert_true(exited(behind(&p, do_nothing), 0));
    assert_true(exited(behind(&p, do_read_go), 7));
    long (*const bad[])(void) = {do_read_stdin, do_write,  do_mmap,   do_mprotect, do_open,
                                 do_fork,       do_clone3, do_socket, do_setsid,   do_uring,
                                 do_ftruncate,  do_kill,   do_getpid, do_exec,     do_ptrace,
                                 do_unshare,    do_thread};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (!killed(behind(&p, bad[i])))
            fail_msg("call %zu was let through", i);
    }
    seccomp_program_free(&p);
    assert_true(seccomp_timed_child(-1, &p, &e));
    assert_true(exited(behind(&p, do_nothing), 0));
    assert_true(killed(behind(&p, do_read_go)));
    seccomp_program_free(&p);
}

static void test_executor(void **state)
{
    (void)state;
    struct error e = {0};
    struct seccomp_program p;
    assert_true(seccomp_executor(&p, &e));
    assert_true(seccomp_timed_child(GO_FD, &inner, &e));
    assert_true(exited(behind(&p, do_executor_work), 7));
    assert_true(exited(behind(&p, do_nested), 7));
    long (*const refused[])(void) = {do_socket,  do_socketpair, do_exec,   do_ptrace,
                                     do_unshare, do_thread,     do_clone3, do_uring};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (!exited(behind(&p, refused[i]), 7))
            fail_msg("call %zu was not refused", i);
    }
    seccomp_program_free(&inner);
    seccomp_program_free(&p);
}

static void test_compiler(void **state)
{
    (void)state;
    struct error e = {0};
    struct seccomp_program p;
    assert_true(seccomp_compiler(&p, &e));
    assert_true(exited(behind(&p, do_executor_work), 7));
    long (*const refused[])(void) = {do_socket, do_socketpair, do_ptrace, do_unshare, do_uring};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (!exited(behind(&p, refused[i]), 7))
            fail_msg("call %zu was not refused", i);
    }
    int fd = seccomp_program_fd(&p);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), p.n * 8);
    close(fd);
    seccomp_program_free(&p);
}

static void test_lock_functions(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct error e = {0};
        if (!seccomp_lock_executor(&e) || !seccomp_lock_timed_child(GO_FD, &e))
            _exit(1);
        syscall(SYS_getpid);
        _exit(0);
    }
    int st = 0;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    assert_true(killed(st));
}

static void test_enter_refuses_nothing(void **state)
{
    (void)state;
    struct seccomp_program none = {NULL, 0};
    assert_false(seccomp_enter(&none));
    assert_int_equal(errno, EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timed_child),
        cmocka_unit_test(test_executor),
        cmocka_unit_test(test_compiler),
        cmocka_unit_test(test_lock_functions),
        cmocka_unit_test(test_enter_refuses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
