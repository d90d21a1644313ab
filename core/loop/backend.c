#include "core/loop/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/proc.h"

#define GRACE_NS        5000000000
#define TIMEOUT_MS      60000
#define OUTPUT_KEEP     ((size_t)4096) /* of the first and of the last bytes printed */
#define MESSAGES_A_LOOK 64             /* a child that floods us must not hold the engine */

struct worker {
    enum worker_kind kind;
    struct proc proc; /* pid 0: not running */
    struct wire_reader reader;
    struct buf out; /* of the request: what is still to be sent */
    size_t sent;
    struct buf printed;
    int64_t id; /* of the request, 0: free */
    int64_t began, deadline;
};

struct backend {
    struct worker *workers; /* the builders, then the bench */
    size_t n;
    char **env;
};

extern char **environ;

/* Children get a clean environment; settings that are meant for them begin with WARPLOOP_. */
static char **settings(void)
{
    char **env = NULL;
    size_t n = 0, cap = 0;
    for (char **v = environ; v && *v; v++) {
        if (strncmp(*v, "WARPLOOP_", 9) != 0)
            continue;
        VEC_ROOM(env, n, cap);
        env[n++] = xstrdup(*v);
    }
    VEC_ROOM(env, n, cap);
    env[n] = NULL;
    return env;
}

char *backend_program(const char *name)
{
    const char *dir = getenv("WARPLOOP_BACKEND_DIR");
    if (dir && *dir)
        return fs_join(dir, name);
    char *own = fs_program_dir(), *path = fs_join(own, name);
    free(own);
    return path;
}

struct backend *backend_new(int builders)
{
    struct backend *b = xcalloc(1, sizeof *b);
    b->n = (size_t)(builders > 0 ? builders : 1) + 1;
    b->workers = xcalloc(b->n, sizeof *b->workers);
    for (size_t i = 0; i < b->n; i++)
        b->workers[i] = (struct worker){.kind = i + 1 < b->n ? WORKER_BUILD : WORKER_BENCH,
                                        .proc = {.pidfd = -1, .wire = -1, .output = -1}};
    b->env = settings();
    return b;
}

/* End the child and forget its request. */
static int end_worker(struct worker *w)
{
    int status = w->proc.pid ? proc_kill(&w->proc) : 0;
    wire_reader_free(&w->reader);
    w->reader = (struct wire_reader){.fd = -1};
    buf_free(&w->out);
    buf_free(&w->printed);
    w->sent = 0;
    w->id = 0;
    return status;
}

void backend_free(struct backend *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n; i++)
        end_worker(&b->workers[i]);
    for (size_t i = 0; b->env[i]; i++)
        free(b->env[i]);
    free(b->env);
    free(b->workers);
    free(b);
}

/* The whole message as bytes: it is sent piece by piece from the poll loop, since a child that does
 * not read must not hold the engine. */
static bool pack(struct wire_msg *m, struct buf *out, struct error *e)
{
    cJSON_DeleteItemFromObjectCaseSensitive(m->head, "parts");
    cJSON *list = cJSON_AddArrayToObject(m->head, "parts");
    for (size_t i = 0; i < m->nparts; i++) {
        cJSON *p = cJSON_CreateObject();
        cJSON_AddStringToObject(p, "name", m->parts[i].name);
        json_put_i64(p, "size", (int64_t)m->parts[i].bytes.len);
        cJSON_AddItemToArray(list, p);
    }
    char *line = json_text(m->head);
    size_t n = strlen(line);
    bool ok = n < WIRE_LINE_MAX ||
              error_set(e, ERR_INPUT, "a request of %zu bytes is over the wire's limit of %u", n,
                        WIRE_LINE_MAX);
    if (ok) {
        buf_add(out, line, n);
        buf_addc(out, '\n');
        for (size_t i = 0; i < m->nparts; i++)
            buf_add(out, m->parts[i].bytes.s, m->parts[i].bytes.len);
    }
    free(line);
    return ok;
}

