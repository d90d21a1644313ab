#include "core/base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"

/* In the child, between fork and exec: async-signal-safe calls only. */
static _Noreturn void child(char *const argv[], char *const envp[], int wire, int output, int null,
                            pid_t parent)
{
    static const struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int s = 1; s < 65; s++)
        sigaction(s, &dfl, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(126);
    /* Lift the three out of the way first, so that no dup2 overwrites another's source. */
    int w = fcntl(wire, F_DUPFD, 16), o = fcntl(output, F_DUPFD, 16), z = fcntl(null, F_DUPFD, 16);
    if (dup2(z, 0) < 0 || dup2(o, 1) < 0 || dup2(o, 2) < 0 || dup2(w, 3) < 0)
        _exit(126);
    if (syscall(SYS_close_range, 4u, ~0u, 0u) != 0)
        for (int fd = 4; fd < 4096; fd++)
            close(fd);
    execve(argv[0], argv, envp);
    _exit(127);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static char **clean_env(char *const extra[])
{
    size_t n = 0, cap = 0;
    char **env = NULL;
    const char *tmp = getenv("TMPDIR"), *path = getenv("PATH");
    VEC_ROOM(env, n, cap);
    env[n++] = xasprintf("PATH=%s", path ? path : "/usr/bin:/bin");
    env[n++] = xstrdup("HOME=/");
    env[n++] = xstrdup("LANG=C.UTF-8");
    env[n++] = xasprintf("TMPDIR=%s", tmp && *tmp ? tmp : "/tmp");
    for (size_t i = 0; extra && extra[i]; i++) {
        VEC_ROOM(env, n, cap);
        env[n++] = xstrdup(extra[i]);
    }
    VEC_ROOM(env, n, cap);
    env[n] = NULL;
    return env;
}

static void free_env(char **env)
{
    for (size_t i = 0; env[i]; i++)
        free(env[i]);
    free(env);
}

bool proc_start(struct proc *p, char *const argv[], char *const env[], struct error *e)
{
    *p = (struct proc){.pid = 0, .pidfd = -1, .wire = -1, .output = -1};
    int sock[2] = {-1, -1}, out[2] = {-1, -1};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool ok = false;
    char **envp = clean_env(env);
    if (access(argv[0], X_OK) != 0) {
        error_sys(e, "cannot run %s (is warploop built completely? try: make)", argv[0]);
        goto done;
    }
    if (null < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) != 0 ||
        pipe2(out, O_CLOEXEC) != 0) {
        error_sys(e, "cannot open the descriptors for %s", argv[0]);
        goto done;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child(argv, envp, sock[1], out[1], null, parent);
    if (pid < 0) {
        error_sys(e, "cannot start %s", argv[0]);
        goto done;
    }
    setpgid(pid, pid);
    p->pid = pid;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p->pidfd >= 0)
        fcntl(p->pidfd, F_SETFD, FD_CLOEXEC);
    p->wire = sock[0];
    p->output = out[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    sock[0] = out[0] = -1;
    ok = true;
done:
    close_fd(&null);
    close_fd(&sock[0]);
    close_fd(&sock[1]);
    close_fd(&out[0]);
    close_fd(&out[1]);
    free_env(envp);
    return ok;
}

int proc_wait(struct proc *p)
{
    int status = 0;
    if (p->pid > 0) {
        while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close_fd(&p->pidfd);
    close_fd(&p->wire);
    close_fd(&p->output);
    p->pid = 0;
    return status;
}

int proc_kill(struct proc *p)
{
    if (p->pid > 0) {
        kill(-p->pid, SIGKILL);
        kill(p->pid, SIGKILL);
    }
    return proc_wait(p);
}

void proc_drain(struct proc *p, struct buf *out, size_t keep)
{
    char chunk[4096];
    if (p->output < 0)
        return;
    for (int i = 0; i < 64; i++) { /* bounded: a child that prints without end must not hold us */
        ssize_t n = read(p->output, chunk, sizeof chunk);
        if (n <= 0)
            break;
        buf_add(out, chunk, (size_t)n);
        if (out->len > 2 * keep) {
            memmove(out->s + keep, out->s + out->len - keep, keep);
            out->len = 2 * keep;
            out->s[out->len] = '\0';
        }
    }
}

void proc_describe(int status, char *out, size_t size)
{
    if (WIFEXITED(status))
        snprintf(out, size, "exit status %d", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        snprintf(out, size, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "status 0x%x", (unsigned)status);
}
