/* A stand-in for warploop-build and warploop-bench: speaks their wire, runs nothing. What it
 * answers follows from the source alone, so that the same run gives the same results every time.
 *
 * An object is the source with its comments taken out (so that two texts of one program give one
 * object), behind a line of its own. Markers in the source steer it, wherever they stand:
 *   FAKE_BUILD=build|rule|timeout|infra|infra-once|garbage|crash|hang|noobject
 *   FAKE_BENCH=wrong|screened|...|infra|infra-once|garbage|crash|hang|closed|noid
 *   FAKE_MS=20        how long either takes (build and bench), else WARPLOOP_FAKE_BUILD_MS and
 *                     WARPLOOP_FAKE_BENCH_MS, else no time
 *   FAKE_SPEEDUP=1.5  else 0.8 to 3.0 from a hash of the object
 *   FAKE_CODE=x       the object is this word alone: two sources with the same word are one program
 * WARPLOOP_FAKE_JOURNAL names a file that gets a line for every request served to its end: "build
 * HASH" or "bench HASH". Infra-once needs it: the first time is told from the second by it.
 * WARPLOOP_FAKE_OBJECT_BYTES=16000 makes objects at least so large, a third of it noise.
 * WARPLOOP_FAKE_BASELINE=wrong lets the baseline's measurement fail. */
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/wire.h"

#define WIRE_FD 3

/* The word behind "NAME=" in a text; "" when it is not there. */
static void marker(const struct buf *text, const char *name, char *out, size_t size)
{
    size_t n = strlen(name), k = 0;
    const char *s = buf_str(text);
    out[0] = '\0';
    while ((s = strstr(s, name)) && s[n] != '=')
        s += n;
    if (!s)
        return;
    for (s += n + 1; k + 1 < size && *s && !strchr(" \n\t;*\"", *s); s++)
        out[k++] = *s;
    out[k] = '\0';
}

/* Comments out, but markers stay: they are part of what the program "does". */
static void strip(const struct buf *source, struct buf *out)
{
    char code[64];
    marker(source, "FAKE_CODE", code, sizeof code);
    if (*code) {
        buf_addf(out, "FAKE_CODE=%s\n", code);
        return;
    }
    const char *s = buf_str(source);
    while (*s) {
        const char *end = strncmp(s, "/*", 2) == 0 ? strstr(s + 2, "*/") : NULL;
        struct buf comment = {0};
        if (!end) {
            buf_addc(out, *s++);
            continue;
        }
        buf_add(&comment, s, (size_t)(end - s));
        if (strstr(buf_str(&comment), "FAKE_"))
            buf_add(out, s, (size_t)(end + 2 - s));
        buf_free(&comment);
        s = end + 2;
    }
}

/* Journal: O_APPEND and one write a line, so that a kill leaves whole lines. */
static void journal(const char *what, const struct buf *object)
{
    const char *path = getenv("WARPLOOP_FAKE_JOURNAL");
    if (!path || !object)
        return;
    char line[128];
    struct hash h = hash_bytes(buf_str(object), object->len);
    int n = snprintf(line, sizeof line, "%s %s\n", what, h.hex);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        fprintf(stderr, "cannot write the journal %s\n", path);
    if (fd >= 0)
        close(fd);
}

static bool in_journal(const char *what, const struct buf *object)
{
    const char *path = getenv("WARPLOOP_FAKE_JOURNAL");
    struct buf text = {0};
    char line[128];
    struct hash h = hash_bytes(buf_str(object), object->len);
    snprintf(line, sizeof line, "%s %s\n", what, h.hex);
    bool found =
        path && fs_read(path, (size_t)1 << 28, &text, NULL) && strstr(buf_str(&text), line);
    buf_free(&text);
    return found;
}

static void take_time(const struct buf *source, const char *variable)
{
    char ms[32];
    const char *env = getenv(variable);
    marker(source, "FAKE_MS", ms, sizeof ms);
    double wait = *ms ? atof(ms) : env ? atof(env) : 0;
    if (wait > 0)
        usleep((useconds_t)(wait * 1000));
}

static bool reply(struct wire_msg *m)
{
    bool ok = wire_send(WIRE_FD, m, NULL);
    wire_msg_free(m);
    return ok;
}

