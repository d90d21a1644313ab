/* warploop doctor: what this machine has, what it lacks, and the command that brings it. */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/probe.h"
#include "core/cmd/view.h"
#include "core/task/task.h"

struct report {
    cJSON *rows;
    int bad, weak;
};

enum grade { GOOD, WEAK, BAD };

static void row(struct report *r, enum grade g, const char *what, const char *text,
                const char *cure)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "what", what);
    cJSON_AddStringToObject(o, "state", g == GOOD ? "ok" : g == WEAK ? "weak" : "missing");
    cJSON_AddStringToObject(o, "text", text);
    out_text(o, "command", cure);
    cJSON_AddItemToArray(r->rows, o);
    r->bad += g == BAD;
    r->weak += g == WEAK;
}

static void look_at_build(struct report *r)
{
    struct error e = {0};
    cJSON *o = NULL;
    if (!probe_program("warploop-build", &o, &e)) {
        row(r, BAD, "warploop-build", e.msg, "make");
        return;
    }
    const cJSON *c = cJSON_GetObjectItemCaseSensitive(o, "compiler");
    const cJSON *j = cJSON_GetObjectItemCaseSensitive(o, "jail");
    bool ok = json_bool(c, "ok", false);
    row(r, ok ? GOOD : BAD, "compiler",
        json_str(c, "version", json_str(c, "lacks", "no C compiler")),
        ok ? "" : "apt-get install gcc libc6-dev");
    if (ok && !json_bool(c, "objdump", false)) {
        row(r, WEAK, "objdump", "absent: no instruction mix", "apt-get install binutils");
    }
    ok = json_bool(j, "ok", false);
    row(r,
        !ok                         ? BAD
        : *json_str(j, "lacks", "") ? WEAK
                                    : GOOD,
        "jail of builds", json_str(j, "text", "none"), json_str(j, "command", ""));
    if (*json_str(j, "lacks", "")) {
        row(r, WEAK, "jail lacks", json_str(j, "lacks", ""), json_str(j, "command", ""));
    }
    cJSON_Delete(o);
}

static void look_at_bench(struct report *r)
{
    struct error e = {0};
    cJSON *o = NULL;
    struct buf b = {0};
    if (!probe_program("warploop-bench", &o, &e)) {
        row(r, BAD, "warploop-bench", e.msg, "make");
        return;
    }
    buf_addf(&b, "%s, %d cores, measuring on core %d, priority %s", json_str(o, "cpu", "?"),
             (int)json_num(o, "cores", 0), (int)json_num(o, "core", 0),
             json_str(o, "priority", "?"));
    row(r, GOOD, "processor", buf_str(&b), "");
    buf_clear(&b);
    buf_addf(&b, "%.1f GFLOP/s float32, measured with %s (%s)", json_num(o, "peak_gflops", 0),
             json_str(o, "peak_how", "?"), json_str(o, "flags", "?"));
    row(r, GOOD, "peak of a core", buf_str(&b), "");
    buf_clear(&b);
    buf_addf(&b, "%s%s", json_str(o, "isolation", "none"),
             json_bool(o, "seccomp", false) ? ", seccomp" : "");
    row(r, json_bool(o, "seccomp", false) ? GOOD : BAD, "jail of timed calls", buf_str(&b), "");
    bool hw = !strstr(json_str(o, "counters", ""), "software events only");
    row(r, hw ? GOOD : WEAK, "counters", json_str(o, "counters", "?"),
        hw || strstr(json_str(o, "counters", ""), "PMU") ? ""
                                                         : "sysctl kernel.perf_event_paranoid=1");
    const cJSON *lack;
    cJSON_ArrayForEach(lack, cJSON_GetObjectItemCaseSensitive(o, "lacks"))
    {
        row(r, WEAK, "bench lacks", cJSON_IsString(lack) ? lack->valuestring : "?", "");
    }
    buf_free(&b);
    cJSON_Delete(o);
}

