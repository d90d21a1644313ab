/* The engine's loop: gather what happened, take the steps that the state calls for, commit, start
 * what the commit allows, sleep until something happens. */
#include "core/loop/engine.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/loop/engine_private.h"

#define LOOK_MS      150  /* at the inbox, where the system cannot tell of changes */
#define LOOK_SEL_MS  5000 /* where it can: other hosts' changes are not told of */
#define LOCK_WAIT_NS 2000000000
#define STEPS_A_TURN 10000 /* more in one turn would be a loop without end */

/* ---- beginning and end ------------------------------------------------------------------------
 */

static void cpu_model(char *out, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (!value || strncmp(line, "model name", 10) != 0)
            continue;
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%s", value + 1 + strspn(value + 1, " \t"));
        break;
    }
    if (f)
        fclose(f);
}

static char *machine_body(const struct engine *g)
{
    struct utsname u;
    char cpu[256];
    cJSON *o = cJSON_CreateObject();
    if (uname(&u) == 0) {
        char *text = xasprintf("%s %s %s", u.sysname, u.release, u.machine);
        cJSON_AddStringToObject(o, "machine", text);
        free(text);
    }
    cpu_model(cpu, sizeof cpu);
    cJSON_AddStringToObject(o, "cpu", cpu);
    cJSON_AddNumberToObject(o, "cores", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddStringToObject(o, "jail", g->o->jail ? g->o->jail : "auto");
    cJSON_AddStringToObject(o, "warploop", WARPLOOP_VERSION);
    char *body = json_text(o);
    cJSON_Delete(o);
    return body;
}

static void add_started(struct engine *g)
{
    char host[256] = "unknown", *body = machine_body(g);
    gethostname(host, sizeof host - 1);
    struct event ev = event_make(EV_ENGINE_STARTED);
    ev.id = g->s->engines + 1;
    ev.n = getpid();
    ev.text = host;
    ev.body = body;
    engine_add(g, ev);
    free(body);
}

static void add_stopped(struct engine *g, const char *why, enum engine_result result)
{
    struct event ev = event_make(EV_ENGINE_STOPPED);
    ev.id = g->s->engines;
    ev.text = why;
    engine_add(g, ev);
    g->leaving = true;
    g->result = result;
}

static bool fold_one(void *ctx, const struct event *ev)
{
    engine_fold(ctx, ev);
    return true;
}

/* Whoever writes to the inbox closes the file afterwards, which tells that the command is there to
 * be read; that the file is being written would come too early, and with each commit of our own.
 * With other processes that is the run's file, with our own the -wal beside it (SQLite keeps a file
 * open as long as one connection of the process holds a lock on it). */
static int watch_file(const char *path)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char *wal = xasprintf("%s-wal", path);
    bool ok = fd >= 0 && inotify_add_watch(fd, path, IN_CLOSE_WRITE) >= 0 &&
              inotify_add_watch(fd, wal, IN_CLOSE_WRITE) >= 0;
    if (fd >= 0 && !ok) {
        close(fd);
        fd = -1;
    }
    free(wal);
    return fd;
}

/* A child that an engine was just forking when it was killed holds the lock a moment longer, until
 * it notices. */