/* Misbehaviour that both share; true: the reply is not to be sent. */
static bool misbehave(const char *how)
{
    static const char garbage[] = "\001\002 this is no JSON }{\n";
    if (strcmp(how, "crash") == 0) {
        printf("the fake back end crashes now\n");
        fflush(stdout);
        signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
        raise(SIGSEGV);
    }
    if (strcmp(how, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(how, "closed") == 0) {
        close(WIRE_FD);
        for (;;)
            pause();
    }
    if (strcmp(how, "garbage") == 0)
        return write(WIRE_FD, garbage, sizeof garbage - 1) > 0;
    return false;
}

/* As large, and about as hard to compress, as a real object. */
static void fatten(struct buf *object)
{
    const char *want = getenv("WARPLOOP_FAKE_OBJECT_BYTES");
    size_t n = want ? strtoul(want, NULL, 10) : 0;
    struct hash h = hash_bytes(buf_str(object), object->len);
    while (object->len < n) {
        static const char zeros[HASH_LEN];
        bool code = object->len / 1024 % 3 == 0; /* sections are padded to whole pages */
        h = hash_bytes(h.hex, HASH_LEN);
        buf_add(object, code ? h.hex : zeros, HASH_LEN);
    }
}

static bool build(const struct wire_msg *m)
{
    struct buf empty = {0}, object = {0};
    const struct buf *source = wire_part(m, "source");
    char how[32];
    if (!source)
        source = &empty;
    marker(source, "FAKE_BUILD", how, sizeof how);
    take_time(source, "WARPLOOP_FAKE_BUILD_MS");
    if (misbehave(how))
        return true;
    buf_addf(&object, "FAKEOBJECT %s\n", json_str(m->head, "symbol", ""));
    strip(source, &object);
    fatten(&object);
    bool once = strcmp(how, "infra-once") == 0, again = once && in_journal("build", &object);
    const char *verdict = !*how || again || strcmp(how, "noobject") == 0 ? "ok"
                          : once                                         ? "infra"
                                                                         : how;
    struct wire_msg r = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(r.head, "type", "built");
    cJSON_AddStringToObject(r.head, "id", json_str(m->head, "id", ""));
    cJSON_AddStringToObject(r.head, "verdict", verdict);
    cJSON_AddStringToObject(r.head, "message", *how ? "as the marker says" : "");
    cJSON_AddStringToObject(r.head, "command", "fake");
    cJSON_AddStringToObject(r.head, "compiler", "fake 1.0");
    cJSON_AddStringToObject(r.head, "jail", "none (fake)");
    cJSON_AddNumberToObject(r.head, "seconds", 0.001);
    cJSON_AddStringToObject(r.head, "log", "");
    if (strcmp(verdict, "ok") == 0 && strcmp(how, "noobject") != 0)
        wire_add_part(&r, "object", buf_str(&object), object.len);
    journal("build", &object);
    bool ok = reply(&r);
    buf_free(&object);
    return ok;
}

static double speedup_of(const struct buf *object)
{
    char text[32];
    marker(object, "FAKE_SPEEDUP", text, sizeof text);
    if (*text)
        return atof(text);
    struct hash h = hash_bytes(buf_str(object), object->len);
    unsigned long x = strtoul((char[]){h.hex[0], h.hex[1], h.hex[2], h.hex[3], 0}, NULL, 16);
    return 0.8 + 2.2 * (double)x / 65535;
}

static void progress(const struct wire_msg *m, const char *stage, int done)
{
    struct wire_msg r = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(r.head, "type", "progress");
    cJSON_AddStringToObject(r.head, "id", json_str(m->head, "id", ""));
    cJSON_AddStringToObject(r.head, "stage", stage);
    cJSON_AddNumberToObject(r.head, "done", done);
    cJSON_AddNumberToObject(r.head, "of", 2);
    cJSON_AddStringToObject(r.head, "text", "");
    reply(&r);
}

static void put_shapes(cJSON *head, const cJSON *request, double x, double over)
{
    cJSON *list = cJSON_AddArrayToObject(head, "shapes");
    const cJSON *s;
    cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(request, "shapes"))
    {
        if (strcmp(json_str(s, "role", ""), "scored") != 0)
            continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", json_str(s, "name", "?"));
        cJSON_AddNumberToObject(o, "ns", 1e7 / x);
        cJSON_AddNumberToObject(o, "ns_spread", 0.001);
        cJSON_AddNumberToObject(o, "baseline_ns", 1e7);
        cJSON_AddNumberToObject(o, "speedup", x);
        cJSON_AddNumberToObject(o, "lo", x * 0.998);
        cJSON_AddNumberToObject(o, "hi", x * 1.002);
        json_put_num(o, "gain", over);
        cJSON_AddNumberToObject(o, "peak_share", 0.1 * x);
        cJSON_AddItemToArray(list, o);
    }
}