/* Send what the child takes now. A broken pipe is noticed when its end is read. */
static void send_some(struct worker *w)
{
    while (w->sent < w->out.len) {
        ssize_t n = send(w->proc.wire, w->out.s + w->sent, w->out.len - w->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        w->sent += (size_t)n;
    }
    buf_clear(&w->out);
    w->sent = 0;
}

static bool launch(struct backend *b, struct worker *w, struct error *e)
{
    char *path = backend_program(w->kind == WORKER_BUILD ? "warploop-build" : "warploop-bench");
    char *argv[] = {path, NULL};
    bool ok = proc_start(&w->proc, argv, b->env, e);
    free(path);
    if (ok)
        w->reader = (struct wire_reader){.fd = w->proc.wire};
    return ok;
}

/* A child that ended while it was idle (killed by someone, say) is only noticed here. */
static bool still_there(const struct worker *w)
{
    struct pollfd p = {.fd = w->proc.pidfd >= 0 ? w->proc.pidfd : w->proc.wire, .events = POLLIN};
    return w->proc.pid && poll(&p, 1, 0) == 0;
}

static struct worker *free_worker(struct backend *b, enum worker_kind kind)
{
    struct worker *found = NULL;
    for (size_t i = 0; i < b->n; i++) {
        struct worker *w = &b->workers[i];
        if (w->kind != kind || w->id)
            continue;
        if (still_there(w))
            return w;
        if (!found)
            found = w;
    }
    return found;
}

bool backend_start_bytes(struct backend *b, enum worker_kind kind, int64_t id, struct buf *bytes,
                         int64_t timeout_ms, struct error *e)
{
    struct worker *w = free_worker(b, kind);
    if (!w) {
        buf_free(bytes);
        return error_set(e, ERR_BUSY, "no worker is free");
    }
    if (!still_there(w)) {
        end_worker(w);
        if (!launch(b, w, e)) {
            buf_free(bytes);
            return false;
        }
    }
    buf_free(&w->out);
    buf_clear(&w->printed);
    w->out = *bytes;
    *bytes = (struct buf){0};
    w->sent = 0;
    w->id = id;
    w->began = clock_mono_ns();
    w->deadline = w->began + timeout_ms * 1000000 + GRACE_NS;
    send_some(w);
    return true;
}

bool backend_start(struct backend *b, enum worker_kind kind, int64_t id, struct wire_msg *m,
                   struct error *e)
{
    struct buf bytes = {0};
    int64_t ms = json_i64(m->head, "timeout_ms", TIMEOUT_MS);
    bool ok = pack(m, &bytes, e);
    wire_msg_free(m);
    if (ok)
        return backend_start_bytes(b, kind, id, &bytes, ms, e);
    buf_free(&bytes);
    return false;
}

bool backend_cancel(struct backend *b, int64_t id)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->workers[i].id == id && id) {
            end_worker(&b->workers[i]);
            return true;
        }
    }
    return false;
}

size_t backend_fds(const struct backend *b, struct pollfd *fds, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct worker *w = &b->workers[i];
        if (!w->proc.pid)
            continue;
        short wire = (short)(POLLIN | (w->out.len ? POLLOUT : 0));
        const struct pollfd own[] = {{.fd = w->proc.wire, .events = wire},
                                     {.fd = w->proc.output, .events = POLLIN},
                                     {.fd = w->proc.pidfd, .events = POLLIN}};
        for (size_t k = 0; k < ARRAY_LEN(own); k++)
            if (own[k].fd >= 0 && n < max)
                fds[n++] = own[k];
    }
    return n;
}

int64_t backend_deadline(const struct backend *b)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < b->n; i++)
        if (b->workers[i].id && b->workers[i].deadline < first)
            first = b->workers[i].deadline;
    return first;
}

/* The request ends without a reply: the child goes, the reason and what it printed are told. */
static void fail(struct worker *w, enum backend_news news, const char *what, backend_fn *fn,
                 void *ctx)
{
    char how[96];
    struct buf why = {0};
    const char *name = w->kind == WORKER_BUILD ? "warploop-build" : "warploop-bench";
    struct backend_event ev = {.id = w->id, .news = news, .ns = clock_mono_ns() - w->began};
    proc_drain(&w->proc, &w->printed, OUTPUT_KEEP);
    struct buf printed = w->printed;
    w->printed = (struct buf){0};
    int64_t id = w->id;
    int status = end_worker(w);
    proc_describe(status, how, sizeof how);
    buf_addf(&why, "%s %s", name, what ? what : "ended: ");
    if (!what)
        buf_adds(&why, how);
    if (printed.len) {
        buf_adds(&why, "\nit printed:\n");
        buf_add(&why, printed.s, printed.len);
    }
    ev.why = buf_str(&why);
    if (id)
        fn(ctx, &ev);
    buf_free(&printed);
    buf_free(&why);
}

