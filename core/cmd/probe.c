#include "core/cmd/probe.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/proc.h"
#include "core/cmd/view.h"
#include "core/loop/backend.h"

#define PROBE_SECONDS 20
#define PROBE_BYTES   65536

bool probe_program(const char *name, cJSON **out, struct error *e)
{
    struct proc p;
    char *path = backend_program(name);
    char *argv[] = {path, (char[]){"--probe"}, NULL};
    bool ok = proc_start(&p, argv, NULL, e);
    free(path);
    if (!ok) {
        return false;
    }
    struct buf text = {0};
    int64_t end = clock_mono_ns() + PROBE_SECONDS * (int64_t)1000000000;
    struct pollfd fd = {.fd = p.pidfd, .events = POLLIN};
    while (poll(&fd, 1, 20) == 0 && clock_mono_ns() < end) {
        proc_drain(&p, &text, PROBE_BYTES);
    }
    proc_drain(&p, &text, PROBE_BYTES);
    proc_kill(&p);
    const char *json = strchr(buf_str(&text), '{');
    struct json_doc doc;
    ok = json && json_parse(&doc, name, json, strlen(json), e);
    if (!ok) {
        error_set(e, ERR_CHILD, "%s --probe printed no JSON: %.200s", name, buf_str(&text));
    } else {
        *out = doc.root;
    }
    buf_free(&text);
    return ok;
}

static void put_field(const cJSON *o, const char *key, struct buf *out)
{
    put_line(out, json_str(o, key, "unknown"), 160);
}

void probe_head(struct buf *out)
{
    cJSON *bench = NULL, *build = NULL;
    if (probe_program("warploop-bench", &bench, NULL)) {
        buf_adds(out, "machine:  ");
        put_field(bench, "cpu", out);
        buf_addf(out, ", %d core%s, measuring on core %d (%s), peak %.1f GFLOP/s by ",
                 (int)json_num(bench, "cores", 0), json_num(bench, "cores", 0) == 1 ? "" : "s",
                 (int)json_num(bench, "core", 0), json_str(bench, "priority", "normal"),
                 json_num(bench, "peak_gflops", 0));
        put_field(bench, "peak_how", out);
        buf_adds(out, "\nflags:    ");
        put_field(bench, "flags", out);
        buf_addc(out, '\n');
    } else {
        buf_adds(out, "machine:  unknown (see warploop doctor)\n");
    }
    if (probe_program("warploop-build", &build, NULL)) {
        buf_adds(out, "compiler: ");
        put_field(cJSON_GetObjectItemCaseSensitive(build, "compiler"), "version", out);
        buf_adds(out, "\njail:     builds: ");
        put_field(cJSON_GetObjectItemCaseSensitive(build, "jail"), "text", out);
        if (bench) {
            buf_adds(out, "; timed calls: ");
            put_field(bench, "isolation", out);
            buf_adds(out, json_bool(bench, "seccomp", false) ? ", seccomp" : "");
        }
        buf_addc(out, '\n');
    } else {
        buf_adds(out, "compiler: unknown (see warploop doctor)\n");
    }
    cJSON_Delete(bench);
    cJSON_Delete(build);
}
