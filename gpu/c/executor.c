#include "gpu/c/executor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "gpu/c/channel.h"

/* Address space of a child beside its buffers: our program, libraries, the object (at most 256 MiB,
 * elfcheck.h), and for the reference what it allocates. */
#define CHILD_MEMORY     ((uint64_t)768 << 20)
#define REFERENCE_MEMORY ((uint64_t)4 << 30)
/* A template or child that does not answer in this time is broken (or the machine is). */
#define ANSWER_NS        ((int64_t)20000000000)

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool executor_hung_up(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static bool cancelled(struct error *e)
{
    return error_set(e, ERR_CANCELLED, "cancelled: the other side went away");
}

/* ---------------------------------------------------------------- nursery */

/* Keep the three standard descriptors and one more. */
static void keep_only(int fd)
{
    if (fd > 3)
        syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0u);
    syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u);
}

bool nursery_start(struct nursery *n, struct error *e)
{
    int end[2];
    struct nursery_hello hello;
    *n = (struct nursery){.channel = -1};
    if (!channel_new(end, e))
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (end[1] < 3)
            _exit(1);
        keep_only(end[1]);
        nursery_main(end[1]);
    }
    close(end[1]);
    if (pid < 0) {
        close(end[0]);
        return error_sys(e, "cannot fork the nursery");
    }
    n->pid = pid;
    n->channel = end[0];
    if (channel_receive(n->channel, &hello, sizeof hello, NULL, NULL, NULL) != sizeof hello) {
        nursery_stop(n);
        return error_set(e, ERR_SYSTEM, "the nursery ended at once");
    }
    memcpy(n->isolation, hello.isolation, sizeof n->isolation);
    return true;
}

void nursery_stop(struct nursery *n)
{
    close_fd(&n->channel);
    if (n->pid <= 0)
        return;
    kill(n->pid, SIGKILL);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    n->pid = 0;
}

/* ---------------------------------------------------------------- template */

