/* System call filters (seccomp). x86-64 and whatever else libseccomp knows; foreign architectures
 * and the x32 interface are killed. A filter, once in force, holds for the process and all its
 * children; several add up and the strictest answer wins. */
#ifndef WARPLOOP_GPU_C_SECCOMP_H
#define WARPLOOP_GPU_C_SECCOMP_H

#include <stdbool.h>

#include "core/base/error.h"

struct sock_filter;

/* A filter made ready: entering it needs no memory and no library call. */
struct seccomp_program {
    struct sock_filter *code; /* owned */
    unsigned short n;
};
void seccomp_program_free(struct seccomp_program *p);

/* The timed child of the executor, everything already mapped: read on `go_fd` only, exit,
 * exit_group, rt_sigreturn. Anything else (clone, mmap, mprotect, open, write, ...) kills the
 * process with SIGSYS. go_fd < 0: no read at all. Made once in the template; entered in each child
 * with seccomp_enter. */
bool seccomp_timed_child(int go_fd, struct seccomp_program *out, struct error *e) WARN_UNUSED;

/* The executor (template): may map, dlopen, fork, wait, read and write what it has, measure itself
 * (perf_event_open); no sockets to be made, no execve, no ptrace, no threads, no namespaces, no
 * io_uring, no keyring: those fail with EPERM (clone3 and io_uring with ENOSYS). */
bool seccomp_executor(struct seccomp_program *out, struct error *e) WARN_UNUSED;

/* The compiler and its tools in the jail: everything but sockets, ptrace, io_uring, bpf, mount,
 * namespaces, keyring, kernel modules and the like, which fail with EPERM. */
bool seccomp_compiler(struct seccomp_program *out, struct error *e) WARN_UNUSED;

/* Put it in force for the calling thread (a process with one thread) and all its children: sets
 * no_new_privs, then seccomp(2). Async-signal-safe; errno says why on failure. */
bool seccomp_enter(const struct seccomp_program *p);

/* seccomp_timed_child and seccomp_enter in one. Allocates: prefer the two steps after a fork. */
bool seccomp_lock_timed_child(int go_fd, struct error *e) WARN_UNUSED;
bool seccomp_lock_executor(struct error *e) WARN_UNUSED;

/* The filter written to a new memfd, for bwrap --seccomp; -1 on error (errno). */
int seccomp_program_fd(const struct seccomp_program *p);

#endif
