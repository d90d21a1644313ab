#include "gpu/c/template.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/c/arena.h"
#include "gpu/c/channel.h"
#include "gpu/c/confine.h"
#include "gpu/c/machine.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

#define STACK_BYTES    ((size_t)8 << 20) /* of every child, whatever the machine's default is */
#define STACK_TOUCHED  ((size_t)256 << 10)
#define OBJECT_RANGES  16
#define SIGNAL_STACK   ((size_t)64 << 10)
#define PREFAULT_LIMIT ((size_t)64 << 20)

typedef void call_fn(const int *dims, void *const *buffers);

/* Pages of the object, touched before go. */
struct object_range {
    unsigned char *at;
    size_t bytes;
    bool writable;
};

struct template
{
    int channel, go;
    struct gate *gate;
    struct nursery_spawn how;
    const struct confine *confine;
    call_fn *call;
    struct object_range range[OBJECT_RANGES];
    size_t nranges;
    /* the buffers of the shape now mapped */
    unsigned char *reservation;
    size_t reserved;
    size_t nslots;
    struct template_slot slot[EV_BUFFERS];
    unsigned char *at[EV_BUFFERS]; /* pages of each buffer */
    int dims[EV_DIMS];
    unsigned char *signal_stack;
};

/* ---------------------------------------------------------------- the child of one call */

/* For the signal handler only. */
static struct gate *fault_gate;

/* Note where a fault was; the handler was reset, so returning repeats it and ends the process. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)context;
    fault_gate->signal = (uint32_t)sig;
    fault_gate->fault_address = (uint64_t)(uintptr_t)info->si_addr;
}

static void catch_faults(struct template *t)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    stack_t stack = {.ss_sp = t->signal_stack, .ss_size = SIGNAL_STACK};
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK | SA_NODEFER;
    fault_gate = t->gate;
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &a, NULL);
}

static void limit(int what, rlim_t n)
{
    struct rlimit r = {n, n};
    setrlimit((__rlimit_resource_t)what, &r);
}

static void set_limits(const struct template *t, unsigned cpu_s)
{
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_MEMLOCK, 0);
    limit(RLIMIT_NPROC, 0);
    limit(RLIMIT_NOFILE, 0);
    limit(RLIMIT_CPU, cpu_s);
    (void)t; /* sanitizers reserve terabytes of addresses: under them there is no such limit */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    limit(RLIMIT_AS, (rlim_t)(t->reserved + t->how.memory));
#endif
}

static bool ask_pages(unsigned char *p, size_t n, bool write)
{
    return n == 0 || madvise(p, n, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

/* Give [p, p+n) page table entries; on kernels before 5.14 by touching. */
static void populate(unsigned char *p, size_t n, bool write)
{
    if (ask_pages(p, n, write))
        return;
    for (size_t i = 0; i < n; i += 4096) {
        volatile unsigned char *q = p + i;
        unsigned char v = *q;
        if (write)
            *q = v;
    }
}

/* Read every line of a buffer: each call finds its inputs in the caches as far as they fit,
 * whatever the call before it did to them. */
static void warm(const unsigned char *p, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i += 64)
        sum += *(const volatile unsigned char *)(p + i);
    (void)sum;
}

/* The first touch makes the stack grow, then its pages come in one go. */
static __attribute__((noinline)) void touch_stack(void)
{
    unsigned char pages[STACK_TOUCHED];
    *(volatile unsigned char *)pages = 0;
    uintptr_t skew = (uintptr_t)pages % 4096;
    populate(pages + (4096 - skew), STACK_TOUCHED - 8192, true);
}

/* What is used by the call itself is not left to faults within the window. */
static void prefault(struct template *t)
{
    for (size_t i = 0; i < t->nranges; i++)
        ask_pages(t->range[i].at, t->range[i].bytes, t->range[i].writable);
    for (size_t i = 0; i < t->nslots; i++)
        populate(t->at[i], t->slot[i].seg_size, t->slot[i].writable != 0);
    for (size_t i = 0; i < t->nslots; i++)
        if (!t->slot[i].writable)
            warm(t->at[i], t->slot[i].seg_size);
    touch_stack();
}

/* The empty call: the same path around it, nothing in it. */
static void call_nothing(const int *dims, void *const *buffers)
{
    (void)dims;
    (void)buffers;
}

/* Close every descriptor but the one that says go. */
static bool keep_go(int go)
{
    if (go != TEMPLATE_GO_FD && dup2(go, TEMPLATE_GO_FD) < 0)
        return false;
    close(0);
    close(1);
    close(2);
    if (syscall(SYS_close_range, TEMPLATE_GO_FD + 1u, ~0u, 0u) != 0)
        for (int fd = TEMPLATE_GO_FD + 1; fd < 1024; fd++)
            close(fd);
    return true;
}

static _Noreturn void child_main(struct template *t, bool empty, unsigned cpu_s)
{
    void *buffer[EV_BUFFERS];
    int dims[EV_DIMS];
    struct template_reply hello = {.kind = TEMPLATE_CHILD};
    call_fn *volatile call = empty ? call_nothing : t->call;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < t->nslots; i++)
        buffer[i] = t->at[i] + t->slot[i].data;
    memcpy(dims, t->dims, sizeof dims);
    catch_faults(t);
    if (!channel_send(t->channel, &hello, sizeof hello, NULL, 0))
        _exit(120);
    if (!keep_go(t->go))
        _exit(120);
    /* Below its template: a call that loops can keep neither it nor the supervisor from the core.
     */
    machine_urge_less();
    prefault(t);
    set_limits(t, cpu_s);
    if (!confine_child(t->confine, t->how.allocates != 0, t->how.unconfined != 0))
        _exit(121);
    atomic_store(&t->gate->ready, 1);
    uint64_t go;
    if (read(TEMPLATE_GO_FD, &go, sizeof go) == (ssize_t)sizeof go)
        call(dims, buffer);
    for (;;)
        syscall(SYS_exit_group, 0);
}

