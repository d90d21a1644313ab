#include "gpu/c/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "gpu/c/executor.h"

/* Of the supervisor, above its templates (1) and children (0). */
#define URGENCY 2

/* ---------------------------------------------------------------- names */

/* The value of `key` in /proc/cpuinfo's first entry; "" if there is none. */
static void cpuinfo(const char *text, const char *key, char *out, size_t size)
{
    out[0] = '\0';
    size_t n = strlen(key);
    for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        if (strncmp(p, key, n) != 0 || (p[n] != ' ' && p[n] != '\t' && p[n] != ':'))
            continue;
        const char *v = strchr(p, ':');
        if (!v)
            continue;
        v += 1 + (v[1] == ' ');
        snprintf(out, size, "%.*s", (int)strcspn(v, "\n"), v);
        return;
    }
}

static void pick_flags(const char *all, char *out, size_t size)
{
    static const char *const known[] = {"sse4_2",   "avx",         "f16c",        "fma",
                                        "avx2",     "avx_vnni",    "avx512f",     "avx512bw",
                                        "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
                                        "amx_bf16", "asimd",       "sve",         "sve2"};
    out[0] = '\0';
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        size_t n = strlen(known[i]);
        for (const char *p = strstr(all, known[i]); p; p = strstr(p + 1, known[i])) {
            if ((p != all && p[-1] != ' ') || (p[n] != ' ' && p[n] != '\0'))
                continue;
            if (used + n + 2 < size)
                used +=
                    (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", known[i]);
            break;
        }
    }
}

void machine_probe(struct machine *m)
{
    struct buf text = {0};
    char all[8192];
    cpu_set_t set;
    *m = (struct machine){.core = -1};
    if (fs_read("/proc/cpuinfo", 16u << 20, &text, NULL)) {
        cpuinfo(buf_str(&text), "model name", m->cpu, sizeof m->cpu);
        cpuinfo(buf_str(&text), "flags", all, sizeof all);
        if (!all[0])
            cpuinfo(buf_str(&text), "Features", all, sizeof all);
        pick_flags(all, m->flags, sizeof m->flags);
    }
    if (!m->cpu[0])
        snprintf(m->cpu, sizeof m->cpu, "unknown CPU");
    buf_free(&text);
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set)) {
            m->core = i; /* the last: interrupts and everyone else prefer the first */
            m->ncores++;
        }
}

/* ---------------------------------------------------------------- peak */

/* Twelve independent chains hide the latency of a fused multiply-add (4 cycles x 2 units, or 5 x
 * 2); the operands stay finite and normal. Each returns the flop it did. */
#define CHAINS 12
#define ROUNDS 20000

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double burst_avx512(float *sink)
{
    __m512 x[CHAINS], a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm512_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            x[i] = _mm512_fmadd_ps(x[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] = _mm512_add_ps(x[0], x[i]);
    *sink = _mm_cvtss_f32(_mm512_castps512_ps128(x[0]));
    return 2.0 * 16 * CHAINS * ROUNDS;
}

__attribute__((target("avx2,fma"))) static double burst_avx2(float *sink)
{
    __m256 x[CHAINS], a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
    for (int i = 0; i < CHAINS; i++)
        x[i] = _mm256_set1_ps((float)i);
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            x[i] = _mm256_fmadd_ps(x[i], a, b);
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] = _mm256_add_ps(x[0], x[i]);
    *sink = _mm256_cvtss_f32(x[0]);
    return 2.0 * 8 * CHAINS * ROUNDS;
}
#endif

typedef float lanes __attribute__((vector_size(16)));

static double burst_plain(float *sink)
{
    lanes x[CHAINS], a = {0.5f, 0.5f, 0.5f, 0.5f}, b = {1, 1, 1, 1};
    for (int i = 0; i < CHAINS; i++)
        x[i] = (lanes){(float)i, 1, 2, 3};
    for (int r = 0; r < ROUNDS; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            x[i] = x[i] * a + b;
    }
    for (int i = 1; i < CHAINS; i++)
        x[0] += x[i];
    *sink = x[0][0];
    return 2.0 * 4 * CHAINS * ROUNDS;
}

typedef double burst_fn(float *sink);

static burst_fn *pick_burst(const char **how)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        *how = "avx512f fma";
        return burst_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *how = "avx2 fma";
        return burst_avx2;
    }
#endif
    *how = "128-bit multiply and add";
    return burst_plain;
}

/* The best of many short bursts within 40 ms: what the core can do when nothing disturbs it. */
static double measure_peak(const char **how)
{
    burst_fn *burst = pick_burst(how);
    volatile float keep = 0;
    double best = 0;
    int64_t begin = clock_mono_ns();
    do {
        float sink;
        int64_t t = clock_mono_ns();
        double flop = burst(&sink);
        t = clock_mono_ns() - t;
        keep = keep + sink;
        if (t > 0 && flop / (double)t > best)
            best = flop / (double)t;
    } while (clock_mono_ns() - begin < 40000000);
    return best;
}

/* "BOOT-ID GFLOPS HOW", valid for this boot. */
static bool peak_kept(const char *path, const char *boot, struct machine *m)
{
    struct buf text = {0};
    char id[64] = "", number[32] = "", how[32] = "";
    bool ok = fs_read(path, 4096, &text, NULL) &&
              sscanf(buf_str(&text), "%63s %31s %31[^\n]", id, number, how) == 3;
    double gflops = strtod(number, NULL);
    ok = ok && strcmp(id, boot) == 0 && gflops > 0 && isfinite(gflops);
    buf_free(&text);
    if (ok) {
        m->peak_gflops = gflops;
        memcpy(m->peak_how, how, sizeof how);
    }
    return ok;
}

