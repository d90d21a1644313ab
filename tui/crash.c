#include "tui/crash.h"

#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define NSIGNALS 5
#define FRAMES   24

static const int signals[NSIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* What the handler needs; a signal handler has nothing but static memory. */
static struct {
    volatile sig_atomic_t live;
    int tty, stray;
    struct termios cooked;
    struct sigaction old[NSIGNALS];
} crash;

static const char reset_all[] =
    "\033[?2026l\033[?1006l\033[?1003l\033[?1002l\033[?1000l\033[?1004l\033[?2004l\033[0m\033(B"
    "\033[?1l\033>\033[?25h\033[?1049l\r\n";

bool tty_write(int fd, const char *s, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EAGAIN) {
            struct pollfd p = {fd, POLLOUT, 0};
            if (poll(&p, 1, -1) < 0 && errno != EINTR)
                return false;
        } else if (w < 0 && errno != EINTR) {
            return false;
        } else if (w > 0) {
            s += w;
            n -= (size_t)w;
        }
    }
    return true;
}

static void on_crash(int sig)
{
    int saved = errno;
    if (crash.live) {
        crash.live = 0;
        if (tty_write(crash.tty, reset_all, sizeof reset_all - 1))
            tcsetattr(crash.tty, TCSANOW, &crash.cooked);
        char part[512];
        off_t end = crash.stray >= 0 ? lseek(crash.stray, 0, SEEK_END) : 0;
        for (off_t at = end > MAX_STRAY ? end - MAX_STRAY : 0; at < end;) {
            ssize_t n = pread(crash.stray, part, sizeof part, at);
            if (n <= 0 || !tty_write(crash.tty, part, (size_t)n))
                break;
            at += n;
        }
        void *frames[FRAMES];
        backtrace_symbols_fd(frames, backtrace(frames, FRAMES), crash.tty);
    }
    errno = saved;
    signal(sig, SIG_DFL);
    raise(sig);
}

void crash_install(int tty, int stray, const struct termios *cooked)
{
    void *frames[2];
    backtrace(frames, 2); /* loads what it needs now, not in the handler */
    crash.tty = tty;
    crash.stray = stray;
    crash.cooked = *cooked;
    crash.live = 1;
    struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < NSIGNALS; i++)
        sigaction(signals[i], &sa, &crash.old[i]);
}

void crash_remove(void)
{
    if (!crash.live)
        return;
    crash.live = 0;
    for (int i = 0; i < NSIGNALS; i++)
        sigaction(signals[i], &crash.old[i], NULL);
}
