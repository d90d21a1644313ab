/* warploop demo: two minutes that show everything, on a real run.
 *
 * The run is driven by `warploop resume` in a process of its own, with the terminal; this process
 * plays the people around it: it submits a known cheat through the inbox, kills the driver with -9
 * in mid-try and starts it again. Whatever is shown comes from the run's log. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/cmd/cmd.h"
#include "core/cmd/diff.h"
#include "core/cmd/plain.h"
#include "core/cmd/probe.h"
#include "core/cmd/submit.h"
#include "core/cmd/ui.h"
#include "core/log/log.h"
#include "core/loop/engine.h"

#define CHEAT_FILE     "c/cheat_dropped_history.c"
#define CHEAT_STRATEGY "demo-cheat"
#define TICK_NS        100000000
#define MID_TRY_NS     300000000 /* so long an evaluation has to be under way before it is killed */
#define CLIMB_CALLS    4         /* tries before the cheat comes ... */
#define CLIMB_SHARE    0.35      /* ... or this much of the time, on a slow machine */
#define CHEAT_SHARE    0.7       /* so long its verdict is waited for before the kill */
#define NO_TARGET      100       /* the demo ends with its time, however fast the kernel gets */
#define LOOK_NS        6000000000 /* how long the workbench stays when the run has ended */

enum scene { SCENE_CLIMB, SCENE_CHEAT, SCENE_WARN, SCENE_KILL, SCENE_FINISH, SCENE_OVER };

struct stage {
    const char *path;  /* of the run */
    const char *cheat; /* file */
    bool screen;       /* the driver has the workbench */
    atomic_int driver; /* pid of the process that has the terminal, 0 none */
    atomic_bool over;  /* the script may end */
};

static void tell(const struct stage *st, const char *text)
{
    (void)!inbox_put(st->path, "demo", "note", text, NULL);
}

static bool submit_cheat(const struct stage *st)
{
    struct submission s;
    bool ok = submission_read(&s, st->cheat,
                              "forget everything older than one chunk: no scan over the chunks is "
                              "left, so it must be fast",
                              CHEAT_STRATEGY, -1, NULL);
    char *request = ok ? submission_request(&s) : NULL;
    ok = ok && inbox_put(st->path, "demo", "submit", request, NULL);
    free(request);
    submission_free(&s);
    return ok;
}

static const struct version *find_cheat(const struct run_state *s)
{
    for (size_t i = 0; i < s->nversions; i++) {
        if (strcmp(s->versions[i].strategy, CHEAT_STRATEGY) == 0) {
            return &s->versions[i];
        }
    }
    return NULL;
}

static bool bench_in_flight(const struct run_state *s)
{
    for (size_t i = 0; i < s->ninflight; i++) {
        if (s->inflight[i].kind == EFFECT_BENCH &&
            clock_wall_ns() - s->inflight[i].started > MID_TRY_NS) {
            return true;
        }
    }
    return false;
}

/* The share of the run's time that is spent. */
static double spent(const struct run_state *s)
{
    const struct goal *g = state_goal(s);
    double hours = (double)state_active_ns(s, clock_wall_ns()) / 3.6e12;
    return g && g->hours > 0 ? hours / g->hours : 0;
}

/* What the script does next; each scene waits for what the log shows. */
static enum scene play(const struct stage *st, const struct run_view *v, enum scene scene)
{
    const struct version *cheat = find_cheat(v->s);
    switch (scene) {
    case SCENE_CLIMB:
        if (v->s->incumbent < 0 || (v->s->ncalls_done < CLIMB_CALLS && spent(v->s) < CLIMB_SHARE)) {
            return scene;
        }
        tell(st, "demo: a known cheat is submitted now: a kernel that drops the history");
        return submit_cheat(st) ? SCENE_CHEAT : SCENE_WARN;
    case SCENE_CHEAT:
        if ((!cheat || cheat->verdict == VERDICT_NONE) && spent(v->s) < CHEAT_SHARE) {
            return scene;
        }
        return SCENE_WARN;
    case SCENE_WARN:
        tell(st, "demo: the next evaluation is cut short by kill -9 of this process");
        return SCENE_KILL;
    case SCENE_KILL:
        if (!v->pid || !bench_in_flight(v->s)) {
            return scene;
        }
        kill((pid_t)v->pid, SIGKILL);
        return SCENE_FINISH;
    case SCENE_FINISH:
        return v->s->ended ? SCENE_OVER : scene;
    case SCENE_OVER:
        break;
    }
    return SCENE_OVER;
}

static void *script(void *ctx)
{
    struct stage *st = ctx;
    struct run_view v;
    enum scene scene = SCENE_CLIMB;
    if (!run_view_path(st->path, &v, NULL)) {
        return NULL;
    }
    while (!atomic_load(&st->over) && scene != SCENE_OVER) {
        clock_sleep_ns(TICK_NS);
        if (run_view_poll(&v, NULL)) {
            scene = v.s->ended ? SCENE_OVER : play(st, &v, scene);
        }
    }
    run_view_close(&v);
    int pid = atomic_load(&st->driver);
    if (scene == SCENE_OVER && st->screen && pid > 0) {
        clock_sleep_ns(LOOK_NS);
        if (!atomic_load(&st->over)) {
            kill(pid, SIGTERM);
        }
    }
    return NULL;
}