/* ---------------------------------------------------------------- the template */

static bool reply(struct template *t, const struct template_reply *r)
{
    return channel_send(t->channel, r, sizeof *r, NULL, 0);
}

static void fail(struct template *t, const char *what)
{
    struct template_reply r = {.kind = TEMPLATE_FAILED};
    snprintf(r.text, sizeof r.text, "%s", what);
    reply(t, &r);
}

static void add_range(struct template *t, const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (info->dlpi_addr + p->p_vaddr) / page * page,
              to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + page - 1) / page * page;
    /* What the loader made read-only after relocation cannot be asked for writing. */
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *q = &info->dlpi_phdr[i];
        uintptr_t relro = (info->dlpi_addr + q->p_vaddr + q->p_memsz) / page * page;
        if (q->p_type == PT_GNU_RELRO && (p->p_flags & PF_W) && relro > from && relro <= to)
            from = relro;
    }
    if (to == from)
        return;
    if (t->nranges == OBJECT_RANGES || to - from > PREFAULT_LIMIT)
        return;
    struct object_range *r = &t->range[t->nranges++];
    /* PT_LOAD addresses come as integers. */
    memcpy(&r->at, &from, sizeof r->at);
    r->bytes = to - from;
    r->writable = (p->p_flags & PF_W) != 0;
}

static int each_library(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct template *t = arg;
    (void)size;
    if (!strstr(info->dlpi_name, "/proc/self/fd/"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            add_range(t, info, &info->dlpi_phdr[i]);
    return 0;
}

static bool load_object(struct template *t, int object)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", object);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        const char *why = dlerror();
        fail(t, why ? why : "the object cannot be loaded");
        return false;
    }
    void *symbol = dlsym(lib, "warploop_call");
    if (!symbol) {
        fail(t, "the object does not define warploop_call");
        return false;
    }
    memcpy(&t->call, &symbol, sizeof t->call);
    dl_iterate_phdr(each_library, t);
    return true;
}

