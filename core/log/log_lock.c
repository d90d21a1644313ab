/* ID.lock: an open-file-description lock for the engine's life, released by any death of it. */
#include "core/log/log_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* "pid host start" as the holder wrote it; pid 0 and "" when it has not yet. */
static void read_holder(int fd, int64_t *pid, char *host, size_t size)
{
    char text[400];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    char *rest = text;
    int64_t p = strtoll(text, &rest, 10);
    rest += strspn(rest, " ");
    if (pid)
        *pid = p;
    if (host && size)
        snprintf(host, size, "%.*s", (int)strcspn(rest, " \n"), rest);
}

bool log_lock(struct log *log, struct error *e)
{
    char host[256] = "", line[400];
    int64_t pid = 0;
    if (log->lock_fd >= 0)
        return true;
    char *path = log_sibling(log->path, ".lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = whole_file(F_WRLCK);
    bool ok = fd >= 0;
    if (!ok) {
        error_sys(e, "cannot open the lock %s", path);
    } else if (fcntl(fd, F_OFD_SETLK, &lock) != 0) {
        ok = false;
        if (errno == EAGAIN || errno == EACCES) {
            read_holder(fd, &pid, host, sizeof host);
            error_set(e, ERR_BUSY,
                      "%s is driven by process %lld on %s: attach to it, or stop it first",
                      log->path, (long long)pid, *host ? host : "another host");
        } else {
            error_sys(e, "cannot lock %s (does the file system have locks?)", path);
        }
    }
    if (ok) {
        if (gethostname(host, sizeof host - 1) != 0 || !*host)
            snprintf(host, sizeof host, "unknown");
        int n = snprintf(line, sizeof line, "%lld %s %lld\n", (long long)getpid(), host,
                         (long long)clock_wall_ns());
        /* Only a courtesy to the one who is refused: a full disk must not keep a run from going. */
        if (ftruncate(fd, 0) != 0 || pwrite(fd, line, (size_t)n, 0) != n) {
            int ignored = ftruncate(fd, 0); /* half a line would name a wrong process */
            (void)ignored;
        }
        log->lock_fd = fd;
    } else if (fd >= 0) {
        close(fd);
    }
    free(path);
    return ok;
}

bool log_driver(const char *path, int64_t *pid, char *host, size_t size)
{
    char *name = log_sibling(path, ".lock");
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    free(name);
    if (pid)
        *pid = 0;
    if (host && size)
        host[0] = '\0';
    if (fd < 0)
        return false;
    struct flock lock = whole_file(F_WRLCK);
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    if (held)
        read_holder(fd, pid, host, size);
    close(fd);
    return held;
}
