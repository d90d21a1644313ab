/* The measuring machine: which core, what it can do at most, and who else wants to measure on it.
 */
#ifndef WARPLOOP_GPU_C_MACHINE_H
#define WARPLOOP_GPU_C_MACHINE_H

#include <sched.h>
#include <stdbool.h>

#include "core/base/error.h"

struct machine {
    char cpu[128];        /* "AMD EPYC 7763" */
    char flags[200];      /* those that matter to kernels: "sse4_2 avx avx2 fma avx512f" */
    int core, ncores;     /* the measuring core: the last that this process may use */
    double peak_gflops;   /* float32, measured on that core; 0 until machine_measure */
    char peak_how[32];    /* "avx512f fma": what the peak was measured with */
    const char *priority; /* of the measuring processes: machine_urge */
};

/* Ask for the measuring core before others: real-time (SCHED_FIFO) at priority 1 + `above` if this
 * process may use two cores or more, else nice -20; both are granted to root only. Returns what was
 * granted: "real-time", "nice -20" or "normal".
 *
 * The supervisor asks one above the templates, while it holds the lock of the core, and these stay
 * one above the children: so deadlines end any loop, and the death of the supervisor too (it ends
 * the template, and with it the children). What the kernel takes back from real-time processes for
 * the others (5 % of each second) shows as a window longer than its CPU time: such a sample is
 * taken again (timing.c). */
const char *machine_urge(int above);
/* Down to real-time priority 1, if real-time at all; always permitted, opens nothing. */
void machine_urge_less(void);

/* Names and core; costs nothing. */
void machine_probe(struct machine *m);

/* Measure the peak of the measuring core (about 40 ms), unless this boot's figure for this core is
 * kept in the lock folder; learn which priority is granted. */
void machine_measure(struct machine *m);

/* The folder for locks: /run/user/UID, else $TMPDIR/warploop-UID (mode 0700, ours, no link).
 * The caller frees. */
char *machine_folder(struct error *e);

/* One lock per measuring core, shared by all processes of this user; released by any death. It is
 * fair: whoever gives it back and wants it again at once stands behind those that wait. While it is
 * held this process runs on that core, with its priority there, and not a moment longer. */
struct device_lock {
    int fd; /* -1: not held */
    cpu_set_t elsewhere;
};

/* Wait for the lock. `waiting` (may be NULL) is called once when it is not free at once. Ends with
 * ERR_CANCELLED when cancel_fd hangs up. */
bool device_lock_take(const struct machine *m, int cancel_fd, void (*waiting)(void *ctx), void *ctx,
                      struct device_lock *l, struct error *e) WARN_UNUSED;
void device_lock_release(struct device_lock *l);

#endif
