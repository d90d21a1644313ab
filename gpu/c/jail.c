#include "gpu/c/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "gpu/c/landlock.h"
#include "gpu/c/seccomp.h"

/* Descriptors of a jailed program between fork and exec. */
#define FD_OUT     1
#define FD_FILTER  3 /* read by bwrap */
#define FD_RULES   4 /* the Landlock rule set */
#define FD_LIFE    5 /* the guard's: end of file when our process is gone */
#define SCRATCH_AS "/w"

struct args {
    char **v;
    size_t n, cap;
};

static void arg(struct args *a, const char *s)
{
    VEC_ROOM(a->v, a->n, a->cap);
    a->v[a->n++] = xstrdup(s);
}

static void arg_end(struct args *a)
{
    VEC_ROOM(a->v, a->n, a->cap);
    a->v[a->n] = NULL;
}

static void args_free(struct args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    *a = (struct args){0};
}

const char *jail_bwrap(void)
{
    static const char *const at[] = {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"};
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        if (access(at[i], X_OK) == 0)
            return at[i];
    }
    return NULL;
}

/* All that the child needs, made before the fork: after it only async-signal-safe calls. */
struct launch {
    char *const *argv; /* of the program, or of bwrap with the program at its end */
    char *const *env;  /* NULL: empty (bwrap sets that of the program) */
    const struct jail_limits *limits;
    rlim_t processes;
    struct seccomp_program filter;
    int filter_fd;     /* bwrap: the filter as a file; else -1 */
    int rules;         /* Landlock rule set, or -1 */
    const char *root;  /* chroot, or NULL */
    const char *chdir; /* or NULL */
    int output, null, life;
    bool filter_self; /* enter the filter in the child (bwrap does it itself otherwise) */
};

static void limit(int what, rlim_t value)
{
    struct rlimit r = {value, value}, now;
    if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max < value)
        r.rlim_cur = r.rlim_max = now.rlim_max;
    setrlimit((__rlimit_resource_t)what, &r);
}

/* Between fork and exec, in the process that becomes the program. */
static _Noreturn void become(const struct launch *l)
{
    if (l->limits->cpu_s) {
        struct rlimit r = {l->limits->cpu_s, l->limits->cpu_s + 1};
        setrlimit(RLIMIT_CPU, &r);
    }
    if (l->limits->memory)
        limit(RLIMIT_AS, l->limits->memory);
    if (l->limits->file)
        limit(RLIMIT_FSIZE, l->limits->file);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, 256);
    limit(RLIMIT_NPROC, l->processes);
    if ((l->root && (chroot(l->root) != 0 || chdir("/") != 0)) ||
        (l->chdir && chdir(l->chdir) != 0))
        _exit(125);
    /* Not for bwrap, which does all this inside and may need privileges of its own to begin with
     * (a set-user-id bit, an AppArmor profile). */
    if (l->filter_self) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(125);
        jail_drop_capabilities();
    }
    if (l->rules >= 0) {
        if (!landlock_enter(FD_RULES))
            _exit(125);
        close(FD_RULES);
    }
    if (l->filter_self && !seccomp_enter(&l->filter))
        _exit(125);
    static char *const nothing[] = {NULL};
    execve(l->argv[0], l->argv, l->env ? l->env : nothing);
    _exit(126);
}

/* The guard: a process of ours between us and the program. It ends the program's process group
 * when we are gone or ask for it (end of file on the life line), so that nothing is left behind
 * even where there is no PID namespace. Only async-signal-safe calls. */
