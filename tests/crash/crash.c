/* Crash tests: a whole run is killed at every commit, before every write, by power cuts and from
 * outside, resumed, and compared with a run that nobody disturbed.
 *
 * usage: crash [--torture] [--real] [PART...]     parts: commits writes power outside
 * --torture: all power cuts, 200 kills from outside. --real: the real back end, fewer versions;
 * what was measured is then left out of the comparison. Prints a line a part and "crash: N passed,
 * M failed". */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "tests/support/dropvfs.h"
#include "tests/support/enginetest.h"
#include "tests/support/scratch.h"

#define KILLED 99 /* exit status of a child that killed itself */

struct test {
    bool torture, real;
    char *dir, *agent; /* agent: the replay of the recorded run */
    char *journal;
    char *want; /* canonical text of the undisturbed run */
    int failures;
};

/* ---- what is run ------------------------------------------------------------------------------
 */

static const char *const markers[] = {
    "FAKE_SPEEDUP=1.5", "FAKE_BENCH=wrong",   "FAKE_BUILD=build", "FAKE_CODE=a",
    "FAKE_CODE=a",      "FAKE_SPEEDUP=2.5",   "FAKE_BENCH=fault", "FAKE_SPEEDUP=2 */ asm(\"\"); /*",
    "FAKE_BENCH=infra", "FAKE_BENCH=screened"};

static void die(const char *what, const struct error *e)
{
    fprintf(stderr, "crash: %s: %s\n", what, e ? e->msg : "");
    exit(1);
}

/* Make the run that is replayed. */
static char *record(const struct test *t, size_t n)
{
    char *path = t->real ? et_create("tuner", 1, 4) : et_create("outside", 2, (int64_t)n);
    for (size_t i = 0; i < n && !t->real; i++) {
        char name[32];
        snprintf(name, sizeof name, "file%zu.c", i + 2);
        et_submit(path, name, i < ARRAY_LEN(markers) ? markers[i] : "", (int)i);
    }
    if (et_run(path) != ENGINE_ENDED)
        die("the recorded run did not end", NULL);
    return path;
}

/* A fresh run of the replay, with something in its inbox. */
static char *fresh(const struct test *t)
{
    char *path = et_create(t->agent, 2, 0);
    et_ask(path, "note", "mind the divisions");
    et_ask(path, "steer", "faster");
    et_ask(path, "goal", "{\"text\":\"as fast as it gets\",\"target\":null}");
    return path;
}

/* The state's canonical text; with the real back end without what was measured. */
static char *canonical(const struct test *t, const char *path)
{
    struct run_state *s = et_state(path);
    char *text = state_canonical(s);
    state_free(s);
    if (!t->real)
        return text;
    struct buf b = {0};
    for (char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (strncmp(line, "~ ", 2) != 0)
            buf_add(&b, line, (size_t)(end - line));
    }
    free(text);
    return buf_take(&b);
}

/* ---- nothing finished is done twice -----------------------------------------------------------
 */

struct once {
    int *done; /* by version and kind */
    size_t n, cap;
    const char *journal;
    bool ok;
};

static int *slot(struct once *o, int64_t version, int kind)
{
    size_t i = (size_t)version * 8 + (size_t)kind;
    while (o->n <= i) {
        VEC_ROOM(o->done, o->n, o->cap);
        o->done[o->n++] = 0;
    }
    return &o->done[i];
}

struct effect_kinds {
    int kind[4096];
    struct once *o;
};

static bool count_done(void *ctx, const struct event *ev)
{
    struct effect_kinds *k = ctx;
    if (ev->id < 0 || ev->id >= 4096)
        return true;
    if (ev->kind == EV_EFFECT)
        k->kind[ev->id] = ev->code;
    if (ev->kind == EV_EFFECT_DONE && ++*slot(k->o, ev->ref, k->kind[ev->id]) > 1) {
        fprintf(stderr, "crash: v%lld: %s was finished twice\n", (long long)ev->ref,
                effect_name((enum effect_kind)k->kind[ev->id]));
        k->o->ok = false;
    }
    return true;
}

