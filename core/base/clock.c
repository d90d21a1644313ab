#include "core/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t now(clockid_t id)
{
    struct timespec t = {0, 0};
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    return now(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_ns(void)
{
    return now(CLOCK_THREAD_CPUTIME_ID);
}

void clock_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

void clock_format(int64_t wall_ns, char *out, size_t size)
{
    time_t s = (time_t)(wall_ns / 1000000000);
    struct tm tm;
    if (!localtime_r(&s, &tm) || strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        snprintf(out, size, "?");
}

void clock_format_span(int64_t ns, char *out, size_t size)
{
    double s = (double)ns / 1e9;
    if (ns < 1000000)
        snprintf(out, size, "%.0f us", s * 1e6);
    else if (ns < 1000000000)
        snprintf(out, size, "%.0f ms", s * 1e3);
    else if (s < 60)
        snprintf(out, size, "%.1f s", s);
    else if (s < 3600)
        snprintf(out, size, "%d min %02d s", (int)s / 60, (int)s % 60);
    else
        snprintf(out, size, "%d h %02d min", (int)(s / 3600), (int)s / 60 % 60);
}