static void boot_id(char out[64])
{
    struct buf text = {0};
    out[0] = '\0';
    if (fs_read("/proc/sys/kernel/random/boot_id", 256, &text, NULL))
        sscanf(buf_str(&text), "%63s", out);
    buf_free(&text);
}

static bool real_time(int priority)
{
    struct sched_param p = {.sched_priority = priority};
    return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &p) == 0;
}

const char *machine_urge(int above)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    /* Whoever has but one core shall still be able to type while a call runs. */
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1 && real_time(1 + above))
        return "real-time";
    return setpriority(PRIO_PROCESS, 0, -20) == 0 ? "nice -20" : "normal";
}

void machine_urge_less(void)
{
    struct sched_param p = {.sched_priority = 1};
    if (sched_getscheduler(0) == SCHED_FIFO)
        sched_setparam(0, &p);
}

/* Move to the core; *before: where this process may run now. */
static void settle(int core, cpu_set_t *before)
{
    cpu_set_t set;
    CPU_ZERO(before);
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof *before, before);
    if (core < 0 || core >= CPU_SETSIZE)
        return;
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

void machine_measure(struct machine *m)
{
    cpu_set_t before;
    m->priority = machine_urge(URGENCY); /* while it may still use all cores */
    settle(m->core, &before);
    char boot[64], *dir = machine_folder(NULL), *path = NULL;
    boot_id(boot);
    if (dir && boot[0])
        path = xasprintf("%s/warploop-peak-%d", dir, m->core);
    if (!path || !peak_kept(path, boot, m)) {
        const char *how;
        m->peak_gflops = measure_peak(&how);
        snprintf(m->peak_how, sizeof m->peak_how, "%s", how);
        char *line = xasprintf("%s %.3f %s\n", boot, m->peak_gflops, how);
        /* Not kept is not an error: it is measured again. */
        if (path && !fs_write(path, line, strlen(line), NULL))
            unlink(path);
        free(line);
    }
    free(path);
    free(dir);
    real_time(0);
    sched_setaffinity(0, sizeof before, &before);
}

/* ---------------------------------------------------------------- lock */

static bool private_folder(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & 077) == 0;
}

char *machine_folder(struct error *e)
{
    char *run = xasprintf("/run/user/%u", (unsigned)geteuid());
    if (private_folder(run) && access(run, W_OK) == 0)
        return run;
    free(run);
    const char *tmp = getenv("TMPDIR");
    char *path = xasprintf("%s/warploop-%u", tmp && *tmp ? tmp : "/tmp", (unsigned)geteuid());
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        error_sys(e, "cannot make the folder for the measuring lock, %s", path);
    else if (!private_folder(path))
        error_set(e, ERR_SYSTEM,
                  "%s is not a folder of this user with mode 0700: remove it or set TMPDIR", path);
    else
        return path;
    free(path);
    return NULL;
}

/* -1 with the error set. */
static int open_lock(const char *dir, int core, const char *what, struct error *e)
{
    char *path = xasprintf("%s/warploop-core-%d.%s", dir, core, what);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        error_sys(e, "cannot open %s", path);
    free(path);
    return fd;
}

/* Poll for one lock; *told: `waiting` was called. */
static bool lock_file(int fd, int cancel_fd, void (*waiting)(void *ctx), void *ctx, bool *told,
                      struct error *e)
{
    for (;;) {
        struct flock f = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fcntl(fd, F_OFD_SETLK, &f) == 0)
            return true;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return error_sys(e, "cannot lock the measuring core");
        if (executor_hung_up(cancel_fd))
            return error_set(e, ERR_CANCELLED, "cancelled while waiting for the core");
        if (!*told && waiting)
            waiting(ctx);
        *told = true;
        clock_sleep_ns(5000000);
    }
}

bool device_lock_take(const struct machine *m, int cancel_fd, void (*waiting)(void *ctx), void *ctx,
                      struct device_lock *l, struct error *e)
{
    l->fd = -1;
    char *dir = machine_folder(e);
    if (!dir)
        return false;
    /* A turnstile: one waits at the lock itself, all others before it. */
    int turn = open_lock(dir, m->core, "turn", e), fd = -1;
    if (turn >= 0)
        fd = open_lock(dir, m->core, "lock", e);
    free(dir);
    bool told = false, ok = fd >= 0 && lock_file(turn, cancel_fd, waiting, ctx, &told, e) &&
                            lock_file(fd, cancel_fd, waiting, ctx, &told, e);
    if (turn >= 0)
        close(turn);
    if (ok) {
        l->fd = fd;
        settle(m->core, &l->elsewhere);
        if (m->priority && strcmp(m->priority, "real-time") == 0)
            real_time(1 + URGENCY);
    } else if (fd >= 0) {
        close(fd);
    }
    return ok;
}

void device_lock_release(struct device_lock *l)
{
    if (l->fd < 0)
        return;
    if (sched_getscheduler(0) == SCHED_FIFO)
        real_time(0);
    sched_setaffinity(0, sizeof l->elsewhere, &l->elsewhere);
    close(l->fd);
    l->fd = -1;
}