static _Noreturn void guard(const struct launch *l)
{
    static const struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t none;
    setpgid(0, 0);
    for (int s = 1; s < 65; s++)
        sigaction(s, &dfl, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int out = fcntl(l->output, F_DUPFD, 16), null = fcntl(l->null, F_DUPFD, 16);
    int life = fcntl(l->life, F_DUPFD, 16);
    int filter = l->filter_fd >= 0 ? fcntl(l->filter_fd, F_DUPFD, 16) : -1;
    int rules = l->rules >= 0 ? fcntl(l->rules, F_DUPFD, 16) : -1;
    close(FD_FILTER);
    close(FD_RULES);
    if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 || dup2(life, FD_LIFE) < 0 ||
        (filter >= 0 && dup2(filter, FD_FILTER) < 0) || (rules >= 0 && dup2(rules, FD_RULES) < 0))
        _exit(125);
    if (syscall(SYS_close_range, FD_LIFE + 1, ~0u, 0u) != 0) {
        for (int fd = FD_LIFE + 1; fd < 4096; fd++)
            close(fd);
    }
    pid_t me = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(FD_LIFE);
        if (getppid() == me)
            become(l);
        _exit(125);
    }
    if (pid < 0)
        _exit(125);
    setpgid(pid, pid);
    /* The output stays open here: its end then means that the program's status is known. */
    close(0), close(2), close(FD_FILTER), close(FD_RULES);
    struct pollfd p[2] = {{.fd = FD_LIFE, .events = POLLIN}, {.events = POLLIN}};
    p[1].fd = (int)syscall(SYS_pidfd_open, pid, 0);
    while (poll(p, 2, p[1].fd >= 0 ? -1 : 20) >= 0 || errno == EINTR) {
        if (p[0].revents || p[1].revents)
            break;
        siginfo_t si = {0};
        if (p[1].fd < 0 && waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            si.si_pid == pid)
            break;
    }
    kill(-pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool spawn(struct launch *l, struct jail_proc *p, struct error *e)
{
    int out[2] = {-1, -1}, life[2] = {-1, -1};
    struct sysinfo si;
    /* The limit counts all processes of the user, so it must lie above what runs already. */
    l->processes = 64 + (rlim_t)(sysinfo(&si) == 0 ? si.procs : 4096);
    l->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool ok = l->null >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(life, O_CLOEXEC) == 0;
    l->output = out[1];
    l->life = life[0];
    pid_t pid = ok ? fork() : -1;
    if (pid == 0) {
        close(life[1]);
        guard(l);
    }
    if (pid < 0) {
        ok = error_sys(e, "cannot start %s", l->argv[0]);
        close_fd(&out[0]);
        close_fd(&life[1]);
    } else {
        *p = (struct jail_proc){.pid = pid, .output = out[0], .life = life[1]};
        fcntl(out[0], F_SETFL, O_NONBLOCK);
    }
    close_fd(&out[1]);
    close_fd(&life[0]);
    close_fd(&l->null);
    return ok;
}

/* ---------------------------------------------------------------- bubblewrap */

static void bwrap_args(const struct jail_spec *s, char *const argv[], struct args *a)
{
    static const char *const fixed[] = {
        "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop",
        "ALL",           "--hostname",        "warploop"};
    arg(a, jail_bwrap());
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        arg(a, fixed[i]);
    arg(a, "--seccomp");
    arg(a, "3");
    for (size_t i = 0; i < s->nsee; i++) {
        arg(a, "--ro-bind");
        arg(a, s->see[i].path);
        arg(a, s->see[i].as ? s->see[i].as : s->see[i].path);
    }
    if (s->scratch) {
        arg(a, "--bind");
        arg(a, s->scratch);
        arg(a, SCRATCH_AS);
    }
    arg(a, "--remount-ro");
    arg(a, "/");
    if (s->scratch) {
        arg(a, "--chdir");
        arg(a, SCRATCH_AS);
    }
    for (size_t i = 0; s->env && s->env[i]; i++) {
        const char *eq = strchr(s->env[i], '=');
        if (!eq)
            continue;
        char *name = xstrndup(s->env[i], (size_t)(eq - s->env[i]));
        arg(a, "--setenv");
        arg(a, name);
        arg(a, eq + 1);
        free(name);
    }
    arg(a, "--");
    for (size_t i = 0; argv[i]; i++)
        arg(a, argv[i]);
    arg_end(a);
}

static bool start_bwrap(const struct jail_spec *s, char *const argv[], struct launch *l,
                        struct jail_proc *p, struct error *e)
{
    struct args a = {0};
    bwrap_args(s, argv, &a);
    l->argv = a.v;
    l->filter_fd = seccomp_program_fd(&l->filter);
    bool ok = l->filter_fd >= 0 ? spawn(l, p, e) : error_sys(e, "cannot hand over the filter");
    l->argv = NULL;
    args_free(&a);
    return ok;
}

/* ---------------------------------------------------------------- Landlock, own root, none */

static bool start_plain(const struct jail_spec *s, char *const argv[], struct launch *l,
                        struct jail_proc *p, struct error *e)
{
    int abi = s->jail->landlock;
    const char *root = s->jail->chroot ? s->root : NULL;
    size_t rootlen = root ? strlen(root) : 0;
    bool ok = true;
    if (s->jail->kind == JAIL_LANDLOCK) {
        l->rules = landlock_new(abi, e);
        ok = l->rules >= 0;
        for (size_t i = 0; ok && i < s->nsee; i++) {
            char *at = xasprintf("%s%s", root ? root : "", s->see[i].path);
            ok = landlock_allow(l->rules, abi, at, false, e);
            free(at);
        }
        ok = ok && (!s->scratch || landlock_allow(l->rules, abi, s->scratch, true, e));
    }
    if (ok && root && s->scratch && strncmp(s->scratch, root, rootlen) != 0)
        ok = error_set(e, ERR_SYSTEM, "the scratch folder %s is outside the root %s", s->scratch,
                       root);
    l->root = root;
    l->chdir = s->scratch ? s->scratch + rootlen : NULL;
    l->argv = argv;
    l->filter_self = true;
    struct args env = {0};
    for (size_t i = 0; s->env && s->env[i]; i++)
        arg(&env, s->env[i]);
    arg_end(&env);
    l->env = env.v;
    ok = ok && spawn(l, p, e);
    l->env = NULL;
    args_free(&env);
    return ok;
}

bool jail_start(const struct jail_spec *spec, char *const argv[], struct jail_proc *p,
                struct error *e)
{
    struct launch l = {.limits = &spec->limits, .filter_fd = -1, .rules = -1, .null = -1};
    *p = (struct jail_proc){.pid = 0, .output = -1, .life = -1};
    if (spec->jail->kind == JAIL_REFUSED)
        return error_set(e, ERR_SYSTEM, "no jail works on this machine");
    if (spec->jail->kind == JAIL_CHROOT && !spec->root)
        return error_set(e, ERR_SYSTEM, "this jail needs a folder to become its root");
    if (!seccomp_compiler(&l.filter, e))
        return false;
    bool ok = spec->jail->kind == JAIL_BWRAP ? start_bwrap(spec, argv, &l, p, e)
                                             : start_plain(spec, argv, &l, p, e);
    seccomp_program_free(&l.filter);
    close_fd(&l.filter_fd);
    close_fd(&l.rules);
    return ok;
}

/* Keep the first and the last `keep` bytes. */
static void keep_output(struct buf *out, const char *bytes, size_t n, size_t keep)
{
    buf_add(out, bytes, n);
    if (out->len > 2 * keep) {
        memmove(out->s + keep, out->s + out->len - keep, keep);
        out->len = 2 * keep;
        out->s[out->len] = '\0';
    }
}

int jail_wait(struct jail_proc *p, int64_t deadline_ns, size_t keep, size_t max, struct buf *out,
              size_t *total, enum jail_end *why)
{
    char chunk[65536];
    *why = JAIL_END_ITSELF;
    *total = 0;
    /* The pipe ends when the guard and the whole tree are gone. */
    for (;;) {
        int64_t left = deadline_ns - clock_mono_ns();
        if (left <= 0) {
            *why = JAIL_END_TIMEOUT;
            break;
        }
        struct pollfd f = {.fd = p->output, .events = POLLIN};
        if (poll(&f, 1, (int)(left / 1000000 > 60000 ? 60000 : left / 1000000 + 1)) <= 0)
            continue;
        ssize_t n = read(p->output, chunk, sizeof chunk);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            break;
        *total += (size_t)n;
        keep_output(out, chunk, (size_t)n, keep);
        if (*total > max) {
            *why = JAIL_END_OUTPUT;
            break;
        }
    }
    close_fd(&p->life); /* the guard ends the tree now, if it still runs */
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close_fd(&p->output);
    p->pid = 0;
    return status;
}
