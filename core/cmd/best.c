/* warploop best: the best version's source, exactly. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/text.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/cmd/view.h"

/* A terminal gets a form that cannot drive it; a file or a pipe the bytes as they are. */
static void print_source(const struct buf *source)
{
    if (!isatty(STDOUT_FILENO)) {
        fwrite(buf_str(source), 1, source->len, stdout);
        return;
    }
    struct buf clean = {0};
    text_sanitise(&clean, buf_str(source), source->len, 8);
    cmd_print(&clean);
}

static void print_version(struct run_view *v, int64_t id, const char *file,
                          const struct buf *source)
{
    cJSON *o = json_version_full(v, id);
    out_text(o, "run", v->name);
    out_text(o, "file", file);
    out_i64(o, "bytes", (int64_t)source->len);
    out_text(o, "text", file ? NULL : buf_str(source));
    print_json(o);
}

static enum exit_code write_out(struct run_view *v, int64_t id, const char *file, bool json,
                                struct error *e)
{
    struct buf source = {0};
    bool ok = reader_source(v->r, id, &source, e);
    if (ok && file) {
        ok = fs_write(file, buf_str(&source), source.len, e);
    } else if (ok && !json) {
        print_source(&source);
    }
    if (ok && json) {
        print_version(v, id, file, &source);
    }
    size_t n = source.len;
    buf_free(&source);
    if (!ok) {
        return cmd_fail(e);
    }
    if (json) {
        return EXIT_DONE;
    }
    const struct version *ver = state_version(v->s, id);
    struct buf b = {0};
    buf_addf(&b, "%s v%lld: ", v->name, (long long)id);
    put_speedup(&b, ver->speedup, ver->lo, ver->hi);
    buf_addf(&b, " of the baseline, %zu bytes", n);
    if (ver->config && *ver->config) {
        buf_adds(&b, ", ");
        put_line(&b, ver->config, 160);
    }
    if (file) {
        buf_adds(&b, ", written to ");
        put_line(&b, file, 300);
    }
    fflush(stdout);
    fprintf(stderr, "%s\n", buf_str(&b));
    buf_free(&b);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = EXIT_DONE;
    const char *which = args_text(a, "version", "best");
    int64_t id = 0;
    if (strcmp(which, "best") == 0 && v.s->incumbent < 0) {
        error_set(&e, ERR_NOTFOUND, "%s has no version that is right and timed yet", v.name);
        cmd_fail(&e);
        rc = EXIT_NOT_SO;
    } else if (!version_parse(v.s, which, &id, &e)) {
        rc = cmd_fail(&e);
    } else {
        rc = write_out(&v, id, args_text(a, "output", NULL), args_flag(a, "json"), &e);
    }
    run_view_close(&v);
    return rc;
}

static const struct option_desc options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .value = "FILE",
     .help = "write there instead of to standard output"},
    {.name = "version",
     .letter = 'v',
     .kind = OPTION_TEXT,
     .value = "V",
     .help = "another version than the best (7, v7, baseline, start, last)"},
    JSON_OPTION("one object: the version, its source as \"text\" unless -o takes it"),
    {0},
};

const struct cmd cmd_best = {
    .name = "best",
    .usage = "[RUN]",
    .summary = "the source of the best version",
    .options = options,
    .details =
        "Prints the source byte for byte (made fit for the screen on a terminal); the facts about\n"
        "it go to standard error. Exit code 1 when no version is right and timed yet.",
    .run = run,
};