static bool driver_is_dead(const char *path)
{
    char host[256] = "", own[256] = "";
    int64_t pid = 0;
    if (!log_driver(path, &pid, host, sizeof host))
        return true;
    gethostname(own, sizeof own - 1);
    return pid > 0 && strcmp(host, own) == 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static bool lock_run(struct engine *g, struct error *e)
{
    int64_t until = clock_mono_ns() + LOCK_WAIT_NS;
    for (;;) {
        struct error why = {0};
        if (log_lock(g->log, &why))
            return true;
        if (why.code != ERR_BUSY || !driver_is_dead(g->path) || clock_mono_ns() > until) {
            *e = why;
            return false;
        }
        clock_sleep_ns(5000000);
    }
}

static bool open_run(struct engine *g, struct error *e)
{
    g->log = log_open(g->path, e);
    if (!g->log || !lock_run(g, e))
        return false;
    g->s = state_new();
    if (!log_each(g->log, 0, 0, false, fold_one, g, e))
        return false;
    g->task = engine_task(g->log, g->s, &g->agent_name, e);
    if (!g->task || !agent_open(g->agent_name, g->task, &g->agent, e))
        return false;
    g->live = live_open(g->path, NULL);
    g->be = backend_new(g->s->jobs);
    return true;
}

static void close_run(struct engine *g)
{
    backend_free(g->be);
    if (g->agent.free || g->agent.propose)
        agent_close(&g->agent);
    live_close(g->live);
    task_free(g->task);
    state_free(g->s);
    engine_log_free(g);
    log_close(g->log);
    if (g->notify_fd >= 0)
        close(g->notify_fd);
    free(g->agent_name);
    free(g->full.rest);
    free(g->baseline.rest);
    free(g->fatal);
    free(g->agent_why);
}

/* ---- a turn -----------------------------------------------------------------------------------
 */

static char *end_line(const struct engine *g, enum end_reason reason)
{
    const struct run_state *s = g->s;
    const struct goal *goal = state_goal(s);
    char best[128] = "no version is right yet";
    if (s->incumbent >= 0)
        snprintf(best, sizeof best, "best is v%lld at %.2fx (%.2f..%.2f)", (long long)s->incumbent,
                 s->best, s->best_lo, s->best_hi);
    switch (reason) {
    case END_TARGET_MET:
        return xasprintf("%s, the target was %.2fx", best, goal->target);
    case END_BUDGET:
        if (goal->calls > 0 && s->ncalls >= goal->calls)
            return xasprintf("%lld calls are spent; %s", (long long)s->ncalls, best);
        return xasprintf("%.3g hours of work are spent; %s", goal->hours, best);
    case END_STALLED:
        if (g->agent_why)
            return xasprintf("%s; %s", g->agent_why, best);
        return xasprintf("%s has nothing left to try; %s", g->agent.name, best);
    case END_ERROR:
        return xstrdup(g->fatal ? g->fatal : "the baseline cannot be built");
    case END_NONE:
    case END_STOPPED:
        break;
    }
    return xstrdup(best);
}

static void end_run(struct engine *g, enum end_reason reason)
{
    char *line = end_line(g, reason);
    struct event ev = event_make(EV_ENDED);
    ev.code = (int)reason;
    ev.text = line;
    engine_add(g, ev);
    add_stopped(g, end_reason_name(reason), ENGINE_ENDED);
    free(line);
}

/* The build's own words make a better last line than that it failed. */
static void baseline_broken(struct engine *g)
{
    const struct version *v = state_version(g->s, 0);
    char *said = engine_event_text(g, v->build_seq);
    if (!g->fatal && v->build != VERDICT_OK)
        g->fatal = xasprintf("the baseline cannot be built: %s", said);
    free(said);
}

/* Carry out one step; false: there is nothing more to do now. */
static bool take_step(struct engine *g)
{
    if (g->fatal) {
        if (g->s->ninflight == 0)
            end_run(g, END_ERROR);
        return false;
    }
    struct step step =
        next_step(g->s, state_active_ns(g->s, clock_wall_ns()), g->agent_waits, g->agent_finished);
    bool device = step.kind == STEP_BASELINE || step.kind == STEP_BENCH;
    if ((device || step.kind == STEP_BUILD) && !*g->facts.reference.hex) {
        if (engine_begin_reference(g))
            return true;
        if (device)
            return false; /* not before there is something to compare with */
    }
    switch (step.kind) {
    case STEP_WAIT:
        return false;
    case STEP_BUILD:
        engine_begin(g, EFFECT_BUILD, step.version);
        return true;
    case STEP_BASELINE:
        engine_begin(g, EFFECT_BASELINE, 0);
        return true;
    case STEP_BENCH:
        engine_begin(g, EFFECT_BENCH, step.version);
        return true;
    case STEP_JUDGE:
        engine_judge(g, step.version);
        return true;
    case STEP_PROPOSE:
        engine_propose(g);
        return true;
    case STEP_END:
        if (step.reason == END_ERROR)
            baseline_broken(g);
        end_run(g, step.reason);
        return false;
    }
    return false;
}

/* The first byte on stop_fd asks for a stop at the next safe point, the second for one at once. */
static void look_at_stop_fd(struct engine *g)
{
    char bytes[16];
    struct pollfd p = {.fd = g->stop_fd, .events = POLLIN};
    if (g->stop_fd < 0 || poll(&p, 1, 0) <= 0)
        return;
    ssize_t n = read(g->stop_fd, bytes, sizeof bytes);
    if (n <= 0) {
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            g->stop_fd = -1;
        return;
    }
    g->stops += n > 1 ? 2 : 1;
    g->stop_why = "asked to stop";
}

static void stopping(struct engine *g)
{
    if (g->stops > 1)
        engine_interrupt_all(g, "stopped at once");
    if (g->s->ninflight == 0)
        add_stopped(g, g->stop_why, ENGINE_STOPPED);
}

static void steps(struct engine *g)
{
    if (g->leaving || g->broken || g->retry_at)
        return;
    if (g->stops) {
        stopping(g);
        return;
    }
    for (int i = 0; i < STEPS_A_TURN && take_step(g); i++)
        ;
}

/* Commit, and start what is now allowed. */
static void settle(struct engine *g)
{
    if (g->retry_at && clock_mono_ns() < g->retry_at && g->stops < 2)
        return;
    g->retry_at = 0;
    if (engine_commit(g) && !g->leaving)
        engine_start_effects(g);
}

static bool finished(struct engine *g)
{
    if (g->broken)
        return true;
    if (g->leaving)
        return g->nbatch == 0 || g->stops > 1;
    return g->stops > 1 && g->retry_at; /* at once means at once, though the last result is lost */
}

/* ---- waiting ----------------------------------------------------------------------------------
 */

static void sooner(int64_t *ns, int64_t other)
{
    if (other < *ns)
        *ns = other;
}

static int wait_ms(const struct engine *g)
{
    const struct goal *goal = state_goal(g->s);
    int64_t now = clock_mono_ns(), ms = g->notify_fd >= 0 ? LOOK_SEL_MS : LOOK_MS;
    int64_t ns = ms * 1000000;
    int64_t deadline = backend_deadline(g->be);
    if (deadline != INT64_MAX)
        sooner(&ns, deadline - now);
    if (g->retry_at)
        sooner(&ns, g->retry_at - now);
    if (goal && goal->hours > 0 && !g->s->paused && !g->s->ended && !g->s->ninflight) {
        double left = goal->hours * 3600e9 - (double)state_active_ns(g->s, clock_wall_ns());
        if (left > 0 && left < 1e12)
            sooner(&ns, (int64_t)left);
    }
    return ns <= 0 ? 0 : (int)(ns / 1000000 + 1);
}

static void drain_notify(const struct engine *g)
{
    char bytes[4096];
    while (g->notify_fd >= 0 && read(g->notify_fd, bytes, sizeof bytes) > 0)
        ;
}

static void wait_for_news(struct engine *g)
{
    int jobs = g->s->jobs > 0 ? g->s->jobs : 1;
    size_t max = BACKEND_FDS((size_t)jobs) + 2;
    struct pollfd *fds = xcalloc(max, sizeof *fds);
    size_t n = backend_fds(g->be, fds, max - 2);
    if (g->stop_fd >= 0)
        fds[n++] = (struct pollfd){.fd = g->stop_fd, .events = POLLIN};
    if (g->notify_fd >= 0)
        fds[n++] = (struct pollfd){.fd = g->notify_fd, .events = POLLIN};
    poll(fds, (nfds_t)n, wait_ms(g));
    free(fds);
}

/* What a front end shows while nothing is in flight. */
static void show_idle(struct engine *g)
{
    if (g->s->ninflight || g->retry_at)
        return;
    engine_live(g, g->s->paused ? "paused" : engine_is_outside(g) ? "waits for submissions" : "");
}

static void loop(struct engine *g)
{
    bool said = false;
    for (;;) {
        drain_notify(g);
        backend_collect(g->be, engine_news, g);
        look_at_stop_fd(g);
        if (!g->leaving)
            engine_inbox(g);
        steps(g);
        settle(g);
        if (!said && !g->retry_at && !g->broken) {
            said = true;
            if (g->o->started)
                g->o->started(g->o->ctx);
        }
        if (finished(g))
            return;
        /* An effect that could not even be started, or the end of trouble, left more to do. */
        if (g->nbatch && !g->retry_at)
            continue;
        show_idle(g);
        wait_for_news(g);
    }
}

/* A run that has ended goes on only for a reason: someone stopped it or its fault may be mended, or
 * the inbox holds something (a goal, a submission, a resume) that reopens it. */
static void reopen(struct engine *g)
{
    if (!g->s->ended)
        return;
    if (g->s->reason == END_ERROR || g->s->reason == END_STOPPED) {
        struct event ev = event_make(EV_REOPENED);
        ev.text = "an engine was started again";
        engine_add(g, ev);
        return;
    }
    engine_inbox(g);
}

enum engine_result engine_run(const char *path, const struct engine_opts *o, struct error *e)
{
    struct engine g = {
        .o = o, .path = path, .stop_fd = o->stop_fd, .notify_fd = -1, .result = ENGINE_ENDED};
    struct error why = {0};
    if (!open_run(&g, &why)) {
        close_run(&g);
        if (e)
            *e = why;
        return ENGINE_FAILED;
    }
    g.notify_fd = watch_file(path);
    add_started(&g);
    reopen(&g);
    if (g.s->ended) {
        close_run(&g); /* nothing was written */
        return ENGINE_ENDED;
    }
    engine_recover(&g);
    loop(&g);
    engine_live(&g, "");
    bool lost = g.broken || g.nbatch > 0;
    enum engine_result result = lost ? ENGINE_FAILED : g.result;
    if (lost && !g.broken)
        error_set(&g.failure, ERR_FULL,
                  "%s could not be written before the stop: what was in "
                  "flight is done again at the next start",
                  path);
    if (lost && e)
        *e = g.failure;
    close_run(&g);
    return result;
}