/* Run `warploop resume RUN` with our terminal; returns its wait status. */
static int drive(struct stage *st, const struct args *a)
{
    char *dir = fs_program_dir();
    char *program = fs_join(dir, "warploop");
    const char *argv[8] = {program, "resume", st->path};
    int n = 3;
    if (!st->screen) {
        argv[n++] = "--plain";
    }
    if (args_flag(a, "ascii")) {
        argv[n++] = "--ascii";
    }
    int status = 127 << 8;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        execv(program, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    atomic_store(&st->driver, pid);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    atomic_store(&st->driver, 0);
    free(program);
    free(dir);
    return status;
}

static bool killed_by_script(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL;
}

/* The diff is long where a kernel was rewritten: its head is enough here. */
static void put_head_of(const struct buf *text, int lines, const char *rest, struct buf *out)
{
    const char *s = buf_str(text);
    for (int i = 0; i < lines && *s; i++) {
        size_t n = strcspn(s, "\n");
        buf_add(out, s, n + (s[n] == '\n'));
        s += n + (s[n] == '\n');
    }
    int more = 0;
    for (; *s; s++) {
        more += *s == '\n';
    }
    if (more) {
        buf_addf(out, "... %d more lines: %s\n", more, rest);
    }
}

static enum exit_code curtain(const struct stage *st)
{
    struct run_view v;
    struct error e = {0};
    if (!run_view_path(st->path, &v, &e)) {
        return cmd_fail(&e);
    }
    struct buf out = {0}, diff = {0};
    int64_t best = v.s->incumbent;
    const struct version *cheat = find_cheat(v.s);
    if (best > 0 && diff_versions(&v, 0, best, 3, &diff, &e)) {
        char *rest = xasprintf("warploop diff %s 0 %lld", v.name, (long long)best);
        buf_addf(&out, "\n---- baseline against v%lld, the best\n", (long long)best);
        put_head_of(&diff, 25, rest, &out);
        buf_adds(&out, "\n---- measured\n");
        diff_evidence(&v, 0, best, &out);
        free(rest);
    }
    if (cheat) {
        struct buf line = {0}; /* columns count from the line's start */
        plain_try(v.r, cheat, &line);
        buf_addf(&out, "\n---- the cheat\n%s", buf_str(&line));
        buf_free(&line);
    }
    buf_addf(&out,
             "\n---- %lld engine%s drove this run; nothing that was finished was done again\n",
             (long long)v.s->engines, v.s->engines == 1 ? "" : "s");
    plain_summary(&v, &out);
    buf_free(&diff);
    run_view_close(&v);
    cmd_print(&out);
    return EXIT_DONE;
}

static bool make_run(const struct args *a, struct stage *st, char **path, char **cheat,
                     struct error *e)
{
    const char *name = args_text(a, "task", "kda");
    struct task *t = task_load(name, e);
    if (!t) {
        return false;
    }
    *cheat = fs_join(t->dir, CHEAT_FILE);
    struct run_opts o = {
        .task = name,
        .agent = "tuner",
        .goal = "demo: as fast as two minutes allow",
        .target = NO_TARGET,
        .hours = args_real(a, "seconds", 105) / 3600,
        .seed = (uint64_t)args_whole(a, "seed", 0),
        .jail = "auto",
    };
    task_free(t);
    if (!engine_create(&o, path, e)) {
        return false;
    }
    st->path = *path;
    st->cheat = *cheat;
    return true;
}

static enum exit_code perform(struct stage *st, const struct args *a)
{
    pthread_t thread;
    signal(SIGINT, SIG_IGN); /* the driver's to answer: it has the terminal */
    if (pthread_create(&thread, NULL, script, st) != 0) {
        return EXIT_BROKEN;
    }
    int status = drive(st, a);
    if (killed_by_script(status)) {
        printf("\n---- killed with -9 in mid-try, on purpose; now: warploop resume\n\n");
        fflush(stdout);
        clock_sleep_ns(st->screen ? 3000000000 : 0);
        status = drive(st, a);
    }
    atomic_store(&st->over, true);
    pthread_join(thread, NULL);
    enum exit_code rc = curtain(st);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != EXIT_INTERRUPTED) {
        return (enum exit_code)WEXITSTATUS(status);
    }
    return WIFSIGNALED(status) ? EXIT_BROKEN : rc;
}

static enum exit_code run(const struct args *a)
{
    struct stage st = {0};
    struct error e = {0};
    const char *why = "";
    char *path = NULL, *cheat = NULL;
    st.screen = ui_choose(a, false, &why) == UI_WORKBENCH;
    struct buf b = {0};
    buf_adds(&b, "warploop demo: a real run, about two minutes\n");
    probe_head(&b);
    cmd_print(&b);
    fflush(stdout);
    if (!make_run(a, &st, &path, &cheat, &e)) {
        free(cheat);
        return cmd_fail(&e);
    }
    if (st.screen) {
        printf("the workbench opens ...\n");
        fflush(stdout);
        clock_sleep_ns(3000000000);
    }
    enum exit_code rc = perform(&st, a);
    free(path);
    free(cheat);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "task", .kind = OPTION_TEXT, .value = "TASK", .help = "another task than kda"},
    {.name = "seconds",
     .kind = OPTION_REAL,
     .value = "S",
     .lo = 5,
     .hi = 86400,
     .help = "how long the run may work (default 105)"},
    {.name = "seed",
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = 1,
     .hi = 9e15,
     .help = "seed of the inputs (default: drawn)"},
    UI_OPTIONS,
    {0},
};

const struct cmd cmd_demo = {
    .name = "demo",
    .usage = "",
    .summary = "two minutes that show everything, measured here",
    .options = options,
    .details =
        "The graph climbs, a known cheat is submitted and refused, the process is killed with -9 "
        "in\n"
        "mid-try and goes on, records, the diff of the best against the baseline.\n"
        "Makes a run like any other (kda-N among your runs): every number is measured here and\n"
        "now, and the run can be gone on with afterwards.",
    .run = run,
};
