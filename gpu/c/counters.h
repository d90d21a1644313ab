/* What a call did, counted from outside, in calls of their own after the timing (a profiled
 * duration is never a timing): hardware events where perf_event_open gives them, else software
 * events, and getrusage; each less what an empty call counts. What cannot be had is absent and says
 * why, never zero. The instruction mix comes from the build. */
#ifndef WARPLOOP_GPU_C_COUNTERS_H
#define WARPLOOP_GPU_C_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#define COUNTERS_MAX 32

struct counter {
    const char *name, *unit;
    bool have[3]; /* by version: candidate, incumbent, baseline */
    double value[3];
    char absent[120]; /* why, when no version has it */
};

struct counters {
    size_t n;
    struct counter c[COUNTERS_MAX];
};

struct evaluation;

/* Profile every version on the first scored shape. */
bool counters_run(struct evaluation *ev);

/* One line for doctor: "hardware events" or why not. */
void counters_probe(char *out, size_t size);

#endif
