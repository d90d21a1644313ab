/* warploop-bench: checks, times and counts candidates. Serves `evaluate` requests (gpu/c/spec.h) on
 * descriptor 3 until end of file; the supervisor of DESIGN's trust boundary, so it never maps what
 * it measures (gpu/c/template.h).
 *
 *   warploop-bench                    serve descriptor 3
 *   warploop-bench --probe            what this machine offers, one JSON object
 *   warploop-bench --once FILE        one request from a file (a line and its parts); the result
 *   warploop-bench --null N FILE      N null tries: the candidate against itself, timing only;
 *                                     prints each and counts the false records
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/wire.h"
#include "gpu/c/evaluate.h"
#include "gpu/c/report.h"
#include "gpu/c/seccomp.h"

struct bench {
    struct nursery nursery;
    struct machine machine;
    bool measured;
};

static void run(struct bench *b, const struct wire_msg *m, int wire, struct wire_msg *result)
{
    struct ev_request r;
    struct evaluation ev;
    struct error e;
    const char *id = json_str(m->head, "id", "0");
    if (!ev_request_parse(m->head, &r, &e)) {
        report_refused(id, &e, result);
        return;
    }
    if (!b->measured)
        machine_measure(&b->machine);
    b->measured = true;
    evaluation_begin(&ev, &r, m, &b->machine, &b->nursery, wire);
    evaluate(&ev);
    report_result(&ev, result);
    evaluation_end(&ev);
    ev_request_free(&r);
}

static bool nursery_alive(struct nursery *n)
{
    if (waitpid(n->pid, NULL, WNOHANG) != n->pid)
        return true;
    n->pid = 0;
    return false;
}

static int serve_all(struct bench *b, int wire, struct wire_reader *reader)
{
    struct wire_msg m;
    struct error e;
    for (;;) {
        enum wire_status s = wire_read(reader, true, &m, &e);
        if (s == WIRE_EOF)
            return 0;
        if (s != WIRE_MSG) {
            fprintf(stderr, "warploop-bench: %s\n", e.msg);
            return 1;
        }
        struct wire_msg result;
        if (strcmp(json_str(m.head, "op", ""), "evaluate") == 0) {
            run(b, &m, wire, &result);
        } else {
            error_set(&e, ERR_INPUT, "unknown op: only evaluate is served here");
            report_refused(json_str(m.head, "id", "0"), &e, &result);
        }
        bool sent = wire_send(wire, &result, &e);
        wire_msg_free(&m);
        wire_msg_free(&result);
        /* Without its nursery this process can do nothing more: whoever started it starts anew. */
        if (!sent || !nursery_alive(&b->nursery))
            return 1;
    }
}

static int serve(struct bench *b, int wire)
{
    struct wire_reader reader = {.fd = wire};
    int rc = serve_all(b, wire, &reader);
    wire_reader_free(&reader);
    return rc;
}

/* ---------------------------------------------------------------- by hand */

static bool read_request(const char *path, struct wire_msg *m, struct error *e)
{
    struct wire_reader reader = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
    *m = (struct wire_msg){.head = NULL};
    if (reader.fd < 0)
        return error_sys(e, "cannot open %s", path);
    enum wire_status s = wire_read(&reader, true, m, e);
    close(reader.fd);
    wire_reader_free(&reader);
    return s == WIRE_MSG || (s == WIRE_EOF && error_set(e, ERR_INPUT, "%s is empty", path));
}

static int once(struct bench *b, const char *path)
{
    struct wire_msg m, result;
    struct error e;
    if (!read_request(path, &m, &e)) {
        fprintf(stderr, "warploop-bench: %s\n", e.msg);
        return 2;
    }
    run(b, &m, -1, &result);
    char *text = json_text(result.head);
    puts(text);
    free(text);
    wire_msg_free(&m);
    wire_msg_free(&result);
    return 0;
}

