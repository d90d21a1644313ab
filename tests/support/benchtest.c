#include "tests/support/benchtest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "gpu/c/report.h"

/* As the compile jail does it (gpu/c/compile.c), save -march=native. */
#define BUILD                                                                                      \
    "-std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -nostartfiles -fno-stack-protector "         \
    "-fcf-protection=none -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code "                    \
    "-Wl,--build-id=none,--hash-style=gnu,--as-needed"

static struct kept {
    char *key;
    struct buf bytes;
} kept[80];
static size_t nkept;

static void die(const char *what)
{
    fprintf(stderr, "benchtest: %s\n", what);
    exit(1);
}

const struct buf *benchtest_object(const char *file, const char *flags)
{
    char *key = xasprintf("%s %s", file, flags);
    for (size_t i = 0; i < nkept; i++)
        if (strcmp(kept[i].key, key) == 0) {
            free(key);
            return &kept[i].bytes;
        }
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/warploop-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir) || nkept == ARRAY_LEN(kept))
        die("no folder for the fixtures");
    char *out = fs_join(dir, "k.so"),
         *line = xasprintf("gcc " BUILD " %s -o %s tests/fixtures/bench/%s", flags, out, file);
    struct error e;
    struct kept *k = &kept[nkept++];
    *k = (struct kept){.key = key};
    if (system(line) != 0) // NOLINT(cert-env33-c): a fixed command of the test
        die("gcc failed on a fixture (run from the top of the tree)");
    if (!fs_read(out, 1u << 24, &k->bytes, &e))
        die(e.msg);
    fs_remove_tree(dir);
    free(dir);
    free(out);
    free(line);
    return &k->bytes;
}

void benchtest_free(void)
{
    for (size_t i = 0; i < nkept; i++) {
        free(kept[i].key);
        buf_free(&kept[i].bytes);
    }
    nkept = 0;
}

static void add_shape(struct buf *b, const char *name, const char *role, int T, int N, double flop)
{
    buf_addf(b,
             "{\"name\":\"%s\",\"role\":\"%s\",\"dims\":[%d,%d],\"counts\":[\"%d\",\"%d\",\"%d\","
             "\"%d\",\"4096\"],\"extents\":[[%d,%d],[%d],[%d,%d],[%d],[]],\"flop\":\"%.0f\","
             "\"bytes\":\"%d\"}",
             name, role, T, N, T * N, N, T * N, N, T, N, N, T, N, N, flop, 8 * T * N);
}

static void add_head(struct buf *b, const struct benchtest_options *o)
{
    static const char params[] =
        "[{\"name\":\"T\",\"kind\":\"dim\"},{\"name\":\"N\",\"kind\":\"dim\"},"
        "{\"name\":\"x\",\"kind\":\"input\",\"type\":\"f32\"},"
        "{\"name\":\"s0\",\"kind\":\"input\",\"type\":\"f32\"},"
        "{\"name\":\"y\",\"kind\":\"output\",\"type\":\"f32\",\"hard\":1e-4,\"soft\":1e-5,"
        "\"block_axis\":0,\"block\":8},"
        "{\"name\":\"last\",\"kind\":\"output\",\"type\":\"f32\",\"hard\":1e-4,\"soft\":1e-5},"
        "{\"name\":\"ws\",\"kind\":\"workspace\"}]";
    int T = o->T ? o->T : 64, N = o->N ? o->N : 512;
    buf_addf(b,
             "{\"op\":\"evaluate\",\"id\":\"7\",\"backend\":\"c\",\"task\":\"mini\","
             "\"mode\":\"%s\",\"seed\":\"%s\",\"jail\":\"auto\",\"params\":%s,\"shapes\":[",
             o->mode ? o->mode : "full", o->seed ? o->seed : "1", params);
    add_shape(b, "scored", "scored", T, N, o->flop);
    buf_addc(b, ',');
    add_shape(b, "short", "check", 5, 3, 0);
    buf_addc(b, ',');
    add_shape(b, "long", "hidden", 33, 17, 0);
    buf_adds(b, "],\"families\":[{\"name\":\"ordinary\",\"class\":\"ordinary\",\"fill\":{"
                "\"x\":{\"dist\":\"normal\"},\"s0\":{\"dist\":\"normal\"}}},"
                "{\"name\":\"long-memory\",\"class\":\"long-memory\",\"fill\":{"
                "\"s0\":{\"dist\":\"normal\",\"scale\":100}}}],");
    buf_addf(b,
             "\"margin\":0.005,\"max_shape_loss\":0.03,\"call_ms\":%g,\"timeout_ms\":60000,"
             "\"sets\":{\"min\":%d,\"max\":%d},\"profile\":%s}",
             o->call_ms > 0 ? o->call_ms : 2000, o->sets_min ? o->sets_min : 5,
             o->sets_max ? o->sets_max : 10, o->profile ? "true" : "false");
}

static void add_part(struct wire_msg *m, const char *name, const char *file, const char *flags)
{
    const struct buf *object = benchtest_object(file, flags);
    wire_add_part(m, name, object->s, object->len);
}

void benchtest_request(const char *candidate, const char *incumbent, const char *baseline,
                       const struct benchtest_options *o, struct wire_msg *m)
{
    struct buf text = {0};
    add_head(&text, o);
    *m = (struct wire_msg){.head = cJSON_Parse(text.s)};
    buf_free(&text);
    if (!m->head)
        die("the request is not JSON");
    if (candidate)
        add_part(m, "candidate", "kernel.c", candidate);
    if (incumbent)
        add_part(m, "incumbent", "kernel.c", incumbent);
    add_part(m, "baseline", "kernel.c", baseline ? baseline : "");
    add_part(m, "reference", "reference.c", "");
}

cJSON *benchtest_run(const struct nursery *n, const struct machine *machine,
                     const struct wire_msg *m)
{
    struct ev_request r;
    struct evaluation ev;
    struct error e;
    struct wire_msg result;
    if (!ev_request_parse(m->head, &r, &e))
        die(e.msg);
    evaluation_begin(&ev, &r, m, machine, n, -1);
    evaluate(&ev);
    report_result(&ev, &result);
    evaluation_end(&ev);
    ev_request_free(&r);
    return result.head;
}
