#include "tests/support/enginetest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/invariants.h"

static _Noreturn void give_up(const char *doing, const struct error *e)
{
    fprintf(stderr, "%s: %s\n", doing, e->msg);
    abort();
}

void et_setup(const char *dir, bool real)
{
    static const char *const others[] = {"WARPLOOP_FAKE_JOURNAL", "WARPLOOP_FAKE_BUILD_MS",
                                         "WARPLOOP_FAKE_BENCH_MS", "WARPLOOP_FAKE_BASELINE"};
    char *own = fs_program_dir();
    char *back = xasprintf("%s/../%s", own, real ? "../bin" : "fake");
    setenv("WARPLOOP_HOME", dir, 1);
    setenv("WARPLOOP_BACKEND_DIR", back, 1);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        unsetenv(others[i]);
    free(back);
    free(own);
}

char *et_create(const char *agent, int jobs, int64_t calls)
{
    return et_create_task("tiny", agent, jobs, calls);
}

char *et_create_task(const char *task, const char *agent, int jobs, int64_t calls)
{
    struct error e = {0};
    char *path = NULL;
    struct run_opts o = {.task = task,
                         .agent = agent,
                         .target = 1e6,
                         .hours = 1,
                         .calls = calls,
                         .jobs = jobs,
                         .seed = 1};
    if (!engine_create(&o, &path, &e))
        give_up("engine_create", &e);
    return path;
}

char *et_source(const char *marker, int number)
{
    return xasprintf(
        "#include \"tiny.h\"\n/* %s */\n"
        "void tiny_fwd(int T, int N, const float *x, const float *a, const float *s0,\n"
        "              float *y, float *last)\n"
        "{\n    int number = %d;\n    (void)number;\n}\n",
        marker, number);
}

void et_ask(const char *path, const char *kind, const char *text)
{
    struct error e = {0};
    if (!inbox_put(path, "test", kind, text, &e))
        give_up("inbox_put", &e);
}

void et_submit(const char *path, const char *name, const char *marker, int number)
{
    cJSON *o = cJSON_CreateObject();
    char *source = et_source(marker, number);
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddStringToObject(o, "source", source);
    cJSON_AddStringToObject(o, "why", "because");
    cJSON_AddStringToObject(o, "strategy", "test");
    char *text = json_text(o);
    et_ask(path, "submit", text);
    cJSON_Delete(o);
    free(source);
    free(text);
}

enum engine_result et_run(const char *path)
{
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1, .jail = "auto"};
    struct error e = {0};
    enum engine_result r = engine_run(path, &o, &e);
    if (r == ENGINE_FAILED)
        give_up("engine_run", &e);
    return r;
}

/* ---- in a thread ------------------------------------------------------------------------------
 */

static void is_up(void *ctx)
{
    sem_post(ctx);
}

static void *drive(void *ctx)
{
    struct et_engine *g = ctx;
    struct engine_opts o = g->o;
    o.started = is_up;
    o.ctx = &g->up;
    g->result = engine_run(g->path, &o, &g->e);
    g->cpu_ns = clock_thread_cpu_ns();
    sem_post(&g->up); /* it may have ended before it was up */
    return NULL;
}

void et_start(struct et_engine *g, const char *path)
{
    g->path = path;
    if (pipe(g->stop) != 0)
        abort();
    g->o.stop_fd = g->stop[0];
    if (!g->o.wake_fd)
        g->o.wake_fd = -1;
    sem_init(&g->up, 0, 0);
    if (pthread_create(&g->thread, NULL, drive, g) != 0)
        abort();
    sem_wait(&g->up);
}

void et_stop(struct et_engine *g, int bytes)
{
    for (int i = 0; i < bytes; i++)
        if (write(g->stop[1], "x", 1) != 1)
            abort();
}

enum engine_result et_join(struct et_engine *g)
{
    pthread_join(g->thread, NULL);
    sem_destroy(&g->up);
    close(g->stop[0]);
    close(g->stop[1]);
    return g->result;
}

/* ---- looking ----------------------------------------------------------------------------------
 */

static bool fold(void *ctx, const struct event *ev)
{
    state_apply(ctx, ev);
    return true;
}

struct run_state *et_state(const char *path)
{
    struct error e = {0};
    struct log *log = log_open_read(path, &e);
    struct run_state *s = state_new();
    if (!log || !log_each(log, 0, 0, false, fold, s, &e))
        give_up(path, &e);
    log_close(log);
    return s;
}

bool et_wait(const char *path, bool (*ok)(const struct run_state *s), int ms)
{
    int64_t end = clock_mono_ns() + ms * INT64_C(1000000);
    for (;;) {
        struct run_state *s = et_state(path);
        bool now = ok(s);
        state_free(s);
        if (now || clock_mono_ns() > end)
            return now;
        clock_sleep_ns(2000000);
    }
}

struct count {
    enum event_kind kind;
    const char *text;
    int n;
};

static bool count(void *ctx, const struct event *ev)
{
    struct count *c = ctx;
    if (ev->kind == c->kind && strstr(ev->text, c->text))
        c->n++;
    return true;
}

int et_count(const char *path, enum event_kind kind, const char *text)
{
    struct error e = {0};
    struct log *log = log_open_read(path, &e);
    struct count c = {.kind = kind, .text = text};
    if (!log || !log_each(log, 0, 0, false, count, &c, &e))
        give_up(path, &e);
    log_close(log);
    return c.n;
}

void et_check(const char *path)
{
    struct error e = {0};
    struct log *log = log_open_read(path, &e);
    if (!log || !log_check_invariants(log, &e))
        give_up(path, &e);
    log_close(log);
}
