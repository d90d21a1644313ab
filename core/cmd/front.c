#include "core/cmd/front.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/cmd/plain.h"
#include "core/cmd/requests.h"
#include "core/log/runs.h"
#include "core/loop/engine.h"
#include "core/loop/holder.h"
#include "tui/workbench.h"

#define FOLLOW_HISTORY 20 /* lines of the past that a follower is shown */

/* Both ends of the engine thread's channels; the rest of the process reads `result` and `error`
 * only after `done` became readable. */
struct driver {
    const struct front_opts *o;
    pthread_t thread;
    int stop[2]; /* a byte in it stops the engine, a second one at once */
    int wake;    /* written by the engine after each commit */
    int done;    /* readable once the engine has ended */
    enum engine_result result;
    struct error error;
};

void front_face(const struct args *a, bool headless, struct front_opts *o)
{
    const char *why = "";
    o->ui = ui_choose(a, headless, &why);
    o->theme = args_text(a, "theme", NULL);
    o->ascii = args_flag(a, "ascii");
    o->json = args_flag(a, "json");
    if (o->json && o->ui == UI_WORKBENCH) {
        o->ui = UI_PLAIN;
    }
    if (*why && !o->json && isatty(STDERR_FILENO)) {
        fprintf(stderr, "warploop: plain lines: %s\n", why);
    }
}

static void *engine_thread(void *ctx)
{
    struct driver *d = ctx;
    struct engine_opts eo = {
        .stop_fd = d->stop[0],
        /* without a screen nobody is woken, and the engine may say on standard error that it waits
         */
        .wake_fd = d->o->ui == UI_HEADLESS ? -1 : d->wake,
        .jail = d->o->jail,
    };
    d->result = engine_run(d->o->path, &eo, &d->error);
    uint64_t one = 1;
    (void)!write(d->done, &one, sizeof one);
    (void)!write(d->wake, &one, sizeof one);
    return NULL;
}

/* The engine thread has every signal blocked; ours are as they were. */
static bool driver_start(struct driver *d, const struct front_opts *o, struct error *e)
{
    *d = (struct driver){.o = o, .stop = {-1, -1}};
    d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    d->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->wake < 0 || d->done < 0 || pipe2(d->stop, O_CLOEXEC) != 0) {
        return error_sys(e, "cannot open the engine's descriptors");
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&d->thread, NULL, engine_thread, d);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0) {
        errno = rc;
        return error_sys(e, "cannot start the engine's thread");
    }
    return true;
}

static bool driver_done(const struct driver *d, int timeout_ms)
{
    struct pollfd p = {.fd = d->done, .events = POLLIN};
    return poll(&p, 1, timeout_ms) > 0;
}

static void driver_stop(struct driver *d)
{
    (void)!write(d->stop[1], "s", 1);
}

/* Join the thread; what its end means for the exit code. */
static enum exit_code driver_end(struct driver *d, bool interrupted)
{
    pthread_join(d->thread, NULL);
    close(d->wake);
    close(d->done);
    close(d->stop[0]);
    close(d->stop[1]);
    if (d->result == ENGINE_FAILED) {
        return cmd_fail(&d->error);
    }
    return interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}

