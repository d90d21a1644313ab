/* The jailed side of the executor: the nursery, the templates and their children.
 *
 *   bench (supervisor)          never maps candidate code
 *     └─ nursery                forked before any request was read, so that it holds no seed, input
 *          │                    or answer; network, ipc and (where allowed) user namespace
 *          └─ template          one per version and process set; a PID namespace of its own;
 *               │               maps the object, which has no code that runs on loading, then loses
 *               │               the file system (Landlock, empty root) and all capabilities
 *               └─ child        one per call: inputs read-only, outputs and workspaces shared,
 *                               unmapped guards around each, no descriptor but the one that says
 *                               go, a system call filter that allows nothing but reading it and to
 *                               exit
 *
 * What cannot happen, and why: an answer before the call is told to go would need candidate code to
 * run earlier, but the first instruction of the object is executed after `go`. An answer kept from
 * an earlier call would need memory that survives the process: a child is a fresh fork of a
 * template that never ran the object, its only shared writable memory is overwritten with a new
 * pattern before each call, and the inputs of each launch are new. An answer completed after the
 * clock stopped would need a process that is still there: the clock stops at the child's death, and
 * it cannot make another process or thread. */
#ifndef WARPLOOP_GPU_C_TEMPLATE_H
#define WARPLOOP_GPU_C_TEMPLATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "gpu/c/spec.h"

/* Supervisor to nursery: start a template. With four descriptors: its channel, the object (a
 * sealed memfd), the gate page, the eventfd that says go. */
struct nursery_spawn {
    int32_t core;        /* CPU to run on; -1: any */
    uint32_t allocates;  /* the float64 reference: may allocate memory */
    uint32_t unconfined; /* "jail": "none" */
    uint64_t memory;     /* bytes of address space beside the buffers */
};

/* Nursery to supervisor, once at start. */
struct nursery_hello {
    char isolation[96];
};

enum template_op { TEMPLATE_MAP = 1, TEMPLATE_CALL, TEMPLATE_EMPTY, TEMPLATE_REAP };

struct template_slot {
    uint64_t seg, seg_size, data;
    uint32_t writable; /* 0: from the inputs' memfd, read-only; 1: from the outputs' */
};

/* Supervisor to template. MAP comes with the two memfds. */
struct template_request {
    uint32_t op, nslots;
    uint32_t cpu_s; /* CPU limit of the child, a backstop to the supervisor's deadline */
    int32_t dims[EV_DIMS];
    struct template_slot slot[EV_BUFFERS];
};

enum template_answer {
    TEMPLATE_READY = 1, /* loaded and confined; text: what is in force */
    TEMPLATE_FAILED,    /* text says why */
    TEMPLATE_MAPPED,    /* address of each buffer's pages */
    TEMPLATE_CHILD,     /* sent by the child itself: the kernel attaches its id */
    TEMPLATE_DONE,      /* the child was waited for: status and usage */
};

struct template_reply {
    uint32_t kind;
    int32_t status;
    int64_t user_ns, system_ns;
    int64_t minor_faults, major_faults, switches, preemptions, max_rss_kib;
    uint64_t address[EV_BUFFERS];
    char text[200];
};

/* The one descriptor of a child: it waits for go by reading it. */
#define TEMPLATE_GO_FD 3

/* One shared page. The supervisor believes `ready` only before it says go, and resets the page
 * while no child lives; what a child writes here after go can at most change a message. */
struct gate {
    _Atomic uint32_t ready;
    uint32_t signal;
    uint64_t fault_address;
};

/* The nursery's life; never returns. `channel` is its end of a channel. */
_Noreturn void nursery_main(int channel);

#endif