static void put_numbers(cJSON *head, const struct wire_msg *m, const char *verdict)
{
    const struct buf *candidate = wire_part(m, "candidate"), *incumbent = wire_part(m, "incumbent");
    double x = candidate ? speedup_of(candidate) : 1, gain = (double)NAN;
    if (incumbent)
        gain = x / speedup_of(incumbent);
    bool timed = strcmp(verdict, "ok") == 0 || strcmp(verdict, "screened") == 0;
    if (timed) {
        json_put_num(head, "speedup", x);
        json_put_num(head, "lo", x * 0.999);
        json_put_num(head, "hi", x * 1.001);
        json_put_num(head, "gain", gain);
    }
    cJSON_AddBoolToObject(head, "record",
                          strcmp(verdict, "ok") == 0 && (!incumbent || gain > 1.006));
    cJSON_AddNumberToObject(head, "sets", 5);
    put_shapes(head, m->head, x, gain);
}

static bool evaluate(const struct wire_msg *m)
{
    struct buf empty = {0};
    bool baseline = strcmp(json_str(m->head, "mode", ""), "baseline") == 0;
    const struct buf *object = wire_part(m, baseline ? "baseline" : "candidate");
    const char *base_verdict = getenv("WARPLOOP_FAKE_BASELINE");
    char how[32];
    if (!object)
        object = &empty;
    marker(object, "FAKE_BENCH", how, sizeof how);
    progress(m, "check", 1);
    take_time(object, "WARPLOOP_FAKE_BENCH_MS");
    if (misbehave(how))
        return true;
    if (baseline && base_verdict)
        snprintf(how, sizeof how, "%s", base_verdict);
    bool once = strcmp(how, "infra-once") == 0, again = once && in_journal("bench", object);
    const char *verdict = !*how || again || strcmp(how, "noid") == 0 ? "ok" : once ? "infra" : how;
    progress(m, "time", 2);
    struct wire_msg r = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(r.head, "type", "result");
    cJSON_AddStringToObject(r.head, "id",
                            strcmp(how, "noid") == 0 ? "77777" : json_str(m->head, "id", ""));
    cJSON_AddStringToObject(r.head, "verdict", verdict);
    cJSON_AddStringToObject(r.head, "message", *how ? "as the marker says" : "");
    put_numbers(r.head, m, verdict);
    cJSON_AddNumberToObject(r.head, "seconds", 0.001);
    journal(baseline ? "baseline" : "bench", object);
    return reply(&r);
}

/* What doctor and the head of a run are told: the least that the real programs say. */
static int probe(const char *program)
{
    bool build = strstr(program, "warploop-build") != NULL;
    puts(build
             ? "{\"compiler\":{\"ok\":true,\"version\":\"fake 1.0\",\"objdump\":true},"
               "\"jail\":{\"ok\":true,\"text\":\"none (fake)\"}}"
             : "{\"cpu\":\"fake\",\"cores\":1,\"core\":0,\"priority\":\"normal\",\"peak_gflops\":1,"
               "\"peak_how\":\"decree\",\"flags\":\"\",\"isolation\":\"none "
               "(fake)\",\"seccomp\":true,"
               "\"counters\":\"PMU\"}");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--probe") == 0)
        return probe(argv[0]);
    struct wire_reader reader = {.fd = WIRE_FD};
    struct wire_msg m = {0};
    bool ok = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (ok && wire_read(&reader, true, &m, NULL) == WIRE_MSG) {
        const char *op = json_str(m.head, "op", "");
        ok = strcmp(op, "build") == 0 ? build(&m) : strcmp(op, "evaluate") == 0 && evaluate(&m);
        wire_msg_free(&m);
    }
    wire_reader_free(&reader);
    return ok ? 0 : 1;
}