/* True: the conversation goes on. */
static bool take_message(struct worker *w, struct wire_msg *m, backend_fn *fn, void *ctx)
{
    const char *type = json_str(m->head, "type", "");
    bool progress = strcmp(type, "progress") == 0;
    const char *last = w->kind == WORKER_BUILD ? "built" : "result";
    if (!w->id || (!progress && strcmp(type, last) != 0) || json_i64(m->head, "id", -1) != w->id) {
        fail(w, BACKEND_FAILED, "answered what was not asked", fn, ctx);
        return false;
    }
    if (!progress && w->out.len) {
        fail(w, BACKEND_FAILED, "answered before it had read the request", fn, ctx);
        return false;
    }
    struct backend_event ev = {.id = w->id,
                               .news = progress ? BACKEND_PROGRESS : BACKEND_RESULT,
                               .msg = m,
                               .why = "",
                               .ns = clock_mono_ns() - w->began};
    if (!progress)
        w->id = 0; /* before the call: fn may give it the next request */
    fn(ctx, &ev);
    return progress;
}

/* A child that closed its output would keep poll from sleeping. */
static void drain(struct worker *w)
{
    struct pollfd p = {.fd = w->proc.output, .events = POLLIN};
    proc_drain(&w->proc, &w->printed, OUTPUT_KEEP);
    if (p.fd >= 0 && poll(&p, 1, 0) > 0 && !(p.revents & POLLIN)) {
        close(w->proc.output);
        w->proc.output = -1;
    }
}

static void collect_worker(struct worker *w, backend_fn *fn, void *ctx)
{
    struct pollfd end = {.fd = w->proc.pidfd, .events = POLLIN};
    /* Looked at before the wire is read: the last words of a child that ended are all there then.
     */
    bool ended = w->proc.pidfd >= 0 && poll(&end, 1, 0) > 0;
    drain(w);
    if (w->out.len)
        send_some(w);
    for (int i = 0; i < MESSAGES_A_LOOK && w->proc.pid; i++) {
        struct wire_msg m = {0};
        struct error e = {0};
        enum wire_status s = wire_read(&w->reader, false, &m, &e);
        if (s == WIRE_MORE)
            break;
        if (s != WIRE_MSG) {
            char *what = s == WIRE_ERROR ? xasprintf("broke its protocol: %s", e.msg) : NULL;
            fail(w, BACKEND_FAILED, what, fn, ctx);
            free(what);
            return;
        }
        bool on = take_message(w, &m, fn, ctx);
        wire_msg_free(&m);
        if (!on)
            return;
    }
    if (ended)
        fail(w, BACKEND_FAILED, NULL, fn, ctx);
    else if (w->id && clock_mono_ns() >= w->deadline)
        fail(w, BACKEND_TIMEOUT, "passed its deadline and was killed", fn, ctx);
}

void backend_collect(struct backend *b, backend_fn *fn, void *ctx)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->workers[i].proc.pid)
            collect_worker(&b->workers[i], fn, ctx);
}

bool backend_wait(struct backend *b, int stop_fd, backend_fn *fn, void *ctx)
{
    size_t max = BACKEND_FDS(b->n - 1);
    struct pollfd *fds = xcalloc(max + 1, sizeof *fds);
    fds[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
    size_t n = backend_fds(b, fds + 1, max);
    int64_t left = backend_deadline(b);
    if (left != INT64_MAX)
        left -= clock_mono_ns();
    poll(fds, (nfds_t)n + 1, left < 0 ? 0 : left > 1000000000 ? 1000 : (int)(left / 1000000) + 1);
    bool stop = fds[0].revents != 0;
    free(fds);
    if (!stop)
        backend_collect(b, fn, ctx);
    return !stop;
}
