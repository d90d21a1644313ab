#include "tests/support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define NOBODY 65534
#define RING   16

char *scratch_new(void)
{
    const char *tmp = getenv("TMPDIR");
    char *dir = xasprintf("%s/warploop-test.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        perror(dir);
        abort();
    }
    return dir;
}

void scratch_free(char *dir)
{
    chmod(dir, 0700);
    fs_remove_tree(dir);
    free(dir);
}

const char *scratch_path(const char *dir, const char *name)
{
    static char ring[RING][512];
    static unsigned at;
    char *s = ring[at++ % RING];
    snprintf(s, sizeof ring[0], "%s/%s", dir, name);
    return s;
}

static int status_of(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int scratch_child(int (*fn)(const char *dir), const char *dir)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return 254;
    if (pid == 0)
        _exit(fn(dir));
    return status_of(pid);
}

static void give_away(const char *dir, unsigned file_mode)
{
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        const char *path = scratch_path(dir, entry->d_name);
        struct stat st;
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        if (geteuid() == 0 && chown(path, NOBODY, NOBODY) != 0)
            perror(path);
        chmod(path, (mode_t)file_mode);
    }
    if (d)
        closedir(d);
}

int scratch_unprivileged(const char *dir, unsigned dir_mode, unsigned file_mode,
                         int (*fn)(const char *dir))
{
    give_away(dir, file_mode);
    if (geteuid() == 0 && chown(dir, NOBODY, NOBODY) != 0)
        perror(dir);
    chmod(dir, (mode_t)dir_mode);
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return 254;
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
            _exit(253);
        _exit(fn(dir));
    }
    int status = status_of(pid);
    chmod(dir, 0700);
    return status;
}
