#include "gpu/c/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/mem.h"

/* Calls that the executor needs: memory, loading a library, forking and waiting, its own open
 * descriptors, measuring itself. */
/* clang-format off */
static const char *const executor_calls[] = {
    "read", "write", "readv", "writev", "pread64", "pwrite64", "close", "close_range", "fstat",
    "newfstatat", "stat", "lstat", "statx", "lseek", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getcwd", "mmap", "mprotect", "munmap", "mremap", "madvise", "brk",
    "mlock", "munlock", "mincore", "open", "openat", "fcntl", "dup", "dup2", "dup3", "pipe",
    "pipe2", "poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait",
    "epoll_pwait", "eventfd2", "signalfd4", "timerfd_create", "timerfd_settime", "timerfd_gettime",
    "memfd_create", "ftruncate", "fallocate", "fork", "vfork", "wait4", "waitid", "pidfd_open",
    "pidfd_send_signal", "kill", "tgkill", "tkill", "getpid", "getppid", "gettid", "getuid",
    "geteuid", "getgid", "getegid", "getpgid", "getpgrp", "setpgid", "setsid", "clock_gettime",
    "clock_getres", "clock_nanosleep", "gettimeofday", "time", "nanosleep", "futex", "prctl",
    "seccomp", "arch_prctl", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
    "rt_sigtimedwait", "sigaltstack", "set_robust_list", "set_tid_address", "rseq", "prlimit64",
    "getrlimit", "setrlimit", "getrusage", "times", "sched_setaffinity", "sched_getaffinity",
    "sched_yield", "sched_getparam", "sched_setparam", "sched_getscheduler", "getcpu", "getrandom",
    "uname", "sysinfo", "ioctl", "perf_event_open", "recvmsg", "sendmsg", "recvfrom", "sendto", "shutdown",
    "restart_syscall", "exit", "exit_group", "membarrier", "personality", "setpriority",
    "getpriority"};
/* clang-format on */

/* Calls that no compiler needs and that widen what a hostile source could reach through a bug in
 * one. Leaving the process group too: a group is ended whole. */
/* clang-format off */
static const char *const compiler_denied[] = {
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "ptrace",
    "process_vm_readv", "process_vm_writev", "bpf", "mount", "umount2", "move_mount", "open_tree",
    "fsopen", "fsmount", "fsconfig", "fspick", "mount_setattr", "pivot_root", "chroot", "unshare",
    "setns", "keyctl", "add_key", "request_key", "init_module", "finit_module", "delete_module",
    "kexec_load", "kexec_file_load", "perf_event_open", "userfaultfd", "reboot", "swapon",
    "swapoff", "acct", "quotactl", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime",
    "sethostname", "setdomainname", "iopl", "ioperm", "open_by_handle_at", "name_to_handle_at",
    "kcmp", "lookup_dcookie", "fanotify_init", "inotify_init", "inotify_init1", "personality",
    "setsid", "setpgid", "mknod", "mknodat", "memfd_secret", "pidfd_getfd"};
/* clang-format on */

static const char *const uring_calls[] = {"io_uring_setup", "io_uring_enter", "io_uring_register"};

#define CLONE_NS                                                                                   \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET)

static bool failed(struct error *e, int rc, const char *what)
{
    errno = rc < 0 ? -rc : rc;
    return error_sys(e, "cannot make the system call filter (%s)", what);
}

/* A call that this machine's libseccomp does not know, or that this architecture does not have,
 * cannot be made with a name it knows either: skip it. */
static int number_of(const char *name)
{
    int nr = seccomp_syscall_resolve_name(name);
    return nr < 0 ? -1 : nr;
}

static bool add_all(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t n,
                    struct error *e)
{
    for (size_t i = 0; i < n; i++) {
        int nr = number_of(names[i]);
        int rc = nr < 0 ? 0 : seccomp_rule_add(ctx, action, nr, 0);
        if (rc < 0)
            return failed(e, rc, names[i]);
    }
    return true;
}

void seccomp_program_free(struct seccomp_program *p)
{
    free(p->code);
    *p = (struct seccomp_program){NULL, 0};
}

/* libseccomp before 2.6 exports to a descriptor only. */
static bool export(scmp_filter_ctx ctx, struct seccomp_program *out, struct error *e)
{
    int fd = (int)syscall(SYS_memfd_create, "filter", 1u /* MFD_CLOEXEC */);
    if (fd < 0)
        return error_sys(e, "cannot make the system call filter (memory file)");
    int rc = seccomp_export_bpf(ctx, fd);
    off_t size = rc < 0 ? 0 : lseek(fd, 0, SEEK_END);
    size_t n = size > 0 ? (size_t)size / sizeof(struct sock_filter) : 0;
    bool ok = rc == 0 && n > 0 && n <= BPF_MAXINSNS;
    if (ok) {
        out->code = xmalloc(n * sizeof(struct sock_filter));
        out->n = (unsigned short)n;
        ok = pread(fd, out->code, n * sizeof(struct sock_filter), 0) ==
             (ssize_t)(n * sizeof(struct sock_filter));
    }
    close(fd);
    if (!ok) {
        seccomp_program_free(out);
        failed(e, rc ? rc : EIO, "export");
    }
    return ok;
}

