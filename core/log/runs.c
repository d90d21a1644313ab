#include "core/log/runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define ENDING     ".warp"
#define ENDING_LEN 5

struct entry {
    char *path;
    struct timespec time;
};

static bool has_ending(const char *name)
{
    size_t n = strlen(name);
    return n > ENDING_LEN && strcmp(name + n - ENDING_LEN, ENDING) == 0;
}

static int newest_first(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->time.tv_sec != y->time.tv_sec)
        return x->time.tv_sec < y->time.tv_sec ? 1 : -1;
    if (x->time.tv_nsec != y->time.tv_nsec)
        return x->time.tv_nsec < y->time.tv_nsec ? 1 : -1;
    return strcmp(y->path, x->path);
}

static bool runs_dir(char **dir, struct error *e)
{
    char *home = NULL;
    if (!fs_home(&home, e))
        return false;
    *dir = fs_join(home, "runs");
    free(home);
    return true;
}

/* When the run was last written: what is not yet merged into the file counts. */
static bool last_written(const char *path, struct timespec *t)
{
    struct stat st, wal;
    char *name = xasprintf("%s-wal", path);
    bool ok = stat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (ok)
        *t = st.st_mtim;
    if (ok && stat(name, &wal) == 0 && wal.st_size > 0 &&
        (wal.st_mtim.tv_sec > t->tv_sec ||
         (wal.st_mtim.tv_sec == t->tv_sec && wal.st_mtim.tv_nsec > t->tv_nsec)))
        *t = wal.st_mtim;
    free(name);
    return ok;
}

bool runs_list(char ***paths, size_t *n, struct error *e)
{
    char *dir = NULL;
    *paths = NULL;
    *n = 0;
    if (!runs_dir(&dir, e))
        return false;
    DIR *d = opendir(dir);
    if (!d) {
        error_sys(e, "cannot list the runs in %s", dir);
        free(dir);
        return false;
    }
    struct entry *found = NULL;
    size_t cap = 0;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        if (!has_ending(entry->d_name))
            continue;
        struct entry one = {.path = fs_join(dir, entry->d_name)};
        if (!last_written(one.path, &one.time)) {
            free(one.path);
            continue;
        }
        VEC_ROOM(found, *n, cap);
        found[(*n)++] = one;
    }
    closedir(d);
    free(dir);
    if (*n)
        qsort(found, *n, sizeof *found, newest_first);
    *paths = xcalloc(*n + 1, sizeof **paths);
    for (size_t i = 0; i < *n; i++)
        (*paths)[i] = found[i].path;
    free(found);
    return true;
}

void runs_list_free(char **paths, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(paths[i]);
    free(paths);
}

char *runs_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t n = strlen(name);
    return xstrndup(name, has_ending(name) ? n - ENDING_LEN : n);
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein distance of two names, each looked at for at most 63 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], na = strnlen(a, 63), nb = strnlen(b, 63);
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t up = row[j];
            row[j] = min3(up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = up;
        }
    }
    return row[nb];
}

static bool not_found(const char *name, char **paths, size_t n, struct error *e)
{
    struct buf list = {0};
    bool *used = xcalloc(n + 1, sizeof *used);
    for (size_t shown = 0; shown < n && shown < 8; shown++) {
        size_t best = n, least = (size_t)-1;
        for (size_t i = 0; i < n; i++) {
            char *have = runs_name(paths[i]);
            size_t d = used[i] ? (size_t)-1 : distance(name, have);
            if (d < least) {
                least = d;
                best = i;
            }
            free(have);
        }
        if (best == n)
            break;
        used[best] = true;
        char *have = runs_name(paths[best]);
        buf_addf(&list, "%s%s", shown ? ", " : "", have);
        free(have);
    }
    free(used);
    if (n == 0)
        error_set(e, ERR_NOTFOUND,
                  "there is no run \"%.80s\", and none at all yet: warploop run TASK "
                  "begins one (warploop task ls lists the tasks)",
                  name);
    else
        error_set(e, ERR_NOTFOUND,
                  "there is no run \"%.80s\": there are %s%s (warploop ls lists them)", name,
                  buf_str(&list), n > 8 ? " and more" : "");
    buf_free(&list);
    return false;
}

bool runs_find(const char *name, char **path, struct error *e)
{
    char **paths = NULL;
    size_t n = 0;
    *path = NULL;
    if (name && (has_ending(name) || strchr(name, '/'))) {
        if (fs_exists(name)) {
            *path = xstrdup(name);
            return true;
        }
        if (strchr(name, '/'))
            return error_set(e, ERR_NOTFOUND, "there is no file %s (warploop ls lists the runs)",
                             name);
    }
    if (!runs_list(&paths, &n, e))
        return false;
    bool newest = !name || !*name;
    if (newest && n)
        *path = xstrdup(paths[0]);
    for (size_t i = 0; i < n && !newest && !*path; i++) {
        char *have = runs_name(paths[i]), *want = runs_name(name);
        if (strcmp(have, want) == 0)
            *path = xstrdup(paths[i]);
        free(have);
        free(want);
    }
    bool ok = *path != NULL;
    if (!ok && newest)
        error_set(e, ERR_NOTFOUND,
                  "there is no run yet: warploop run TASK begins one (warploop "
                  "task ls lists the tasks)");
    else if (!ok)
        not_found(name, paths, n, e);
    runs_list_free(paths, n);
    return ok;
}

bool runs_new_path(const char *task, char **path, struct error *e)
{
    char *dir = NULL;
    *path = NULL;
    if (!*task || *task == '.' || strchr(task, '/'))
        return error_set(e, ERR_INPUT, "\"%.80s\" cannot be part of a file name", task);
    if (!runs_dir(&dir, e))
        return false;
    /* One above the highest number in use, so that a number never names two runs one after the
     * other: the lock file of a deleted run stays. */
    long highest = 0;
    size_t len = strlen(task);
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) != NULL;) {
        if (strncmp(entry->d_name, task, len) != 0 || entry->d_name[len] != '-')
            continue;
        char *end = NULL;
        long k = strtol(entry->d_name + len + 1, &end, 10);
        if (end != entry->d_name + len + 1 && *end == '.' && k > highest && k < 1000000000)
            highest = k;
    }
    if (d)
        closedir(d);
    *path = xasprintf("%s/%s-%ld" ENDING, dir, task, highest + 1);
    free(dir);
    return true;
}