static void look_at_files(struct report *r)
{
    struct error e = {0};
    struct buf b = {0};
    char *home = NULL;
    if (!fs_home(&home, &e)) {
        row(r, BAD, "runs", e.msg, "export WARPLOOP_HOME=FOLDER");
    } else {
        struct statvfs st;
        double gb = statvfs(home, &st) == 0 ? (double)st.f_bavail * (double)st.f_frsize / 1e9 : 0;
        bool writable = access(home, W_OK) == 0;
        buf_addf(&b, "%s, %.1f GB free%s", home, gb, writable ? "" : ", not writable");
        row(r,
            !writable  ? BAD
            : gb < 0.2 ? WEAK
                       : GOOD,
            "runs", buf_str(&b), writable ? "" : "export WARPLOOP_HOME=FOLDER");
        free(home);
    }
    char **names = NULL;
    size_t n = 0;
    buf_clear(&b);
    if (task_names(&names, &n, &e)) {
        for (size_t i = 0; i < n; i++) {
            buf_addf(&b, "%s%s", i ? ", " : "", names[i]);
        }
        task_names_free(names, n);
        row(r, n ? GOOD : BAD, "tasks", n ? buf_str(&b) : "none",
            n ? "" : "export WARPLOOP_KERNELS=FOLDER");
    } else {
        row(r, BAD, "tasks", e.msg, "export WARPLOOP_KERNELS=FOLDER");
    }
    buf_free(&b);
}

static void look_at_terminal(struct report *r)
{
    const char *term = getenv("TERM");
    bool fit = term && *term && strcmp(term, "dumb") != 0;
    struct buf b = {0};
    buf_addf(&b, "TERM=%s, %s%s", term ? term : "(not set)",
             isatty(STDOUT_FILENO) ? "a terminal" : "not a terminal",
             fit ? "" : ": plain lines instead of the workbench");
    row(r, fit ? GOOD : WEAK, "terminal", buf_str(&b), fit ? "" : "export TERM=xterm-256color");
    buf_free(&b);
}

static void put_table(const struct report *r, struct buf *out)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, r->rows)
    {
        const char *state = json_str(o, "state", "");
        buf_addf(out, "%-8s ", state);
        put_line(out, json_str(o, "what", ""), 24);
        put_pad(out, 30);
        put_line(out, json_str(o, "text", ""), 300);
        buf_addc(out, '\n');
        if (*json_str(o, "command", "")) {
            buf_adds(out, "                             -> ");
            put_line(out, json_str(o, "command", ""), 300);
            buf_addc(out, '\n');
        }
    }
    if (r->bad) {
        buf_addf(out, "\n%d thing%s missing: runs cannot work here until that is mended\n", r->bad,
                 r->bad == 1 ? " is" : "s are");
    } else if (r->weak) {
        buf_adds(out, "\neverything needed is here; what is weak is stored with each result\n");
    } else {
        buf_adds(out, "\neverything is here\n");
    }
}

static enum exit_code run(const struct args *a)
{
    struct report r = {.rows = cJSON_CreateArray()};
    struct buf b = {0};
    look_at_build(&r);
    look_at_bench(&r);
    look_at_files(&r);
    look_at_terminal(&r);
    row(&r, WEAK, "triton back end", "not in this version: kernels in C on the CPU only", "");
    if (args_flag(a, "json")) {
        print_json(r.rows);
    } else {
        put_table(&r, &b);
        cmd_print(&b);
        cJSON_Delete(r.rows);
    }
    return r.bad ? EXIT_NOT_SO : EXIT_DONE;
}

static const struct option_desc options[] = {
    JSON_OPTION("an array, one object for each thing that was looked at"),
    {0},
};

const struct cmd cmd_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "what this machine lacks, and what brings it",
    .options = options,
    .details = "Exit code 1 when something is missing without which no run works.",
    .run = run,
};
