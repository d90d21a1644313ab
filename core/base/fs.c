#include "core/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"

char *fs_join(const char *dir, const char *name)
{
    size_t n = strlen(dir);
    return xasprintf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

bool fs_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool fs_mkdirs(const char *path, struct error *e)
{
    char *p = xstrdup(path);
    bool ok = true;
    for (char *s = p + 1; ok; s++) {
        if (*s != '/' && *s != '\0')
            continue;
        char c = *s;
        *s = '\0';
        struct stat st;
        if (mkdir(p, 0700) != 0 && !(stat(p, &st) == 0 && S_ISDIR(st.st_mode)))
            ok = error_sys(e, "cannot make the folder %s", p);
        *s = c;
        if (c == '\0')
            break;
    }
    free(p);
    return ok;
}

/* The folder of runs and of the user's tasks, whether it is there or not; NULL: none is known. */
static char *home_path(void)
{
    const char *home = getenv("WARPLOOP_HOME");
    const char *xdg = getenv("XDG_DATA_HOME");
    if (home && *home)
        return xstrdup(home);
    if (xdg && *xdg == '/')
        return fs_join(xdg, "warploop");
    const char *h = getenv("HOME");
    if (!h || !*h) {
        struct passwd *pw = getpwuid(getuid());
        h = pw ? pw->pw_dir : NULL;
    }
    return h && *h ? xasprintf("%s/.local/share/warploop", h) : NULL;
}

bool fs_home(char **out, struct error *e)
{
    char *path = home_path();
    if (!path)
        return error_set(e, ERR_INPUT,
                         "no home folder is known: set WARPLOOP_HOME to a folder for the runs");
    char *runs = fs_join(path, "runs");
    bool ok = fs_mkdirs(runs, e);
    free(runs);
    if (!ok) {
        free(path);
        return error_prefix(e, "the folder for the runs (set WARPLOOP_HOME to choose another)");
    }
    *out = path;
    return true;
}

bool fs_read(const char *path, size_t limit, struct buf *out, struct error *e)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        enum error_code code = errno == ENOENT ? ERR_NOTFOUND : ERR_SYSTEM;
        error_sys(e, "cannot read %s", path);
        if (e)
            e->code = code;
        return false;
    }
    bool ok = true;
    for (;;) {
        ssize_t n = read(fd, buf_room(out, 65536), 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            ok = error_sys(e, "cannot read %s", path);
        if (n <= 0)
            break;
        out->len += (size_t)n;
        out->s[out->len] = '\0';
        if (out->len > limit) {
            ok = error_set(e, ERR_INPUT, "%s is larger than %zu bytes", path, limit);
            break;
        }
    }
    buf_add(out, "", 0);
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t w = write(fd, bytes, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0)
            return false;
        bytes += w;
        n -= (size_t)w;
    }
    return true;
}

bool fs_write(const char *path, const void *bytes, size_t n, struct error *e)
{
    char *tmp = xasprintf("%s.XXXXXX", path);
    int fd = mkostemp(tmp, O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, bytes, n) && fsync(fd) == 0;
    if (ok)
        ok = rename(tmp, path) == 0;
    if (!ok) {
        error_sys(e, "cannot write %s", path);
        if (fd >= 0)
            unlink(tmp);
    }
    if (fd >= 0)
        close(fd);
    free(tmp);
    return ok;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    (void)remove(path);
    return 0; /* go on: remove what can be removed */
}

void fs_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

char *fs_program_dir(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0)
        return xstrdup(".");
    path[n] = '\0';
    return xstrdup(dirname(path));
}

char *fs_kernels_dir(void)
{
    const char *set = getenv("WARPLOOP_KERNELS");
    if (set && *set)
        return xstrdup(set);
    char *bin = fs_program_dir();
    char *beside = xasprintf("%s/../../kernels", bin);
    char *deeper = xasprintf("%s/../../../kernels", bin);
    char *real = realpath(beside, NULL);
    if (!real)
        real = realpath(deeper, NULL); /* test programs lie one folder deeper */
    free(bin);
    free(beside);
    free(deeper);
    return real ? real : xstrdup("/usr/share/warploop/kernels");
}

char *fs_user_kernels_dir(void)
{
    char *home = home_path(), *kernels = home ? fs_join(home, "kernels") : NULL;
    free(home);
    return kernels;
}
