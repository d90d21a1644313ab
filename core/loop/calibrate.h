/* One measurement of a task's baseline, for those who choose its sizes: built and timed the way a
 * run does it, with one process set. Blocks until done; starts its own build and bench processes.
 */
#ifndef WARPLOOP_LOOP_CALIBRATE_H
#define WARPLOOP_LOOP_CALIBRATE_H

#include "core/task/task.h"

struct calibration {
    double ns;     /* of the slowest scored shape's call */
    bool below;    /* below the clock's resolution: ns is a bound from above */
    bool timeout;  /* longer than a call may take: ns is a bound from below */
    double gflops; /* of that shape */
};

/* false: the baseline does not build, is not right, or nothing could be measured. `jail`: "auto" or
 * "none". */
bool calibrate(const struct task *t, const char *jail, struct calibration *out,
               struct error *e) WARN_UNUSED;

/* By what to multiply the sizes so that a call comes near `want_ns`, after n measurements of
 * (factor so far, ns), newest last: in logarithms through the last two points, at most 64 at once.
 * `power`: with which power of the factor the time is thought to grow, before there are two. Pure.
 */
double calibrate_step(const double *factor, const double *ns, size_t n, double power,
                      double want_ns);

#endif
