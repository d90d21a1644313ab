/* Child processes: started with nothing open but what they are given, watched through a pidfd,
 * killed with everything below them. */
#ifndef WARPLOOP_BASE_PROC_H
#define WARPLOOP_BASE_PROC_H

#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/error.h"

struct proc {
    pid_t pid;  /* 0 when none */
    int pidfd;  /* readable once the child has ended */
    int wire;   /* our end of the socketpair that is descriptor 3 of the child; blocking */
    int output; /* read end of the pipe that is its descriptors 1 and 2; non-blocking */
};

/* Start argv[0] (a path) with a clean environment (PATH, HOME=/, LANG=C.UTF-8, TMPDIR, plus the
 * NULL-terminated `env` of "NAME=value" or NULL), descriptor 0 on /dev/null, 1 and 2 on p->output,
 * 3 on p->wire, everything else closed; in a process group of its own; killed when the thread that
 * started it ends (PR_SET_PDEATHSIG), signals at default, none blocked. Safe in a threaded
 * process (vfork-like: only async-signal-safe calls between fork and exec). */
bool proc_start(struct proc *p, char *const argv[], char *const env[], struct error *e) WARN_UNUSED;

/* SIGKILL to the whole process group; then wait and close everything. Returns the wait status. */
int proc_kill(struct proc *p);
/* Wait for a child that ends by itself; close everything. Returns the wait status. */
int proc_wait(struct proc *p);
/* Read what has been printed so far; keeps the first and last `keep` bytes in *out. */
void proc_drain(struct proc *p, struct buf *out, size_t keep);

/* "exit status 3", "signal 11 (Segmentation fault)". out of at least 64 bytes. */
void proc_describe(int status, char *out, size_t size);

#endif