int executor_object(const void *bytes, size_t n, struct error *e)
{
    int fd = memfd_create("object", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const char *p = bytes;
    size_t left = n;
    while (fd >= 0 && left) {
        ssize_t w = write(fd, p, left);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            close_fd(&fd);
            break;
        }
        p += w;
        left -= (size_t)w;
    }
    if (fd >= 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        close_fd(&fd);
    if (fd < 0)
        error_sys(e, "cannot keep the object in memory");
    return fd;
}

/* Wait for a message of the template (or its child). */
static bool await(struct executor *x, enum template_answer kind, struct template_reply *r,
                  pid_t *sender, struct error *e)
{
    int64_t deadline = clock_mono_ns() + ANSWER_NS;
    for (;;) {
        struct pollfd p[2] = {{.fd = x->channel, .events = POLLIN},
                              {.fd = x->how.cancel_fd, .events = POLLRDHUP}};
        int64_t left = deadline - clock_mono_ns();
        int n = left <= 0 ? 0 : poll(p, 2, (int)(left / 1000000) + 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(e, ERR_SYSTEM, "the executor does not answer");
        if (p[1].revents)
            return cancelled(e);
        if (channel_receive(x->channel, r, sizeof *r, NULL, NULL, sender) != sizeof *r)
            return error_set(e, ERR_SYSTEM, "the executor ended (out of memory?)");
        r->text[sizeof r->text - 1] = '\0';
        if (r->kind == TEMPLATE_FAILED)
            return error_set(e, ERR_INPUT, "%s", r->text);
        if (r->kind != kind)
            return error_set(e, ERR_SYSTEM, "the executor answers out of order");
        return true;
    }
}

static bool make_gate(struct executor *x)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    x->gate_fd = memfd_create("gate", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (x->gate_fd < 0 || ftruncate(x->gate_fd, (off_t)page) != 0 ||
        fcntl(x->gate_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return false;
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, x->gate_fd, 0);
    if (p == MAP_FAILED)
        return false;
    x->gate = p;
    x->go_fd = eventfd(0, EFD_CLOEXEC);
    return x->go_fd >= 0;
}

bool executor_start(struct executor *x, const struct executor_options *how, int object,
                    struct error *e)
{
    int end[2];
    *x = (struct executor){.how = *how, .channel = -1, .gate_fd = -1, .go_fd = -1};
    if (!make_gate(x)) {
        error_sys(e, "cannot make the gate page");
        executor_stop(x);
        return false;
    }
    if (!channel_new(end, e)) {
        executor_stop(x);
        return false;
    }
    struct nursery_spawn spawn = {.core = how->core,
                                  .allocates = how->allocates,
                                  .unconfined = how->unconfined,
                                  .memory = how->allocates ? REFERENCE_MEMORY : CHILD_MEMORY};
    int fds[4] = {end[1], object, x->gate_fd, x->go_fd};
    bool sent = channel_send(how->nursery->channel, &spawn, sizeof spawn, fds, 4);
    close(end[1]);
    x->channel = end[0];
    struct template_reply r;
    bool ok =
        (sent || error_sys(e, "the nursery is gone")) && await(x, TEMPLATE_READY, &r, NULL, e);
    if (!ok) {
        executor_stop(x);
        return false;
    }
    memcpy(x->jail, r.text, sizeof x->jail);
    return true;
}

void executor_stop(struct executor *x)
{
    close_fd(&x->channel); /* the template ends at end of file, its namespace with it */
    close_fd(&x->gate_fd);
    close_fd(&x->go_fd);
    if (x->gate)
        munmap(x->gate, (size_t)sysconf(_SC_PAGESIZE));
    x->gate = NULL;
}

bool executor_map(struct executor *x, const struct ev_request *r, const struct ev_shape *s,
                  const struct arena *inputs, const struct arena *outputs, struct error *e)
{
    struct template_request q;
    struct template_reply answer;
    memset(&q, 0, sizeof q);
    q.op = TEMPLATE_MAP;
    q.nslots = (uint32_t)r->nbuffers;
    memcpy(q.dims, s->dims, sizeof q.dims);
    for (size_t i = 0; i < r->nbuffers; i++) {
        bool writable = r->buffer[i].kind != EV_INPUT;
        const struct arena_slot *a = writable ? &outputs->slot[i] : &inputs->slot[i];
        q.slot[i] = (struct template_slot){
            .seg = a->seg, .seg_size = a->seg_size, .data = a->data, .writable = writable};
        x->span[i] = a->seg_size;
    }
    int fds[2] = {inputs->fd, outputs->fd};
    if (!channel_send(x->channel, &q, sizeof q, fds, 2))
        return error_sys(e, "the executor is gone");
    if (!await(x, TEMPLATE_MAPPED, &answer, NULL, e))
        return false;
    x->nbuffers = r->nbuffers;
    memcpy(x->address, answer.address, sizeof x->address);
    return true;
}

/* ---------------------------------------------------------------- one call */

/* CPU time of a process that was not waited for yet, -1 if it cannot be had. */
static int64_t cpu_ns(pid_t pid)
{
    clockid_t id;
    struct timespec t;
    if (pid <= 0 || clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) != 0)
        return -1;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Readable: for a pidfd, the process is gone. */
static bool gone(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Until the child said it is ready, or has died before it could. It blocks on go_fd then. */
static bool await_ready(struct executor *x, int pidfd, bool *dead, struct error *e)
{
    int64_t begin = clock_mono_ns();
    *dead = false;
    for (unsigned turn = 0; !atomic_load(&x->gate->ready); turn++) {
        if (gone(pidfd)) {
            *dead = true;
            return true;
        }
        if (turn % 16 == 15 && executor_hung_up(x->how.cancel_fd))
            return cancelled(e);
        if (clock_mono_ns() - begin > ANSWER_NS)
            return error_set(e, ERR_SYSTEM, "the child of a call does not get ready");
        clock_sleep_ns(20000);
    }
    return true;
}

/* Wait until the child is gone, the deadline has passed (*late) or the other side hung up. */
static bool await_end(struct executor *x, int pidfd, int64_t deadline, bool *late, struct error *e)
{
    for (;;) {
        struct pollfd p[2] = {{.fd = pidfd, .events = POLLIN},
                              {.fd = x->how.cancel_fd, .events = POLLRDHUP}};
        int64_t now = clock_mono_ns(), left = deadline > now ? deadline - now : 0;
        struct timespec t = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int n = ppoll(p, 2, &t, NULL);
        if (n > 0 && p[0].revents)
            return true;
        if (n > 0)
            return cancelled(e);
        if (clock_mono_ns() >= deadline) {
            *late = true;
            return true;
        }
    }
}

static void kill_child(int pidfd)
{
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* From go to the end of the child. */
static bool run_window(struct executor *x, struct call *c, int pidfd, pid_t pid, bool *late,
                       struct error *e)
{
    const uint64_t one = 1;
    int64_t before = cpu_ns(pid);
    int64_t start = clock_mono_ns();
    bool ok = write(x->go_fd, &one, sizeof one) == (ssize_t)sizeof one ||
              error_sys(e, "cannot tell the child of a call to go");
    ok = ok && await_end(x, pidfd, start + c->deadline_ns, late, e);
    int64_t end = clock_mono_ns();
    if (!ok || *late) {
        kill_child(pidfd);
        struct pollfd p = {.fd = pidfd, .events = POLLIN};
        poll(&p, 1, 5000);
    }
    int64_t after = cpu_ns(pid);
    c->window_ns = end - start;
    c->cpu_ns = before >= 0 && after >= before ? after - before : -1;
    return ok;
}

static void take_usage(const struct template_reply *r, struct call *c)
{
    c->user_ns = r->user_ns;
    c->system_ns = r->system_ns;
    c->minor_faults = r->minor_faults;
    c->major_faults = r->major_faults;
    c->switches = r->switches;
    c->preemptions = r->preemptions;
    c->max_rss_kib = r->max_rss_kib;
}

static void take_end(struct executor *x, const struct template_reply *r, bool late, struct call *c)
{
    c->signal = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
    c->status = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : 0;
    c->fault_address = 0;
    if (late)
        c->end = CALL_TIMEOUT;
    else if (c->signal)
        c->end = CALL_KILLED;
    else
        c->end = c->status ? CALL_EXITED : CALL_RETURNED;
    if (c->end == CALL_KILLED && (int)x->gate->signal == c->signal)
        c->fault_address = x->gate->fault_address;
}

/* The child exists and said hello: everything up to its burial. */
static bool supervise(struct executor *x, struct call *c, pid_t pid, struct error *e)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return error_sys(e, "cannot watch the child of a call (pidfd_open)");
    fcntl(pidfd, F_SETFD, FD_CLOEXEC);
    bool dead = false, late = false, ok = await_ready(x, pidfd, &dead, e);
    if (ok && !dead) {
        if (c->before)
            c->before(c->ctx, pid);
        ok = run_window(x, c, pidfd, pid, &late, e);
        if (ok && c->after)
            c->after(c->ctx, pid);
    } else {
        kill_child(pidfd);
    }
    close(pidfd);
    if (!ok)
        return false;
    struct template_request q = {.op = TEMPLATE_REAP};
    struct template_reply r = {.kind = 0};
    if (!channel_send(x->channel, &q, sizeof q, NULL, 0))
        return error_sys(e, "the executor is gone");
    if (!await(x, TEMPLATE_DONE, &r, NULL, e))
        return false;
    take_usage(&r, c);
    take_end(x, &r, late, c);
    if (dead)
        return error_set(e, ERR_SYSTEM, "the child of a call ended before it was ready (%s %d)",
                         c->signal ? "signal" : "status", c->signal ? c->signal : c->status);
    return true;
}

bool executor_call(struct executor *x, struct call *c, struct error *e)
{
    struct template_request q = {.op = c->empty ? TEMPLATE_EMPTY : TEMPLATE_CALL};
    struct template_reply r;
    pid_t pid = 0;
    q.cpu_s = (uint32_t)(c->deadline_ns / 1000000000) + 3;
    atomic_store(&x->gate->ready, 0);
    x->gate->signal = 0;
    uint64_t stale;
    if (gone(x->go_fd) && read(x->go_fd, &stale, sizeof stale) < 0)
        return error_sys(e, "cannot clear the go of the call before");
    if (!channel_send(x->channel, &q, sizeof q, NULL, 0))
        return error_sys(e, "the executor is gone");
    if (!await(x, TEMPLATE_CHILD, &r, &pid, e))
        return false;
    if (pid <= 0)
        return error_set(e, ERR_SYSTEM, "the child of a call has no process id here");
    return supervise(x, c, pid, e);
}

void executor_describe_fault(const struct executor *x, const struct ev_request *r, uint64_t address,
                             char *out, size_t size)
{
    for (size_t i = 0; i < x->nbuffers; i++) {
        uint64_t from = x->address[i], to = from + x->span[i];
        const char *name = r->buffer[i].name;
        if (address >= to && address < to + ARENA_GUARD / 2)
            snprintf(out, size, "just after the end of %s", name);
        else if (address < from && address + ARENA_GUARD / 2 >= from)
            snprintf(out, size, "just before the start of %s", name);
        else if (address >= from && address < to && r->buffer[i].kind == EV_INPUT)
            snprintf(out, size, "a write to input %s, which is read-only", name);
        else
            continue;
        return;
    }
    snprintf(out, size, "at address 0x%llx, in no buffer", (unsigned long long)address);
}