static scmp_filter_ctx filter_new(uint32_t action, struct error *e)
{
    scmp_filter_ctx ctx = seccomp_init(action);
    if (!ctx || seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) < 0 ||
        seccomp_attr_set(ctx, SCMP_FLTATR_CTL_NNP, 1) < 0) {
        failed(e, EINVAL, "libseccomp");
        if (ctx)
            seccomp_release(ctx);
        return NULL;
    }
    return ctx;
}

bool seccomp_timed_child(int go_fd, struct seccomp_program *out, struct error *e)
{
    static const char *const calls[] = {"exit", "exit_group", "rt_sigreturn"};
    *out = (struct seccomp_program){NULL, 0};
    scmp_filter_ctx ctx = filter_new(SCMP_ACT_KILL_PROCESS, e);
    if (!ctx)
        return false;
    bool ok = add_all(ctx, SCMP_ACT_ALLOW, calls, ARRAY_LEN(calls), e);
    if (ok && go_fd >= 0) {
        int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                                  SCMP_CMP(0, SCMP_CMP_EQ, (scmp_datum_t)go_fd, 0));
        ok = rc == 0 || failed(e, rc, "read");
    }
    ok = ok && export(ctx, out, e);
    seccomp_release(ctx);
    return ok;
}

bool seccomp_executor(struct seccomp_program *out, struct error *e)
{
    *out = (struct seccomp_program){NULL, 0};
    scmp_filter_ctx ctx = filter_new(SCMP_ACT_ERRNO(EPERM), e);
    if (!ctx)
        return false;
    bool ok = add_all(ctx, SCMP_ACT_ALLOW, executor_calls, ARRAY_LEN(executor_calls), e) &&
              add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), uring_calls, ARRAY_LEN(uring_calls), e);
    /* fork is clone without a thread and without a new namespace; clone3 hides its flags in memory,
     * so it is not there at all and the libc falls back to clone. */
    int rc = ok ? seccomp_rule_add(
                      ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                      SCMP_CMP(0, SCMP_CMP_MASKED_EQ, (scmp_datum_t)(CLONE_NS | CLONE_THREAD), 0))
                : 0;
    int clone3 = number_of("clone3");
    if (rc == 0 && ok && clone3 >= 0)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), clone3, 0);
    if (rc < 0)
        ok = failed(e, rc, "clone");
    ok = ok && export(ctx, out, e);
    seccomp_release(ctx);
    return ok;
}

bool seccomp_compiler(struct seccomp_program *out, struct error *e)
{
    *out = (struct seccomp_program){NULL, 0};
    scmp_filter_ctx ctx = filter_new(SCMP_ACT_ALLOW, e);
    if (!ctx)
        return false;
    bool ok = add_all(ctx, SCMP_ACT_ERRNO(EPERM), compiler_denied, ARRAY_LEN(compiler_denied), e) &&
              add_all(ctx, SCMP_ACT_ERRNO(ENOSYS), uring_calls, ARRAY_LEN(uring_calls), e);
    ok = ok && export(ctx, out, e);
    seccomp_release(ctx);
    return ok;
}

bool seccomp_enter(const struct seccomp_program *p)
{
    struct sock_fprog prog = {.len = p->n, .filter = p->code};
    if (!p->code) {
        errno = EINVAL;
        return false;
    }
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == 0;
}

bool seccomp_lock_timed_child(int go_fd, struct error *e)
{
    struct seccomp_program p;
    if (!seccomp_timed_child(go_fd, &p, e))
        return false;
    if (seccomp_enter(&p))
        return true; /* the program stays allocated: freeing it could make a call that kills */
    error_sys(e, "cannot put the system call filter in force");
    seccomp_program_free(&p);
    return false;
}

bool seccomp_lock_executor(struct error *e)
{
    struct seccomp_program p;
    bool ok = seccomp_executor(&p, e) &&
              (seccomp_enter(&p) || error_sys(e, "cannot put the system call filter in force"));
    seccomp_program_free(&p);
    return ok;
}

int seccomp_program_fd(const struct seccomp_program *p)
{
    int fd = (int)syscall(SYS_memfd_create, "filter", 1u);
    size_t n = p->n * sizeof(struct sock_filter);
    if (fd >= 0 && (write(fd, p->code, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}
