#include "core/loop/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* What a full-screen program may have switched on: mouse, bracketed paste, colours, a hidden
 * cursor, the alternate screen. */
static const char restore[] =
    "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[0m\033[?25h"
    "\033[?1049l\r";

static void write_all(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        s += w;
        n -= (size_t)w;
    }
}

static _Noreturn void killed(int status, const struct termios *tio, bool tty, const char *hint)
{
    int sig = WTERMSIG(status);
    if (tty) {
        write_all(STDOUT_FILENO, restore, sizeof restore - 1);
        tcsetattr(STDIN_FILENO, TCSANOW, tio);
    }
    fprintf(stderr, "warploop: ended by signal %d (%s); nothing is lost\n%s\n", sig, strsignal(sig),
            hint);
    _exit(128 + sig);
}

static _Noreturn void child_ended(int status, const struct termios *tio, bool tty, const char *hint)
{
    if (WIFSIGNALED(status))
        killed(status, tio, tty, hint);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* Stopped (Ctrl-Z): the holder stops with the child, so that the shell gets the terminal; when the
 * shell continues the job, the child goes on as well. */
static void look_at_child(pid_t child, const struct termios *tio, bool tty, const char *hint)
{
    int status = 0;
    while (waitpid(child, &status, WUNTRACED | WNOHANG) == child) {
        if (!WIFSTOPPED(status))
            child_ended(status, tio, tty, hint);
        kill(getpid(), SIGSTOP);
        kill(child, SIGCONT);
    }
}

/* What comes from outside: the child's stops and ends, and a wish that we end, which is the child's
 * to carry out. */
static void take_signals(int signals, pid_t child, const struct termios *tio, bool tty,
                         const char *hint)
{
    struct signalfd_siginfo s;
    while (read(signals, &s, sizeof s) == (ssize_t)sizeof s)
        if (s.ssi_signo == SIGTERM)
            kill(child, SIGTERM);
    look_at_child(child, tio, tty, hint);
}

static _Noreturn void hold(pid_t child, int fd, const struct termios *tio, bool tty,
                           const char *hint)
{
    static const int from_terminal[] = {SIGINT, SIGQUIT, SIGHUP, SIGTTOU, SIGTTIN};
    sigset_t mask;
    int status = 0;
    for (size_t i = 0; i < sizeof from_terminal / sizeof *from_terminal; i++)
        signal(from_terminal[i], SIG_IGN); /* the child's to answer */
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    for (;;) {
        struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        char byte;
        look_at_child(child, tio, tty, hint);
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents)
            take_signals(signals, child, tio, tty, hint);
        ssize_t n = p[0].revents ? read(fd, &byte, 1) : -1;
        if (n == 1)
            _exit(0); /* it left the terminal and goes on without a screen */
        if (n == 0) {
            while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
            child_ended(status, tio, tty, hint);
        }
    }
}

int holder_fork(const char *resume_hint)
{
    int ends[2];
    struct termios tio;
    bool tty = tcgetattr(STDIN_FILENO, &tio) == 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL); /* or both of us would print what is still unwritten */
    pid_t child = fork();
    if (child > 0) {
        close(ends[1]);
        hold(child, ends[0], &tio, tty, resume_hint);
    }
    close(ends[0]);
    if (child == 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

void holder_left(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; null >= 0 && i <= STDERR_FILENO; i++)
        dup2(null, i);
    if (null > STDERR_FILENO)
        close(null);
    setsid();
    if (fd >= 0) {
        write_all(fd, "q", 1);
        close(fd);
    }
}