static int lines_with(const char *text, const char *line)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, line)); s += strlen(line))
        n++;
    return n;
}

struct intents {
    char plan[HASH_LEN + 1];
    int n;
};

static bool count_intents(void *ctx, const struct event *ev)
{
    struct intents *i = ctx;
    i->n += ev->kind == EV_EFFECT && ev->code == EFFECT_BENCH && strcmp(ev->hash, i->plan) == 0;
    return true;
}

/* The back end's own journal: no evaluation was served that the log does not know as begun. */
static bool journal_agrees(const char *path, const char *journal)
{
    struct buf text = {0};
    struct error e = {0};
    struct run_state *s = et_state(path);
    struct log *log = log_open_read(path, &e);
    bool ok = log != NULL;
    if (ok && fs_exists(journal))
        ok = fs_read(journal, (size_t)1 << 26, &text, &e);
    for (size_t v = 1; ok && v < s->nversions; v++) {
        struct intents i = {.n = 0};
        char line[100];
        snprintf(i.plan, sizeof i.plan, "%s", s->versions[v].plan.hex);
        snprintf(line, sizeof line, "bench %s\n", i.plan);
        ok = log_each(log, 0, 0, false, count_intents, &i, &e);
        if (ok && *i.plan && lines_with(buf_str(&text), line) > i.n) {
            fprintf(stderr, "crash: v%zu was measured more often than the log knows\n", v);
            ok = false;
        }
    }
    log_close(log);
    state_free(s);
    buf_free(&text);
    return ok;
}

static bool done_once(const struct test *t, const char *path)
{
    struct error e = {0};
    struct once o = {.ok = true};
    struct effect_kinds *k = xcalloc(1, sizeof *k);
    struct log *log = log_open_read(path, &e);
    k->o = &o;
    bool ok = log && log_each(log, 0, 0, false, count_done, k, &e) && o.ok;
    log_close(log);
    free(o.done);
    free(k);
    return ok && (t->real || journal_agrees(path, t->journal));
}

/* ---- one disturbed run ------------------------------------------------------------------------
 */

static int64_t kill_at;
static const char *cut_path;
static int64_t acknowledged;

static void kill_at_commit(int64_t n)
{
    if (n == kill_at)
        kill(getpid(), SIGKILL);
}

static void kill_at_write(void *ctx, int64_t n, enum drop_op op)
{
    (void)ctx, (void)op;
    if (n == kill_at)
        kill(getpid(), SIGKILL);
}

/* From the moment of the cut on nothing reaches the disk. */
static void cut_at_write(void *ctx, int64_t n, enum drop_op op)
{
    (void)ctx, (void)op;
    if (n == kill_at)
        dropvfs_fail(n, SQLITE_IOERR, false);
}

/* What the log holds now was acknowledged: a power cut must not take it. */
static void note_acknowledged(int64_t n)
{
    (void)n;
    if (dropvfs_ops() >= kill_at)
        return;
    struct log *log = log_open_read(cut_path, NULL);
    if (log)
        acknowledged = log_last_seq(log);
    log_close(log);
}

static void take_journal(const struct test *t)
{
    if (!t->real)
        setenv("WARPLOOP_FAKE_JOURNAL", t->journal, 1);
}

/* In a child: run until the kill, or the end. */
static int run_killed(const struct test *t, const char *path, bool writes)
{
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1};
    struct error e = {0};
    take_journal(t);
    if (writes) {
        dropvfs_install(false);
        dropvfs_before(kill_at_write, NULL);
    } else {
        o.before_commit = kill_at_commit;
    }
    return engine_run(path, &o, &e) == ENGINE_ENDED ? 0 : 1;
}

