/* The supervisor's side of running candidate code: a nursery, templates, one fresh child per call.
 * The supervisor maps buffers and a gate page, never an object. See template.h for what is inside.
 *
 * The window of a call is CLOCK_MONOTONIC from just before `go` to the moment the supervisor sees,
 * through the child's pidfd, that the child is gone. The CPU time of the child between the same two
 * moments is read from outside (its CPU clock), so a call that did not have the core for itself, or
 * that used more than one, is known.
 *
 * Where the supervisor waits: on the measuring core itself, asleep. The end of the child then wakes
 * it by a plain context switch, whatever the other cores do. Measured against waiting on another
 * core and looking without pause at the end: the empty call takes 124 us (sd 3) against 121 us
 * (sd 19), and it leaves the other cores to builds. */
#ifndef WARPLOOP_GPU_C_EXECUTOR_H
#define WARPLOOP_GPU_C_EXECUTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "gpu/c/arena.h"
#include "gpu/c/template.h"

struct nursery {
    pid_t pid;
    int channel;
    char isolation[96]; /* "pid, net, ipc namespaces" */
};

/* Fork the nursery. Must be called before any request is read, single-threaded. */
bool nursery_start(struct nursery *n, struct error *e) WARN_UNUSED;
/* Kill it, and by that every template and child. */
void nursery_stop(struct nursery *n);

struct executor_options {
    const struct nursery *nursery;
    int core;        /* of the templates and children; -1: any */
    bool allocates;  /* the reference */
    bool unconfined; /* "jail": "none" */
    int cancel_fd;   /* hang-up of this descriptor ends every wait with ERR_CANCELLED; -1 */
};

struct executor {
    struct executor_options how;
    int channel, gate_fd, go_fd;
    struct gate *gate;
    char jail[200]; /* what the template said is in force */
    size_t nbuffers;
    uint64_t address[EV_BUFFERS]; /* of each buffer's pages in the children */
    uint64_t span[EV_BUFFERS];
};

/* Copy an object into a sealed memfd; -1 on error. */
int executor_object(const void *bytes, size_t n, struct error *e);

/* Start a template of the object. ERR_INPUT: the object cannot be loaded (its fault); others are
 * ours. */
bool executor_start(struct executor *x, const struct executor_options *how, int object,
                    struct error *e) WARN_UNUSED;
void executor_stop(struct executor *x);

/* Map the arenas of a shape. */
bool executor_map(struct executor *x, const struct ev_request *r, const struct ev_shape *s,
                  const struct arena *inputs, const struct arena *outputs,
                  struct error *e) WARN_UNUSED;

enum call_end { CALL_RETURNED, CALL_KILLED, CALL_EXITED, CALL_TIMEOUT };

struct call {
    /* in */
    bool empty;                           /* the empty call */
    int64_t deadline_ns;                  /* longest window */
    void (*before)(void *ctx, pid_t pid); /* child ready, before go; may be NULL */
    void (*after)(void *ctx, pid_t pid);  /* child gone, not yet waited for; may be NULL */
    void *ctx;
    /* out */
    enum call_end end;
    int signal, status;
    uint64_t fault_address;    /* 0 when not known */
    int64_t window_ns, cpu_ns; /* cpu_ns < 0: not known */
    int64_t user_ns, system_ns, minor_faults, major_faults, switches, preemptions, max_rss_kib;
};

/* One call in a fresh child. False only for our own failures and for cancellation. */
bool executor_call(struct executor *x, struct call *c, struct error *e) WARN_UNUSED;

/* Where a fault was, for a person: "just after o", "in input q (read-only)", "at 0x0". */
void executor_describe_fault(const struct executor *x, const struct ev_request *r, uint64_t address,
                             char *out, size_t size);

/* True once the other end of fd hung up. */
bool executor_hung_up(int fd);

#endif
