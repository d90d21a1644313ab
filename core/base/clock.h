/* Time. Wall time stamps events (it may jump); monotonic time measures durations. */
#ifndef WARPLOOP_BASE_CLOCK_H
#define WARPLOOP_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t clock_wall_ns(void);
int64_t clock_mono_ns(void);
/* CPU time of the calling thread, ns. */
int64_t clock_thread_cpu_ns(void);
void clock_sleep_ns(int64_t ns);

/* "2026-12-01 05:13:37" local time. out holds at least 20 bytes. */
void clock_format(int64_t wall_ns, char *out, size_t size);
/* "1.2 s", "350 ms", "2 h 05 min": a duration for a person. */
void clock_format_span(int64_t ns, char *out, size_t size);

#endif