static int run_cut(const struct test *t, const char *path, enum drop_mode mode)
{
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1, .before_commit = note_acknowledged};
    struct error e = {0};
    take_journal(t);
    cut_path = path;
    dropvfs_install(false);
    dropvfs_before(cut_at_write, NULL);
    enum engine_result r = engine_run(path, &o, &e);
    if (r == ENGINE_ENDED && dropvfs_ops() < kill_at)
        return 0;
    dropvfs_power_cut(mode, (uint64_t)kill_at);
    dropvfs_remove();
    struct log *log = log_open_read(path, &e);
    int64_t last = log ? log_last_seq(log) : 0;
    log_close(log);
    if (last >= acknowledged)
        return KILLED;
    fprintf(stderr, "crash: %lld events were acknowledged, %lld survived the power cut: %s\n",
            (long long)acknowledged, (long long)last, e.msg);
    return 1;
}

enum way { AT_COMMIT, AT_WRITE, POWER_ALL, POWER_SOME };

/* Returns the child's end: 0 ran to the end, KILLED, else a failure. */
static int disturb(const struct test *t, const char *path, enum way way)
{
    fflush(NULL);
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        bool cut = way == POWER_ALL || way == POWER_SOME;
        _exit(cut ? run_cut(t, path, way == POWER_ALL ? DROP_ALL : DROP_SOME)
                  : run_killed(t, path, way == AT_WRITE));
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGKILL ? KILLED : 1;
    return WEXITSTATUS(status);
}

static int resume_child(const struct test *t, const char *path)
{
    struct engine_opts o = {.stop_fd = -1, .wake_fd = -1};
    struct error e = {0};
    take_journal(t);
    enum engine_result r = engine_run(path, &o, &e);
    if (r != ENGINE_ENDED)
        fprintf(stderr, "crash: the resumed run did not end: %s\n", e.msg);
    return r == ENGINE_ENDED ? 0 : 1;
}

static bool resume(const struct test *t, const char *path)
{
    fflush(NULL);
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(resume_child(t, path));
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool equal(const struct test *t, const char *path, const char *when)
{
    char *got = canonical(t, path);
    bool ok = strcmp(got, t->want) == 0;
    if (!ok) {
        const char *a = scratch_path(t->dir, "want.txt"), *b = scratch_path(t->dir, "got.txt");
        bool kept =
            fs_write(a, t->want, strlen(t->want), NULL) && fs_write(b, got, strlen(got), NULL);
        fprintf(stderr, "crash: %s: the resumed run differs (%s)%s%s %s\n", when, path,
                kept ? ": diff " : "", kept ? a : "", kept ? b : "");
    }
    free(got);
    return ok && done_once(t, path);
}

static void forget(const struct test *t, char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        char *name = xasprintf("%s%s", path, endings[i]);
        unlink(name);
        free(name);
    }
    unlink(t->journal);
    free(path);
}

/* One kill point. 0: the run came to its end first. 1: killed, resumed, equal. -1: not equal. */
static int one_point(struct test *t, enum way way, int64_t n)
{
    char when[64], *path = fresh(t);
    snprintf(when, sizeof when, "point %lld of way %d", (long long)n, (int)way);
    kill_at = n;
    int how = disturb(t, path, way);
    bool ok = how == 0 || (how == KILLED && resume(t, path));
    if (!ok)
        fprintf(stderr, "crash: %s: failed (%d)\n", when, how);
    ok = ok && equal(t, path, when);
    if (ok && how != 0)
        et_check(path);
    if (!ok)
        return -1; /* the file stays for a look */
    forget(t, path);
    return how == 0 ? 0 : 1;
}