static int null_tries(struct bench *b, long n, const char *path)
{
    struct wire_msg m;
    struct ev_request r;
    struct evaluation ev;
    struct error e;
    if (!read_request(path, &m, &e) || !ev_request_parse(m.head, &r, &e)) {
        fprintf(stderr, "warploop-bench: %s\n", e.msg);
        return 2;
    }
    machine_measure(&b->machine);
    long records = -1;
    if (evaluation_begin(&ev, &r, &m, &b->machine, &b->nursery, -1))
        records = timing_null(&ev, n, true);
    if (records < 0)
        fprintf(stderr, "warploop-bench: %s\n", ev.verdict.message);
    else
        printf("%ld null tries, %ld false records\n", n, records);
    evaluation_end(&ev);
    ev_request_free(&r);
    wire_msg_free(&m);
    return records < 0 || records > 1 + n / 1000;
}

/* ---------------------------------------------------------------- probe */

static int probe(struct bench *b, const char *trouble)
{
    char counters[200];
    struct seccomp_program filter;
    struct error e;
    bool seccomp = seccomp_timed_child(TEMPLATE_GO_FD, &filter, &e);
    if (seccomp)
        seccomp_program_free(&filter);
    char *folder = machine_folder(&e);
    counters_probe(counters, sizeof counters);
    machine_measure(&b->machine);
    cJSON *o = cJSON_CreateObject(), *lacks = cJSON_AddArrayToObject(o, "lacks");
    cJSON_AddStringToObject(o, "program", "warploop-bench");
    cJSON_AddStringToObject(o, "cpu", b->machine.cpu);
    cJSON_AddStringToObject(o, "flags", b->machine.flags);
    cJSON_AddNumberToObject(o, "cores", b->machine.ncores);
    cJSON_AddNumberToObject(o, "core", b->machine.core);
    cJSON_AddNumberToObject(o, "peak_gflops", b->machine.peak_gflops);
    cJSON_AddStringToObject(o, "peak_how", b->machine.peak_how);
    cJSON_AddStringToObject(o, "priority", b->machine.priority);
    cJSON_AddStringToObject(o, "isolation", b->nursery.isolation);
    cJSON_AddBoolToObject(o, "seccomp", seccomp);
    cJSON_AddStringToObject(o, "counters", counters);
    cJSON_AddStringToObject(o, "lock_folder", folder ? folder : "");
    if (trouble)
        cJSON_AddItemToArray(lacks, cJSON_CreateString(trouble));
    if (!folder)
        cJSON_AddItemToArray(lacks, cJSON_CreateString(e.msg));
    if (!seccomp)
        cJSON_AddItemToArray(lacks, cJSON_CreateString("system call filters (seccomp)"));
    if (!strstr(b->nursery.isolation, "net"))
        cJSON_AddItemToArray(
            lacks, cJSON_CreateString("network and PID namespaces (candidates are kept from the "
                                      "network by seccomp alone)"));
    if (b->machine.ncores < 2)
        cJSON_AddItemToArray(lacks, cJSON_CreateString("a second core: builds disturb timings"));
    char *text = json_text(o);
    puts(text);
    free(text);
    free(folder);
    cJSON_Delete(o);
    return 0;
}

static int usage(void)
{
    fputs("usage: warploop-bench [--probe | --once FILE | --null N FILE]\n"
          "       without arguments: serves requests on descriptor 3\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct bench b = {.measured = false};
    struct error e;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_TIMERSLACK, 1000UL); /* short naps while a child gets ready */
    machine_probe(&b.machine);
    /* Before any request is read: what the nursery inherits holds nothing worth stealing. */
    bool ok = nursery_start(&b.nursery, &e);
    int rc;
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) {
        rc = probe(&b, ok ? NULL : e.msg);
    } else if (!ok) {
        fprintf(stderr, "warploop-bench: %s\n", e.msg);
        return 1;
    } else if (argc == 3 && strcmp(argv[1], "--once") == 0) {
        rc = once(&b, argv[2]);
    } else if (argc == 4 && strcmp(argv[1], "--null") == 0 && strtol(argv[2], NULL, 10) > 0) {
        rc = null_tries(&b, strtol(argv[2], NULL, 10), argv[3]);
    } else if (argc == 1 && fcntl(3, F_GETFD) >= 0) {
        fcntl(3, F_SETFD, FD_CLOEXEC);
        rc = serve(&b, 3);
    } else {
        rc = usage();
    }
    nursery_stop(&b.nursery);
    return rc;
}
