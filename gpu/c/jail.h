/* The jail for untrusted processes of the c back end.
 *
 * A program (the compiler, the disassembler) is started in it: it sees only the files listed, one
 * scratch folder, no network, and has limits on CPU time, memory and file size. When it ends, or
 * our process does, all that it started ends too.
 *
 * Three means, the first that works: bubblewrap (user, mount, pid, net, ipc and uts namespaces);
 * Landlock (the kernel's own file restrictions), with a change of root where the process may; a
 * change of root alone. Each carries a seccomp filter without sockets, and no capability. What is
 * in force is a text that is stored with each result; what is missing is named together with the
 * one command that brings it. How the executor confines itself stands in confine.h. */
#ifndef WARPLOOP_GPU_C_JAIL_H
#define WARPLOOP_GPU_C_JAIL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/error.h"

enum jail_kind {
    JAIL_NONE,     /* limits on CPU, memory and file size only */
    JAIL_BWRAP,    /* bubblewrap: namespaces, own file system */
    JAIL_LANDLOCK, /* Landlock, change of root where allowed */
    JAIL_CHROOT,   /* a change of root alone (root in a container, old kernel) */
    JAIL_REFUSED,  /* nothing works and "none" was not asked for */
};

struct jail_report {
    enum jail_kind kind;
    char text[160];    /* what is in force: "bwrap (user, pid, net, mount namespaces), seccomp" */
    char lacks[240];   /* what the machine lacks, for a person; "" when nothing */
    char command[160]; /* the one command that brings it; "" when nothing or when none would */
    bool namespaces;   /* user, pid, net and mount namespaces can be made */
    bool chroot;       /* the jail changes its root, to jail_spec.root */
    int landlock;      /* Landlock ABI of the running kernel; 0: none */
    bool seccomp;
    bool network; /* isolated from the network (a namespace, or no sockets by seccomp) */
};

/* Find out what works here, by trying it (about 20 ms). `want`: "auto" (bwrap, then landlock, then
 * chroot), "none", or one of "bwrap", "landlock", "chroot" for tests; NULL is "auto". Kind
 * JAIL_REFUSED when that cannot be had; the error then says why and what to do. Never fails
 * otherwise. */
bool jail_probe(const char *want, struct jail_report *out, struct error *e);

/* Where bubblewrap is, or NULL. */
const char *jail_bwrap(void);

/* One file or folder that the jailed program may see, at its own path (or `as`). */
struct jail_path {
    const char *path; /* absolute, on this machine */
    const char *as;   /* absolute, in the jail; NULL: the same */
};

struct jail_limits {
    unsigned cpu_s;  /* CPU seconds of one process; then SIGXCPU, SIGKILL */
    uint64_t memory; /* bytes of address space of one process */
    uint64_t file;   /* bytes of one file */
};

struct jail_spec {
    const struct jail_report *jail; /* from jail_probe */
    const char *root; /* for a jail that changes its root: a folder that already holds every path
                         listed below; Landlock does without when it is NULL */
    const struct jail_path *see; /* readable and executable */
    size_t nsee;
    const char *scratch;    /* absolute; the only writable folder; the working directory */
    const char *const *env; /* the whole environment, NULL-terminated */
    struct jail_limits limits;
};

struct jail_proc {
    pid_t pid;
    int output; /* read end of its descriptors 1 and 2; non-blocking */
    int life;   /* closing it ends the whole tree */
};

/* Start argv[0] (absolute path in the jail) jailed: descriptor 0 on nothing, 1 and 2 on p->output,
 * nothing else open; a process group of its own that dies with the calling thread. */
bool jail_start(const struct jail_spec *spec, char *const argv[], struct jail_proc *p,
                struct error *e) WARN_UNUSED;

/* Read what it prints into *out (at most `keep` bytes at the front and `keep` at the end; *total
 * counts all) until it has ended, or `deadline_ns` (CLOCK_MONOTONIC) has passed, or more than
 * `limit` bytes came: the last two kill the whole tree. Always waits for the end and closes
 * everything. Returns the wait status; *why says what ended it. */
enum jail_end { JAIL_END_ITSELF, JAIL_END_TIMEOUT, JAIL_END_OUTPUT };
int jail_wait(struct jail_proc *p, int64_t deadline_ns, size_t keep, size_t limit, struct buf *out,
              size_t *total, enum jail_end *why);

/* Drop every capability of the calling thread for good. Async-signal-safe. */
void jail_drop_capabilities(void);

#endif