int signals_take(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* One signal that arrived, 0 none. */
static int signals_next(int fd)
{
    struct signalfd_siginfo s;
    return read(fd, &s, sizeof s) == (ssize_t)sizeof s ? (int)s.ssi_signo : 0;
}

/* Wait for an engine that has no face any more. `interrupted` so far; a further signal stops it. */
static enum exit_code drive_blind(struct driver *d, bool interrupted)
{
    int signals = signals_take();
    if (interrupted) {
        driver_stop(d);
    }
    while (!driver_done(d, 0)) {
        struct pollfd p[2] = {{.fd = d->done, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        poll(p, 2, -1);
        for (int s = signals_next(signals); s; s = signals_next(signals)) {
            if (s != SIGHUP) { /* without a terminal a hang-up says nothing */
                driver_stop(d);
                interrupted = true;
            }
        }
    }
    close(signals);
    return driver_end(d, interrupted);
}

/* The last lines. Returns EXIT_BROKEN when the run has ended by an error, else rc. */
static enum exit_code say_how_to_look(const struct front_opts *o, bool goes_on, enum exit_code rc)
{
    struct run_view v;
    struct buf b = {0};
    struct error e = {0};
    if (!run_view_path(o->path, &v, &e)) {
        return rc;
    }
    bool failed = v.status == RUN_ENDED && v.s->reason == END_ERROR;
    if (goes_on) {
        buf_addf(&b, "%s goes on as pid %lld without a terminal (it still computes)\n", v.name,
                 (long long)getpid());
    }
    if (o->json) {
        plain_run(&v);
    } else {
        plain_summary(&v, &b);
    }
    run_view_close(&v);
    cmd_print(&b);
    fflush(stdout);
    return failed && rc == EXIT_DONE ? EXIT_BROKEN : rc;
}

/* ---- plain lines -------------------------------------------------------------------------------
 */

/* Follow the run in plain lines. With a driver: until its engine is done; else until nobody drives
 * it. Returns false when the run cannot be read. *interrupted: a signal asked for the end. */
static bool plain_loop(struct driver *d, const struct front_opts *o, struct run_view *v, int *left,
                       bool *interrupted, struct error *e)
{
    int signals = signals_take();
    struct plain p;
    plain_begin(&p, v, d ? 0 : FOLLOW_HISTORY);
    p.json = o->json;
    if (d) {
        p.seq = o->seq;
    }
    bool ok = true;
    for (;;) {
        bool last = d ? driver_done(d, 0) : v->pid == 0;
        ok = plain_step(&p, e);
        if (!ok || last) {
            break;
        }
        struct pollfd fds[3] = {{.fd = d ? d->wake : reader_fd(v->r), .events = POLLIN},
                                {.fd = signals, .events = POLLIN},
                                {.fd = d ? d->done : -1, .events = POLLIN}};
        poll(fds, 3, d ? -1 : 1000);
        uint64_t n;
        if (d) {
            (void)!read(d->wake, &n, sizeof n);
        }
        int s = signals_next(signals);
        if (s == SIGHUP && d) {
            *left = 1;
            break;
        }
        if (s && !d) {
            *interrupted = true;
            break;
        }
        if (s) {
            fprintf(stderr, "%s\n",
                    *interrupted ? "warploop: stopping at once"
                                 : "warploop: stopping at the next safe point; once "
                                   "more: at once");
            *interrupted = true;
            driver_stop(d);
        }
    }
    close(signals);
    return ok;
}

static enum exit_code drive_plain(struct driver *d, const struct front_opts *o, int held)
{
    struct run_view v;
    struct error e = {0};
    bool interrupted = false;
    int left = 0;
    bool ok = run_view_path(o->path, &v, &e);
    if (ok) {
        ok = plain_loop(d, o, &v, &left, &interrupted, &e);
        run_view_close(&v);
    }
    if (left) {
        holder_left(held);
        return drive_blind(d, false);
    }
    if (!ok) {
        cmd_fail(&e);
        return drive_blind(d, true);
    }
    return say_how_to_look(o, false, driver_end(d, interrupted));
}

/* ---- the workbench ----------------------------------------------------------------------------
 */

static struct workbench_opts bench_opts(const struct front_opts *o, bool read_only, int wake)
{
    return (struct workbench_opts){
        .run_path = o->path,
        .read_only = read_only,
        .command = read_only ? NULL : requests_from_workbench,
        .ctx = (void *)(uintptr_t)o->path,
        .wake_fd = wake,
        .no_colour = ui_no_colour(),
        .theme = o->theme,
        .ascii = o->ascii,
    };
}

static enum exit_code drive_workbench(struct driver *d, const struct front_opts *o, int held)
{
    struct workbench_opts w = bench_opts(o, false, d->wake);
    struct error e = {0};
    switch (workbench_run(&w, &e)) {
    case WORKBENCH_LEFT:
        if (driver_done(d, 0)) {
            break;
        }
        say_how_to_look(o, true, EXIT_DONE);
        holder_left(held);
        return drive_blind(d, false);
    case WORKBENCH_HUNG_UP:
        holder_left(held);
        return drive_blind(d, false);
    case WORKBENCH_TERMINATED: {
        if (driver_done(d, 0)) {
            break;
        }
        return say_how_to_look(o, false, drive_blind(d, true));
    }
    case WORKBENCH_FAILED:
        cmd_fail(&e);
        return drive_plain(d, o, held);
    case WORKBENCH_CLOSED:
        break;
    }
    if (!driver_done(d, 0)) {
        driver_done(d, -1);
    }
    return say_how_to_look(o, false, driver_end(d, false));
}

static int hold(const char *path)
{
    char *name = runs_name(path);
    char *hint = xasprintf("go on with it: warploop resume %s", name);
    int held = holder_fork(hint);
    free(hint);
    free(name);
    return held;
}

enum exit_code front_drive(const struct front_opts *o)
{
    struct driver d;
    struct error e = {0};
    int held = o->ui == UI_HEADLESS ? -1 : hold(o->path);
    signal(SIGPIPE, SIG_IGN);
    if (!driver_start(&d, o, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    switch (o->ui) {
    case UI_WORKBENCH:
        rc = drive_workbench(&d, o, held);
        break;
    case UI_PLAIN:
        rc = drive_plain(&d, o, held);
        break;
    case UI_HEADLESS:
        rc = say_how_to_look(o, false, drive_blind(&d, false));
        break;
    }
    return rc;
}

/* The run goes on or rests as before; it is not read again for a last line. */
static void say_left(const char *path, bool read_only)
{
    char *name = runs_name(path);
    printf("%s: left; look again: warploop %s %s (or show, log, diff)\n", name,
           read_only ? "watch" : "attach", name);
    free(name);
}

enum exit_code front_follow(const struct front_opts *o, bool read_only)
{
    struct error e = {0};
    if (o->ui == UI_WORKBENCH) {
        struct workbench_opts w = bench_opts(o, read_only, -1);
        enum workbench_result r = workbench_run(&w, &e);
        if (r != WORKBENCH_FAILED) {
            if (r != WORKBENCH_HUNG_UP) {
                say_left(o->path, read_only);
            }
            return r == WORKBENCH_TERMINATED ? EXIT_INTERRUPTED : EXIT_DONE;
        }
        cmd_fail(&e);
    }
    struct run_view v;
    if (!run_view_path(o->path, &v, &e)) {
        return cmd_fail(&e);
    }
    bool interrupted = false;
    int left = 0;
    if (o->json) {
        plain_run(&v);
    }
    bool ok = plain_loop(NULL, o, &v, &left, &interrupted, &e);
    run_view_close(&v);
    if (!ok) {
        return cmd_fail(&e);
    }
    say_how_to_look(o, false, EXIT_DONE);
    return interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}
