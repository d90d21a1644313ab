/* What the engine costs: commits, CPU and bytes a tool call. A run of `calls` calls with sources
 * and objects of a real run's size is recorded, then replayed and measured; the back end pretends,
 * so that nothing else is in the figures. usage: bench_engine [CALLS] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/task/task.h"
#include "tests/support/enginetest.h"
#include "tests/support/scratch.h"

static int64_t commits, first_call_commit;
static int64_t cpu_at_call, began;

/* The run's beginning (baseline, start, the children's start) is no part of a call's cost. */
static void count(int64_t n)
{
    commits = n;
    if (n == first_call_commit)
        cpu_at_call = clock_thread_cpu_ns();
}

static const char filler[] = "static inline void axpy16(float *y, const float *x, float a)\n{\n"
                             "    for (int i = 0; i < 16; i++)\n        y[i] += a * x[i];\n}\n"
#define MORE                                                                                       \
    "/* the state of one head is kept transposed, so that a row of it meets a row of k and v; "    \
    "the "                                                                                         \
    "decay is folded into the row before it is used, which saves a pass over the whole state. A "  \
    "block of rows stays in registers over the chunk; what does not fit is spilled by the "        \
    "compiler, which is why the block is a tunable and not a constant of the source text. */\n"
    MORE MORE MORE MORE MORE MORE MORE MORE MORE MORE;

static void submit_like(const char *path, const struct task *t, int number)
{
    cJSON *o = cJSON_CreateObject();
    /* As long as a real one: kda's sources have some 8 KB. */
    char *source =
        xasprintf("%s\n/* FAKE_SPEEDUP=%.4f number %d */\nstatic int number = %d;\n%s%s",
                  t->c.start, 1 + 0.001 * (double)(number % 700), number, number, filler, filler);
    char *why =
        xasprintf("the loop over the channels is split so that %d of them stay in registers "
                  "over all of time: fewer loads and stores a step",
                  number);
    cJSON_AddStringToObject(o, "source", source);
    cJSON_AddStringToObject(o, "why", why);
    cJSON_AddStringToObject(o, "strategy", number % 3 ? "split" : "unroll");
    char *text = json_text(o);
    et_ask(path, "submit", text);
    cJSON_Delete(o);
    free(source);
    free(why);
    free(text);
}

static char *record(const struct task *t, int calls)
{
    char *path = et_create_task(t->name, "outside", 2, calls);
    for (int i = 0; i < calls; i++)
        submit_like(path, t, i);
    et_run(path);
    return path;
}

static void measure(const char *task, const char *agent, int jobs, int calls)
{
    char *path = et_create_task(task, agent, jobs, calls);
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1, .before_commit = count};
    struct error e = {0};
    struct stat st;
    commits = 0;
    first_call_commit = 6;
    began = clock_mono_ns();
    if (engine_run(path, &o, &e) == ENGINE_FAILED) {
        fprintf(stderr, "%s\n", e.msg);
        exit(1);
    }
    int64_t cpu = clock_thread_cpu_ns() - cpu_at_call, wall = clock_mono_ns() - began;
    struct run_state *s = et_state(path);
    double n = (double)s->ncalls;
    stat(path, &st);
    printf("%-5s %-6.6s jobs %d: %lld calls, %.2f commits and %.3f ms of CPU a call, %.2f ms wall, "
           "%.1f MB a 1,000 calls\n",
           task, agent, jobs, (long long)s->ncalls, (double)(commits - first_call_commit) / n,
           (double)cpu / 1e6 / n, (double)wall / 1e6 / n, (double)st.st_size / 1e3 / n);
    state_free(s);
    free(path);
}

static void measure_task(const char *name, int calls)
{
    struct error e = {0};
    struct task *t = task_load(name, &e);
    if (!t) {
        fprintf(stderr, "%s\n", e.msg);
        exit(1);
    }
    char *path = record(t, calls);
    char *agent = xasprintf("replay:%s", path);
    measure(name, agent, 1, calls);
    measure(name, agent, 2, calls);
    measure(name, "tuner", 2, calls);
    free(agent);
    free(path);
    task_free(t);
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 1000;
    char *dir = scratch_new();
    et_setup(dir, false);
    setenv("WARPLOOP_FAKE_OBJECT_BYTES", "16000", 1);
    measure_task("tiny", calls);
    measure_task("kda", calls);
    scratch_free(dir);
    return 0;
}
