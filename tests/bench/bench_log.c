/* Figures of the event log: how large 1,000 tool calls are and what they cost, and how fast a run
 * with a million events opens. usage: bench_log [EVENTS [FOLDER]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/reader.h"
#include "tests/support/mkrun.h"

static double size_mb(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (double)st.st_size / 1e6 : -1;
}

static int calls_1000(const char *path)
{
    struct mkrun_opts o = {.calls = 1000, .object_bytes = 30000, .commits = 4};
    struct mkrun_opts dry = {.calls = 1000, .object_bytes = 30000};
    struct mkrun_stats st, bulk;
    struct error e;
    char *other = xasprintf("%s.bulk", path);
    if (!mkrun(path, &o, &st, &e) || !mkrun(other, &dry, &bulk, &e)) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    free(other);
    printf("1,000 tool calls: %lld events, %lld commits, %.1f MB\n", (long long)st.events,
           (long long)st.commits, size_mb(path));
    printf(
        "  wall %.3f ms, CPU %.3f ms a call (making the texts included; in large batches %.3f)\n",
        (double)st.wall_ns / 1e9, (double)st.cpu_ns / 1e9, (double)bulk.cpu_ns / 1e9);
    printf("  one commit: %.3f ms\n", (double)st.wall_ns / 1e6 / (double)st.commits);
    return 0;
}

/* In a process of its own, so that its memory is the reader's alone. */
static int open_timed(const char *path)
{
    struct error e;
    struct rusage u;
    int64_t t = clock_mono_ns();
    struct reader *r = reader_open(path, &e);
    if (!r) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    int64_t opened = clock_mono_ns() - t;
    t = clock_mono_ns();
    int64_t fresh = reader_poll(r, &e);
    int64_t polled = clock_mono_ns() - t;
    struct buf source = {0};
    t = clock_mono_ns();
    bool ok = reader_source(r, (int64_t)reader_state(r)->nversions / 2, &source, &e);
    int64_t read = clock_mono_ns() - t;
    getrusage(RUSAGE_SELF, &u);
    printf("  open and fold %.3f s; poll with nothing new %.1f us (%lld); a source %.1f us (%d); "
           "at most %.1f MB resident; %zu versions, %lld unknown\n",
           (double)opened / 1e9, (double)polled / 1e3, (long long)fresh, (double)read / 1e3, ok,
           (double)u.ru_maxrss / 1e3, reader_state(r)->nversions,
           (long long)reader_state(r)->unknown);
    buf_free(&source);
    reader_close(r);
    return 0;
}

static int in_child(int (*what)(const char *), const char *path)
{
    int status = 1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int rc = what(path);
        fflush(stdout);
        _exit(rc);
    }
    waitpid(pid, &status, 0);
    return status;
}

static int million(const char *path, int64_t events)
{
    struct mkrun_opts o = {.events = events, .source_bytes = 3000};
    struct mkrun_stats st;
    struct error e;
    if (!mkrun(path, &o, &st, &e)) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    printf("%lld events, %.1f MB, made in %.1f s\n", (long long)st.events, size_mb(path),
           (double)st.wall_ns / 1e9);
    int bad = 0;
    for (int i = 0; i < 3; i++)
        bad |= in_child(open_timed, path);
    return bad;
}

int main(int argc, char **argv)
{
    int64_t events = argc > 1 ? atoll(argv[1]) : 1000000;
    char template[] = "/tmp/bench_log.XXXXXX";
    char *dir = argc > 2 ? argv[2] : mkdtemp(template);
    char *small = fs_join(dir, "calls-1.warp"), *big = fs_join(dir, "million-1.warp");
    int bad = calls_1000(small) || million(big, events);
    if (argc <= 2)
        fs_remove_tree(dir);
    free(small);
    free(big);
    return bad;
}
