/* warploop-build: compiles candidates. It serves `build` requests on descriptor 3, one at a time,
 * until end of file, and states what it made, never whether it is any good. Each source is hostile;
 * it is compiled in a jail (gpu/c/compile.h). `--probe` prints what this machine offers. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/wire.h"
#include "gpu/c/compile.h"

#define WIRE_FD        3
#define TIMEOUT_MS     60000
#define TIMEOUT_MS_MAX 3600000

static void put_mix(cJSON *head, const struct disasm_mix *m)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"instructions", m->instructions},
        {"vector512", m->vector512},
        {"vector256", m->vector256},
        {"vector128", m->vector128},
        {"fma", m->fma},
        {"loads", m->loads},
        {"stores", m->stores},
        {"branches", m->branches},
        {"stack", m->stack},
        {"calls", m->calls},
    };
    cJSON *o = cJSON_AddObjectToObject(head, "mix");
    if (m->absent[0]) {
        cJSON_AddStringToObject(o, "absent", m->absent);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        cJSON_AddNumberToObject(o, counts[i].name, (double)counts[i].value);
}

/* Compiler output may hold any bytes; JSON holds UTF-8 only. */
static void put_text(cJSON *o, const char *key, const char *s, size_t n)
{
    char *plain = xstrndup(s, n);
    for (char *c = plain; *c; c++) {
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    }
    cJSON_AddStringToObject(o, key, plain);
    free(plain);
}

static void put_result(struct wire_msg *reply, const char *id, const struct compiler *c,
                       const struct compile_result *r)
{
    cJSON *h = reply->head;
    cJSON_AddStringToObject(h, "type", "built");
    cJSON_AddStringToObject(h, "id", id);
    cJSON_AddStringToObject(h, "verdict", compile_verdict_name(r->verdict));
    put_text(h, "message", r->message, strlen(r->message));
    if (r->line > 0)
        cJSON_AddNumberToObject(h, "line", r->line);
    cJSON_AddStringToObject(h, "command", r->command ? r->command : "");
    cJSON_AddStringToObject(h, "compiler", c->tools.version ? c->tools.version : "");
    cJSON_AddStringToObject(h, "jail", c->jail.text);
    cJSON_AddNumberToObject(h, "seconds", r->seconds);
    put_mix(h, &r->mix);
    put_text(h, "log", buf_str(&r->log), r->log.len);
    if (r->verdict == COMPILE_OK)
        wire_add_part(reply, "object", r->object.s, r->object.len);
}

/* The names in `headers`, borrowed from the message; the caller frees the array. */
static const char **header_names(const cJSON *head, size_t *n)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(head, "headers"), *item = NULL;
    const char **names = NULL;
    size_t cap = 0;
    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        VEC_ROOM(names, *n, cap);
        names[(*n)++] = cJSON_IsString(item) ? item->valuestring : "";
    }
    return names;
}

static void build(struct compiler *c, const struct wire_msg *m, struct wire_msg *reply)
{
    struct compile_request r = {
        .task = json_str(m->head, "task", NULL),
        .role = json_str(m->head, "role", "candidate"),
        .jail = json_str(m->head, "jail", "auto"),
        .source = wire_part(m, "source"),
        .header = wire_part(m, "header"),
        .shim = wire_part(m, "shim"),
    };
    int64_t ms = json_i64(m->head, "timeout_ms", TIMEOUT_MS);
    r.timeout_ns = (ms < 1 ? 1 : ms > TIMEOUT_MS_MAX ? TIMEOUT_MS_MAX : ms) * 1000000;
    const char **headers = header_names(m->head, &r.nheaders);
    r.headers = headers;
    struct compile_result out = {.verdict = COMPILE_INFRA};
    if (strcmp(json_str(m->head, "backend", "c"), "c") != 0)
        snprintf(out.message, sizeof out.message, "only the back end \"c\" is built here");
    else if (!r.source || !r.header || !r.shim)
        snprintf(out.message, sizeof out.message, "the request has no source, header or shim");
    else
        compile(c, &r, &out);
    put_result(reply, json_str(m->head, "id", ""), c, &out);
    compile_result_free(&out);
    free(headers);
}

