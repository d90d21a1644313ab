#include "gpu/c/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "gpu/c/evaluate.h"

#define CALLS 3 /* of each version and of the empty call; medians */

#define CACHE(unit, result)                                                                        \
    ((uint64_t)PERF_COUNT_HW_CACHE_##unit | (uint64_t)PERF_COUNT_HW_CACHE_OP_READ << 8 |           \
     (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* From perf_event_open, counted from just before go to the end of the process. */
static const struct event {
    const char *name, *unit;
    uint32_t type;
    uint64_t config;
    bool kernel; /* counted in the kernel too */
} events[] = {
    {"cycles", "1/call", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false},
    {"instructions", "1/call", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false},
    {"branches", "1/call", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false},
    {"branch-misses", "1/call", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, false},
    {"L1d-loads", "1/call", PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS), false},
    {"L1d-load-misses", "1/call", PERF_TYPE_HW_CACHE, CACHE(L1D, MISS), false},
    {"LLC-load-misses", "1/call", PERF_TYPE_HW_CACHE, CACHE(LL, MISS), false},
    {"dTLB-load-misses", "1/call", PERF_TYPE_HW_CACHE, CACHE(DTLB, MISS), false},
    {"cache-misses", "1/call", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, false},
    {"task-clock", "ms/call", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true},
    {"page-faults", "1/call", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true},
    {"context-switches", "1/call", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {"cpu-migrations", "1/call", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
};
#define EVENTS ARRAY_LEN(events)

/* From getrusage of the child, and from the task's own counts. */
enum { R_CPU, R_MINOR, R_MAJOR, R_SWITCHES, R_PREEMPTIONS, R_RSS, RUSAGE };
static const struct {
    const char *name, *unit;
} usage[RUSAGE] = {
    [R_CPU] = {"cpu-time", "ms/call"},           [R_MINOR] = {"minor-faults", "1/call"},
    [R_MAJOR] = {"major-faults", "1/call"},      [R_SWITCHES] = {"voluntary-switches", "1/call"},
    [R_PREEMPTIONS] = {"preemptions", "1/call"}, [R_RSS] = {"max-rss", "MiB"},
};

struct probe {
    int fd[EVENTS];
    int error[EVENTS];
    double value[EVENTS]; /* NaN: never scheduled */
};

static int open_event(const struct event *ev, pid_t pid)
{
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = ev->type;
    a.config = ev->config;
    a.exclude_kernel = !ev->kernel;
    a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int fd = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0 && ev->kernel && (errno == EACCES || errno == EPERM)) {
        a.exclude_kernel = 1; /* perf_event_paranoid 2: user mode only */
        fd = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return fd;
}

static void before_go(void *ctx, pid_t pid)
{
    struct probe *p = ctx;
    for (size_t i = 0; i < EVENTS; i++) {
        p->fd[i] = open_event(&events[i], pid);
        p->error[i] = p->fd[i] < 0 ? errno : 0;
    }
}

static void after_end(void *ctx, pid_t pid)
{
    struct probe *p = ctx;
    (void)pid;
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t r[3] = {0, 0, 0}; /* value, enabled, running */
        p->value[i] = (double)NAN;
        if (p->fd[i] < 0)
            continue;
        /* Multiplexed events are scaled to the whole time. */
        if (read(p->fd[i], r, sizeof r) == (ssize_t)sizeof r && r[2] > 0)
            p->value[i] = (double)r[0] * ((double)r[1] / (double)r[2]);
        close(p->fd[i]);
    }
}

/* One version's medians over CALLS calls. */
struct profile {
    double event[EVENTS], use[RUSAGE];
    int error[EVENTS];
};

static void take_use(const struct call *c, double use[RUSAGE])
{
    use[R_CPU] = c->cpu_ns < 0 ? (double)NAN : (double)c->cpu_ns / 1e6;
    use[R_MINOR] = (double)c->minor_faults;
    use[R_MAJOR] = (double)c->major_faults;
    use[R_SWITCHES] = (double)c->switches;
    use[R_PREEMPTIONS] = (double)c->preemptions;
    use[R_RSS] = (double)c->max_rss_kib / 1024;
}

static bool profile_version(struct evaluation *ev, struct executor *x, const struct call_site *at,
                            struct arena *outputs, bool empty, struct profile *out)
{
    double event[EVENTS][CALLS], use[RUSAGE][CALLS];
    struct probe p;
    for (size_t k = 0; k < CALLS; k++) {
        struct call c = {.empty = empty, .before = before_go, .after = after_end, .ctx = &p};
        double one[RUSAGE];
        if (!evaluation_call(ev, x, at, outputs, &c))
            return false;
        take_use(&c, one);
        for (size_t i = 0; i < EVENTS; i++)
            event[i][k] = p.value[i];
        for (size_t i = 0; i < RUSAGE; i++)
            use[i][k] = one[i];
    }
    for (size_t i = 0; i < EVENTS; i++) {
        out->event[i] = stats_median(event[i], CALLS);
        out->error[i] = p.error[i];
    }
    for (size_t i = 0; i < RUSAGE; i++)
        out->use[i] = stats_median(use[i], CALLS);
    return true;
}

static struct counter *add(struct counters *c, const char *name, const char *unit)
{
    struct counter *k = &c->c[c->n++];
    *k = (struct counter){.name = name, .unit = unit};
    return k;
}

static void set(struct counter *k, int version, double value)
{
    k->have[version] = isfinite(value);
    k->value[version] = value;
}

static void why_absent(int error, char *out, size_t size)
{
    const char *what = "was never scheduled on a counter";
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        what = "this machine has no such counter (a virtual machine without a PMU?)";
    else if (error == EACCES || error == EPERM)
        what = "not permitted: sysctl kernel.perf_event_paranoid=2 allows it";
    else if (error)
        what = strerror(error);
    snprintf(out, size, "%s", what);
}

static double not_negative(double x)
{
    return x < 0 ? 0 : x;
}

static void put_measured(struct counters *c, const struct profile p[3], const struct profile *empty,
                         const bool have[3])
{
    for (size_t i = 0; i < EVENTS; i++) {
        struct counter *k = add(c, events[i].name, events[i].unit);
        double unit =
            events[i].config == PERF_COUNT_SW_TASK_CLOCK && events[i].type == PERF_TYPE_SOFTWARE
                ? 1e6
                : 1;
        for (int v = 0; v < 3; v++)
            if (have[v])
                set(k, v, not_negative(p[v].event[i] - empty->event[i]) / unit);
        why_absent(empty->error[i], k->absent, sizeof k->absent);
    }
    for (size_t i = 0; i < RUSAGE; i++) {
        struct counter *k = add(c, usage[i].name, usage[i].unit);
        for (int v = 0; v < 3; v++)
            if (have[v])
                set(k, v, i == R_RSS ? p[v].use[i] : not_negative(p[v].use[i] - empty->use[i]));
    }
}

/* What follows from the task's counts and the times: the labels of a roofline. */
static void put_derived(struct evaluation *ev, const struct ev_shape *s, const bool have[3])
{
    const struct timing *t = &ev->timing;
    struct counter *flops = add(&ev->counters, "gflops", "GFLOP/s"),
                   *bytes = add(&ev->counters, "bandwidth", "GB/s"),
                   *intensity = add(&ev->counters, "intensity", "flop/byte");
    for (int v = 0; v < 3; v++) {
        if (!have[v] || t->sets == 0)
            continue;
        double ns =
            fmax(stats_median(t->shape[0].by_version[v].ns, t->sets), timing_resolution(t, 0));
        set(flops, v, s->flop / ns);
        set(bytes, v, s->bytes / ns);
        set(intensity, v, s->bytes > 0 ? s->flop / s->bytes : (double)NAN);
    }
}

static bool profile_all(struct evaluation *ev, const struct ev_shape *s, struct arena *inputs,
                        struct arena *outputs)
{
    struct profile p[3], empty;
    memset(p, 0, sizeof p);
    memset(&empty, 0, sizeof empty);
    bool have[3] = {false, false, false};
    const struct ev_family *f = &ev->r->family[s->family];
    evaluation_fill(ev, f, s, inputs);
    for (int v = V_BASELINE; v >= 0; v--) {
        struct call_site at = {.version = (enum version)v, .family = f, .shape = s};
        struct executor x;
        if (ev->object[v] < 0)
            continue;
        if (!evaluation_start(ev, (enum version)v, &x))
            return false;
        bool ok = evaluation_map(ev, &x, s, inputs, outputs) &&
                  profile_version(ev, &x, &at, outputs, false, &p[v]) &&
                  (v != V_BASELINE || profile_version(ev, &x, &at, outputs, true, &empty));
        executor_stop(&x);
        if (!ok)
            return false;
        have[v] = true;
    }
    ev->counters.n = 0;
    put_measured(&ev->counters, p, &empty, have);
    put_derived(ev, s, have);
    return true;
}

bool counters_run(struct evaluation *ev)
{
    struct arena inputs = {.fd = -1}, outputs = {.fd = -1};
    struct device_lock lock;
    struct error e;
    if (ev->timing.nshapes == 0)
        return true;
    const struct ev_shape *s = &ev->r->shape[ev->timing.shape[0].shape];
    evaluation_progress(ev, "profile", 0, 1, s->name);
    if (!device_lock_take(ev->machine, ev->wire, NULL, NULL, &lock, &e))
        return verdict_infra(ev, &e, "");
    bool ok = evaluation_arena(ev, s, ARENA_INPUTS, false, &inputs) &&
              evaluation_arena(ev, s, ARENA_OUTPUTS, false, &outputs) &&
              profile_all(ev, s, &inputs, &outputs);
    arena_free(&inputs);
    arena_free(&outputs);
    device_lock_release(&lock);
    return ok;
}

void counters_probe(char *out, size_t size)
{
    int fd = open_event(&events[0], 0);
    if (fd >= 0) {
        close(fd);
        snprintf(out, size, "hardware events");
        return;
    }
    char why[120];
    why_absent(errno, why, sizeof why);
    snprintf(out, size, "software events only: %s", why);
}
