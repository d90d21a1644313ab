/* Writes an evaluate request of a task to a file, for `warploop-bench --once FILE` and `--null N
 * FILE`: what the measuring half costs and how often it errs is measured without an engine.
 *
 * usage: bench_request TASK CANDIDATE INCUMBENT MODE OUT
 *        CANDIDATE, INCUMBENT: a configuration ("start", "chunkwise CHUNK=32"), "baseline", or a
 *        file that ends in .c; INCUMBENT "-": none. MODE: full, check or baseline. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/task/spec.h"
#include "core/task/switches.h"
#include "gpu/c/compile.h"

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_request: %s: %s\n", what, why);
    exit(1);
}

/* The source that a word of the command line means. */
static void source_of(const struct task *t, const char *word, struct buf *out)
{
    struct error e;
    struct config c;
    size_t n = strlen(word);
    if (n > 2 && strcmp(word + n - 2, ".c") == 0) {
        if (!fs_read(word, TASK_MAX_SOURCE, out, &e))
            die(word, e.msg);
    } else if (strcmp(word, "baseline") == 0) {
        buf_adds(out, t->c.baseline);
    } else if (!t->c.moves) {
        buf_adds(out, t->c.start);
    } else if (!config_parse(t, word, &c, &e) || !switches_resolve(t, t->c.moves, &c, out, &e)) {
        die(word, e.msg);
    }
}

static void build(struct compiler *compiler, const struct task *t, const char *role,
                  const struct buf *source, struct buf *object)
{
    struct buf header = {0}, shim = {0};
    struct compile_result r;
    task_header(t, &header);
    task_shim(t, strcmp(role, "reference") == 0, &shim);
    struct compile_request q = {.task = t->name,
                                .role = role,
                                .jail = "auto",
                                .headers = (const char *const *)t->c.headers,
                                .nheaders = t->c.nheaders,
                                .source = source,
                                .header = &header,
                                .shim = &shim,
                                .timeout_ns = (int64_t)60000000000};
    compile(compiler, &q, &r);
    if (r.verdict != COMPILE_OK)
        die(role, r.message);
    buf_add(object, r.object.s, r.object.len);
    compile_result_free(&r);
    buf_free(&header);
    buf_free(&shim);
}

static void build_text(struct compiler *compiler, const struct task *t, const char *role,
                       const char *text, struct buf *object)
{
    struct buf source = {0};
    buf_adds(&source, text);
    build(compiler, t, role, &source, object);
    buf_free(&source);
}

static void save(const char *path, const struct wire_msg *m)
{
    struct error e;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || !wire_send(fd, m, &e))
        die(path, fd < 0 ? "cannot be written" : e.msg);
    close(fd);
}

int main(int argc, char **argv)
{
    struct error e;
    if (argc != 6)
        die("usage", "bench_request TASK CANDIDATE INCUMBENT|- full|check|baseline OUT");
    struct task *t = task_load(argv[1], &e);
    if (!t)
        die(argv[1], e.msg);
    struct compiler compiler = {.ready = false};
    struct buf source = {0}, object[4] = {{0}, {0}, {0}, {0}};
    bool incumbent = strcmp(argv[3], "-") != 0;
    source_of(t, argv[2], &source);
    build(&compiler, t, "candidate", &source, &object[0]);
    if (incumbent) {
        buf_clear(&source);
        source_of(t, argv[3], &source);
        build(&compiler, t, "candidate", &source, &object[1]);
    }
    build_text(&compiler, t, "baseline", t->c.baseline, &object[2]);
    build_text(&compiler, t, "reference", t->c.reference, &object[3]);
    struct eval_parts parts = {.candidate = &object[0],
                               .incumbent = incumbent ? &object[1] : NULL,
                               .baseline = &object[2],
                               .reference = &object[3]};
    struct spec_opts opts = {.id = 1, .jail = "auto", .seed = 7};
    enum eval_mode mode = strcmp(argv[4], "check") == 0      ? EVAL_CHECK
                          : strcmp(argv[4], "baseline") == 0 ? EVAL_BASELINE
                                                             : EVAL_FULL;
    struct wire_msg m;
    if (!spec_evaluate(t, mode, &parts, &opts, &m, &e))
        die(argv[1], e.msg);
    save(argv[5], &m);
    wire_msg_free(&m);
    for (size_t i = 0; i < ARRAY_LEN(object); i++)
        buf_free(&object[i]);
    buf_free(&source);
    compiler_free(&compiler);
    task_free(t);
    return 0;
}