static int serve(void)
{
    struct wire_reader reader = {.fd = WIRE_FD};
    struct compiler c = {0};
    struct error e = {0};
    int code = 0;
    for (;;) {
        struct wire_msg m = {0}, reply = {0};
        enum wire_status s = wire_read(&reader, true, &m, &e);
        if (s == WIRE_EOF)
            break;
        if (s != WIRE_MSG) {
            fprintf(stderr, "warploop-build: %s\n", e.msg);
            code = 1;
            break;
        }
        reply.head = cJSON_CreateObject();
        const char *op = json_str(m.head, "op", "");
        if (strcmp(op, "build") == 0) {
            build(&c, &m, &reply);
        } else {
            cJSON_AddStringToObject(reply.head, "type", "error");
            cJSON_AddStringToObject(reply.head, "id", json_str(m.head, "id", ""));
            cJSON_AddStringToObject(reply.head, "message", "unknown request; expected \"build\"");
        }
        bool sent = wire_send(WIRE_FD, &reply, &e);
        wire_msg_free(&m);
        wire_msg_free(&reply);
        if (!sent) {
            fprintf(stderr, "warploop-build: %s\n", e.msg);
            code = 1;
            break;
        }
    }
    wire_reader_free(&reader);
    compiler_free(&c);
    return code;
}

/* One JSON object for `warploop doctor`. */
static int probe(void)
{
    struct toolchain t;
    struct jail_report j;
    struct error e = {0};
    cJSON *o = cJSON_CreateObject();
    cJSON *c = cJSON_AddObjectToObject(o, "compiler"), *jail = cJSON_AddObjectToObject(o, "jail");
    bool have = toolchain_open(&t, &e);
    cJSON_AddBoolToObject(c, "ok", have);
    if (have) {
        cJSON_AddStringToObject(c, "version", t.version);
        cJSON_AddStringToObject(c, "path", t.gcc);
        cJSON_AddStringToObject(c, "cache", t.cache);
        cJSON_AddBoolToObject(c, "objdump", t.objdump != NULL);
        if (!t.objdump) {
            cJSON_AddStringToObject(c, "lacks", "objdump (for the instruction mix)");
            cJSON_AddStringToObject(c, "command", "sudo apt-get install binutils");
        }
        toolchain_free(&t);
    } else {
        cJSON_AddStringToObject(c, "lacks", e.msg);
        cJSON_AddStringToObject(c, "command", "sudo apt-get install gcc libc6-dev binutils");
    }
    bool works = jail_probe("auto", &j, &e);
    cJSON_AddBoolToObject(jail, "ok", works);
    cJSON_AddStringToObject(jail, "text", j.text);
    cJSON_AddBoolToObject(jail, "namespaces", j.namespaces);
    cJSON_AddNumberToObject(jail, "landlock", j.landlock);
    cJSON_AddBoolToObject(jail, "seccomp", j.seccomp);
    cJSON_AddBoolToObject(jail, "network", j.network);
    cJSON_AddStringToObject(jail, "lacks", j.lacks);
    cJSON_AddStringToObject(jail, "command", j.command);
    char *text = json_text(o);
    puts(text);
    free(text);
    cJSON_Delete(o);
    return have && works ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--probe") == 0)
        return probe();
    if (argc != 1 || fcntl(WIRE_FD, F_GETFD) < 0) {
        fputs("usage: warploop-build --probe\n"
              "Otherwise warploop starts it, with its requests on descriptor 3.\n",
              stderr);
        return 2;
    }
    fcntl(WIRE_FD, F_SETFD, FD_CLOEXEC);
    signal(SIGPIPE, SIG_IGN);
    return serve();
}