static void part(struct test *t, const char *what, enum way way, int64_t step)
{
    int64_t points = 0, began = clock_mono_ns();
    int got = 1, bad = 0;
    for (int64_t n = 1; got != 0 && bad < 5; n += step) {
        got = one_point(t, way, n);
        points += got != 0;
        bad += got < 0;
    }
    printf("  %-42s %4lld points, %s (%.1f s)\n", what, (long long)points,
           bad ? "NOT ALL EQUAL" : "all equal", (double)(clock_mono_ns() - began) / 1e9);
    fflush(stdout);
    t->failures += bad != 0;
}

/* ---- from outside -----------------------------------------------------------------------------
 */

static pid_t start_engine(const struct test *t, const char *path)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(resume_child(t, path));
    return pid;
}

/* Kill -9 at a moment of chance, again and again, then let it finish. */
static void outside(struct test *t, int kills)
{
    int done = 0, runs = 0, bad = 0;
    uint64_t dice = 12345;
    int64_t began = clock_mono_ns();
    setenv("WARPLOOP_FAKE_BUILD_MS", "1", 1);
    setenv("WARPLOOP_FAKE_BENCH_MS", "3", 1);
    while (done < kills && !bad) {
        char *path = fresh(t);
        bool ended = false;
        for (runs++; done < kills && !ended;) {
            int status = 0;
            pid_t pid = start_engine(t, path);
            dice = hash_mix(dice, 1);
            clock_sleep_ns((int64_t)(dice % (t->real ? 1500000000 : 25000000)));
            ended = waitpid(pid, &status, WNOHANG) == pid;
            if (!ended) {
                kill(pid, SIGKILL);
                waitpid(pid, &status, 0);
                done++;
            }
            et_check(path);
        }
        if (!resume(t, path) || !equal(t, path, "kills from outside"))
            bad++;
        else
            forget(t, path);
    }
    printf("  %-42s %4d kills in %d runs, %s (%.1f s)\n", "kill -9 from outside at random", done,
           runs, bad ? "NOT EQUAL" : "nothing lost, nothing finished done twice",
           (double)(clock_mono_ns() - began) / 1e9);
    fflush(stdout);
    t->failures += bad != 0;
}

/* ---- all --------------------------------------------------------------------------------------
 */

static bool wanted(int argc, char **argv, const char *name)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
        any = any || argv[i][0] != '-';
    }
    return !any;
}

int main(int argc, char **argv)
{
    struct test t = {0};
    int parts = 0;
    for (int i = 1; i < argc; i++) {
        t.torture = t.torture || strcmp(argv[i], "--torture") == 0;
        t.real = t.real || strcmp(argv[i], "--real") == 0;
    }
    t.dir = scratch_new();
    t.journal = fs_join(t.dir, "journal");
    et_setup(t.dir, t.real);
    char *recorded = record(&t, t.real ? 0 : ARRAY_LEN(markers));
    t.agent = xasprintf("replay:%s", recorded);
    char *undisturbed = fresh(&t);
    if (!resume(&t, undisturbed))
        die("the undisturbed run failed", NULL);
    t.want = canonical(&t, undisturbed);
    unlink(t.journal);
    if (wanted(argc, argv, "commits"))
        parts++, part(&t, "killed at every commit", AT_COMMIT, 1);
    if (wanted(argc, argv, "writes") && !t.real)
        parts++, part(&t, "killed before every write, sync, truncation", AT_WRITE, 1);
    if (wanted(argc, argv, "power") && !t.real) {
        parts += 2;
        part(&t, "power cut, unsynced writes lost", POWER_ALL, t.torture ? 1 : 5);
        part(&t, "power cut, unsynced writes in part", POWER_SOME, t.torture ? 1 : 5);
    }
    if (wanted(argc, argv, "outside"))
        parts++, outside(&t, t.torture ? 200 : 20);
    printf("crash: %d passed, %d failed\n", parts - t.failures, t.failures);
    if (!t.failures)
        scratch_free(t.dir);
    free(recorded);
    free(undisturbed);
    free(t.agent);
    free(t.want);
    free(t.journal);
    return t.failures ? 1 : 0;
}