/* Unmapped addresses with each buffer's pages inside, guards between. */
static bool map_buffers(struct template *t, const struct template_request *q, const int fd[2])
{
    if (t->reservation)
        munmap(t->reservation, t->reserved);
    t->reservation = NULL;
    t->nslots = q->nslots;
    t->reserved = ARENA_GUARD;
    for (size_t i = 0; i < t->nslots; i++)
        t->reserved += q->slot[i].seg_size + ARENA_GUARD + ARENA_LARGE;
    void *p =
        mmap(NULL, t->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    t->reservation = p;
    memcpy(t->slot, q->slot, sizeof t->slot);
    unsigned char *at = t->reservation + ARENA_GUARD;
    for (size_t i = 0; i < t->nslots; i++) {
        const struct template_slot *s = &q->slot[i];
        int prot = s->writable ? PROT_READ | PROT_WRITE : PROT_READ;
        at += (size_t)(s->seg - (uintptr_t)at) % ARENA_LARGE; /* so that large pages stay large */
        t->at[i] = at;
        if (s->seg_size && mmap(at, s->seg_size, prot, MAP_SHARED | MAP_FIXED,
                                fd[s->writable ? 1 : 0], (off_t)s->seg) == MAP_FAILED)
            return false;
        at += s->seg_size + ARENA_GUARD;
    }
    for (size_t i = 0; i < EV_DIMS; i++)
        t->dims[i] = q->dims[i];
    return true;
}

static void do_map(struct template *t, const struct template_request *q, const int *fds,
                   size_t nfds)
{
    struct template_reply r = {.kind = TEMPLATE_MAPPED};
    if (q->nslots > EV_BUFFERS || nfds != 2 || !map_buffers(t, q, fds)) {
        fail(t, "cannot map the buffers");
        return;
    }
    for (size_t i = 0; i < t->nslots; i++)
        r.address[i] = (uint64_t)(uintptr_t)t->at[i];
    reply(t, &r);
}

static pid_t do_call(struct template *t, const struct template_request *q)
{
    pid_t pid = fork();
    if (pid == 0)
        child_main(t, q->op == TEMPLATE_EMPTY, q->cpu_s);
    if (pid < 0)
        fail(t, "cannot fork a child for a call");
    return pid;
}

static int64_t ns_of(struct timeval v)
{
    return (int64_t)v.tv_sec * 1000000000 + (int64_t)v.tv_usec * 1000;
}

static void do_reap(struct template *t, pid_t pid)
{
    struct rusage u;
    int status = 0;
    while (wait4(pid, &status, 0, &u) < 0) {
        if (errno == EINTR)
            continue;
        fail(t, "cannot wait for the child of a call");
        return;
    }
    struct template_reply r = {.kind = TEMPLATE_DONE,
                               .status = status,
                               .user_ns = ns_of(u.ru_utime),
                               .system_ns = ns_of(u.ru_stime),
                               .minor_faults = u.ru_minflt,
                               .major_faults = u.ru_majflt,
                               .switches = u.ru_nvcsw,
                               .preemptions = u.ru_nivcsw,
                               .max_rss_kib = u.ru_maxrss};
    reply(t, &r);
}

static _Noreturn void serve(struct template *t)
{
    pid_t child = -1;
    for (;;) {
        struct template_request q;
        int fds[CHANNEL_FDS];
        size_t nfds = CHANNEL_FDS;
        ssize_t n = channel_receive(t->channel, &q, sizeof q, fds, &nfds, NULL);
        if (n != (ssize_t)sizeof q)
            _exit(0); /* the supervisor is done with us */
        if (q.op == TEMPLATE_MAP)
            do_map(t, &q, fds, nfds);
        else if (q.op == TEMPLATE_REAP)
            do_reap(t, child);
        else
            child = do_call(t, &q);
        for (size_t i = 0; i < nfds; i++)
            close(fds[i]);
    }
}

static void pin(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (core < 0 || core >= CPU_SETSIZE)
        return;
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static _Noreturn void template_main(const struct nursery_spawn *how, const struct confine *confine,
                                    const int fd[CHANNEL_FDS])
{
    int object = fd[1], gate = fd[2];
    struct template t = {.channel = fd[0], .go = fd[3], .how = *how, .confine = confine};
    struct template_reply ready = {.kind = TEMPLATE_READY};
    signal(SIGCHLD, SIG_DFL);
    machine_urge(1); /* before it is pinned: it counts the cores that it may use */
    pin(how->core);
    limit(RLIMIT_STACK, STACK_BYTES);
    void *page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, gate, 0);
    t.signal_stack = malloc(SIGNAL_STACK);
    if (page == MAP_FAILED || !t.signal_stack) {
        fail(&t, "cannot map the gate");
        _exit(1);
    }
    t.gate = page;
    if (!load_object(&t, object))
        _exit(1);
    close(object);
    close(gate);
    if (!confine_template(confine, how->unconfined != 0, ready.text, sizeof ready.text)) {
        fail(&t, ready.text);
        _exit(1);
    }
    /* Only now: a change of identity clears it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    reply(&t, &ready);
    serve(&t);
}

/* ---------------------------------------------------------------- the nursery */

/* fork, into a new PID namespace where that is allowed: whatever a version leaves behind ends with
 * its template, and nothing in it can name a process outside. */
static pid_t fork_apart(const struct confine *confine)
{
    if (confine->pid_namespaces)
        return (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWPID | SIGCHLD), 0UL, 0UL, 0UL,
                              0UL);
    return fork();
}

_Noreturn void nursery_main(int channel)
{
    struct confine confine;
    struct nursery_hello hello = {.isolation = ""};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN); /* templates need no waiting for */
    confine_prepare(&confine, hello.isolation, sizeof hello.isolation);
    if (!channel_send(channel, &hello, sizeof hello, NULL, 0))
        _exit(1);
    for (;;) {
        struct nursery_spawn how;
        int fds[CHANNEL_FDS];
        size_t nfds = CHANNEL_FDS;
        ssize_t n = channel_receive(channel, &how, sizeof how, fds, &nfds, NULL);
        if (n != (ssize_t)sizeof how || nfds != CHANNEL_FDS)
            _exit(0);
        pid_t pid = fork_apart(&confine);
        if (pid == 0) {
            close(channel);
            template_main(&how, &confine, fds);
        }
        if (pid < 0) {
            struct template_reply r = {.kind = TEMPLATE_FAILED};
            snprintf(r.text, sizeof r.text, "cannot fork a template: %s", strerror(errno));
            channel_send(fds[0], &r, sizeof r, NULL, 0);
        }
        for (size_t i = 0; i < nfds; i++)
            close(fds[i]);
    }
}
