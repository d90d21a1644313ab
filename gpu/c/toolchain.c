#include "gpu/c/toolchain.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "gpu/c/jail.h"

#define FORMAT      "warploop-toolchain 2"
#define ASK_NS      30000000000LL
#define ANSWER_MAX  (4u << 20)
#define HEADERS_MAX 64

struct list {
    char **v;
    size_t n, cap;
};

static void list_add(struct list *l, const char *s)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strcmp(l->v[i], s) == 0)
            return;
    }
    VEC_ROOM(l->v, l->n, l->cap);
    l->v[l->n++] = xstrdup(s);
}

static void list_free(struct list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct list){0};
}

/* ---------------------------------------------------------------- asking the compiler */

/* Run a trusted program of the machine and read what it prints. */
static bool ask(char *const argv[], const char *variable, struct buf *out, struct error *e)
{
    struct jail_report none = {.kind = JAIL_NONE};
    const char *env[] = {"PATH=/usr/bin:/bin:/usr/local/bin", "LC_ALL=C", "TMPDIR=/tmp", variable,
                         NULL};
    struct jail_spec spec = {.jail = &none, .env = env};
    struct jail_proc p;
    size_t total = 0;
    enum jail_end why = JAIL_END_ITSELF;
    if (!jail_start(&spec, argv, &p, e))
        return false;
    int status = jail_wait(&p, clock_mono_ns() + ASK_NS, ANSWER_MAX, ANSWER_MAX, out, &total, &why);
    if (why == JAIL_END_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    return error_set(e, ERR_SYSTEM, "%s %s failed: %.300s", argv[0], argv[1] ? argv[1] : "",
                     buf_str(out));
}

static char *copy_line(const char *s)
{
    return xstrndup(s, strcspn(s, "\n"));
}

/* "/a/b/../c/libm.so" as "/a/c/libm.so", links in the name itself kept. */
static char *plain_path(const char *path)
{
    if (!strstr(path, "/../"))
        return xstrdup(path);
    const char *slash = strrchr(path, '/');
    char *dir = xstrndup(path, (size_t)(slash - path));
    char *real = realpath(dir, NULL);
    char *out = xasprintf("%s%s", real ? real : dir, slash);
    free(real);
    free(dir);
    return out;
}

/* The full path of a program of which gcc says the name or the path; NULL when it is not there. */
static char *program_path(const char *name)
{
    static const char *const at[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    if (name[0] == '/')
        return access(name, X_OK) == 0 ? plain_path(name) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(at); i++) {
        char *p = fs_join(at[i], name);
        if (access(p, X_OK) == 0)
            return p;
        free(p);
    }
    return NULL;
}

/* What `gcc -print-WHAT=NAME` says. */
static char *gcc_says(const char *gcc, const char *what, const char *name, struct error *e)
{
    char *option = xasprintf("-print-%s=%s", what, name);
    char *argv[] = {xstrdup(gcc), option, NULL};
    struct buf out = {0};
    char *line = ask(argv, NULL, &out, e) ? copy_line(buf_str(&out)) : NULL;
    buf_free(&out);
    free(argv[0]);
    free(option);
    return line;
}

/* Add the shared libraries of a program: the loader lists them instead of starting it. */
static bool add_libraries(const char *program, struct list *files, struct list *dirs,
                          struct error *e)
{
    char *argv[] = {xstrdup(program), NULL};
    struct buf out = {0};
    bool ok = ask(argv, "LD_TRACE_LOADED_OBJECTS=1", &out, e);
    free(argv[0]);
    char *save = NULL;
    for (char *line = ok && out.s ? strtok_r(out.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        char *arrow = strstr(line, "=> /");
        char *path = arrow ? arrow + 3 : strchr(line, '/');
        if (!path || (!arrow && line[strspn(line, " \t")] != '/'))
            continue;
        path[strcspn(path, " \t")] = '\0';
        list_add(files, path);
        if (arrow) {
            *strrchr(path, '/') = '\0';
            list_add(dirs, path);
        }
    }
    buf_free(&out);
    return ok;
}

/* libc.so and libm.so are often texts that name the real files. */
static void add_named_by_script(const char *path, struct list *files)
{
    struct buf b = {0};
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size < 4096 && fs_read(path, 4096, &b, NULL) &&
        strlen(buf_str(&b)) == b.len) {
        char *save = NULL;
        for (char *w = b.s ? strtok_r(b.s, " \t\n()", &save) : NULL; w;
             w = strtok_r(NULL, " \t\n()", &save)) {
            if (w[0] == '/' && w[1] != '*' && access(w, R_OK) == 0)
                list_add(files, w);
        }
    }
    buf_free(&b);
}

static bool add_link_files(const char *gcc, struct list *files, struct error *e)
{
    static const char *const names[] = {"libgcc.a",  "libgcc_s.so",  "libgcc_s.so.1",
                                        "libc.so",   "libm.so",      "libc.so.6",
                                        "libm.so.6", "libmvec.so.1", "libmvec.so"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *said = gcc_says(gcc, "file-name", names[i], e);
        if (!said)
            return false;
        if (said[0] == '/' && access(said, R_OK) == 0) {
            char *path = plain_path(said);
            list_add(files, path);
            add_named_by_script(path, files);
            free(path);
        }
        free(said);
    }
    return true;
}

static void list_join(const struct list *l, char **out)
{
    struct buf b = {0};
    for (size_t i = 0; i < l->n; i++)
        buf_addf(&b, "%s%s", i ? ":" : "", l->v[i]);
    *out = buf_take(&b);
}

static bool add_program(struct toolchain *t, const char *name, bool must, struct list *files,
                        struct list *dirs, struct list *libs, char **out, struct error *e)
{
    char *said =
        strcmp(name, "gcc") == 0 ? xstrdup(t->gcc) : gcc_says(t->gcc, "prog-name", name, e);
    char *path = said ? program_path(said) : NULL;
    bool ok = said != NULL;
    if (ok && !path && must)
        ok = error_set(e, ERR_SYSTEM,
                       "the compiler's %s is missing; try: sudo apt-get install gcc binutils "
                       "libc6-dev",
                       name);
    if (ok && path) {
        char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
        list_add(files, path);
        list_add(dirs, dir);
        free(dir);
        ok = add_libraries(path, files, libs, e);
    }
    free(said);
    if (out && ok)
        *out = path;
    else
        free(path);
    return ok;
}

static bool discover(struct toolchain *t, struct error *e)
{
    struct list files = {0}, dirs = {0}, libs = {0};
    struct buf out = {0};
    char *argv[] = {t->gcc, (char[]){"--version"}, NULL};
    bool ok = ask(argv, NULL, &out, e);
    t->version = copy_line(buf_str(&out));
    buf_free(&out);
    ok = ok && add_program(t, "gcc", true, &files, &dirs, &libs, NULL, e) &&
         add_program(t, "cc1", true, &files, &dirs, &libs, NULL, e) &&
         add_program(t, "collect2", true, &files, &dirs, &libs, NULL, e) &&
         add_program(t, "as", true, &files, &dirs, &libs, NULL, e) &&
         add_program(t, "ld", true, &files, &dirs, &libs, NULL, e) &&
         add_program(t, "strip", true, &files, &dirs, &libs, &t->strip, e) &&
         add_program(t, "objdump", false, &files, &dirs, &libs, &t->objdump, e) &&
         add_link_files(t->gcc, &files, e);
    list_join(&dirs, &t->path);
    list_join(&libs, &t->libs);
    t->files = files.v;
    t->nfiles = files.n;
    list_free(&dirs);
    list_free(&libs);
    return ok;
}

/* ---------------------------------------------------------------- cache */

static bool private_folder(const char *path, struct error *e)
{
    struct stat st;
    if (!fs_mkdirs(path, e))
        return false;
    if (stat(path, &st) != 0 || st.st_uid != geteuid())
        return error_set(e, ERR_SYSTEM, "the cache folder %s belongs to another user", path);
    if ((st.st_mode & 077) && chmod(path, 0700) != 0)
        return error_sys(e, "cannot make the cache folder %s private", path);
    return true;
}

static bool cache_folder(char **out, struct error *e)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *tmp = getenv("TMPDIR");
    struct passwd *pw = NULL;
    /* A child of warploop gets HOME=/, which is nobody's home. */
    if (!home || home[0] != '/' || home[1] == '\0') {
        pw = getpwuid(geteuid());
        home = pw ? pw->pw_dir : NULL;
    }
    char *path = NULL;
    if (xdg && xdg[0] == '/')
        path = fs_join(xdg, "warploop");
    else if (home && home[0] == '/')
        path = xasprintf("%s/.cache/warploop", home);
    if (path && private_folder(path, NULL)) {
        *out = path;
        return true;
    }
    free(path);
    path = xasprintf("%s/warploop-cache-%u", tmp && *tmp == '/' ? tmp : "/tmp", geteuid());
    if (private_folder(path, e)) {
        *out = path;
        return true;
    }
    free(path);
    return error_prefix(e, "no folder for the cache (set XDG_CACHE_HOME)");
}

static void add_stamp(struct buf *b, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        memset(&st, 0, sizeof st);
    buf_addf(b, "file %lld %lld.%09ld %s\n", (long long)st.st_size, (long long)st.st_mtim.tv_sec,
             st.st_mtim.tv_nsec, path);
}

/* True when every "file" line of the text still holds. */
static bool stamps_hold(const char *text)
{
    size_t n = 0;
    struct buf now = {0};
    bool ok = true;
    for (const char *s = text; ok && *s; s += strcspn(s, "\n"), s += *s == '\n') {
        if (strncmp(s, "file ", 5) != 0)
            continue;
        size_t len = strcspn(s, "\n") + 1;
        const char *slash = memchr(s, '/', len);
        char *path = slash ? copy_line(slash) : xstrdup("");
        buf_clear(&now);
        add_stamp(&now, path);
        ok = now.len == len && memcmp(now.s, s, len) == 0;
        free(path);
        n++;
    }
    buf_free(&now);
    return ok && n > 0;
}

static void remember(struct toolchain *t, const char *file)
{
    struct buf b = {0};
    buf_addf(&b, FORMAT "\nversion %s\npath %s\nlibs %s\nstrip %s\n", t->version, t->path, t->libs,
             t->strip);
    if (t->objdump)
        buf_addf(&b, "objdump %s\n", t->objdump);
    for (size_t i = 0; i < t->nfiles; i++)
        add_stamp(&b, t->files[i]);
    buf_adds(&b, "end\n");
    if (!fs_write(file, b.s, b.len, NULL))
        unlink(file); /* without it the next process asks again */
    buf_free(&b);
}

/* The value of the line "key VALUE", or NULL. */
static char *field(const char *text, const char *key)
{
    size_t k = strlen(key);
    for (const char *s = text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        if (strncmp(s, key, k) == 0 && s[k] == ' ')
            return copy_line(s + k + 1);
    }
    return NULL;
}

static bool recall(struct toolchain *t, const char *file)
{
    struct buf b = {0};
    bool ok = fs_read(file, 1u << 20, &b, NULL) && b.s &&
              strncmp(b.s, FORMAT "\n", sizeof FORMAT) == 0 && b.len > 4 &&
              strcmp(b.s + b.len - 4, "end\n") == 0 && stamps_hold(b.s);
    if (ok) {
        struct list files = {0};
        for (const char *s = b.s; *s; s += strcspn(s, "\n"), s += *s == '\n') {
            if (strncmp(s, "file ", 5) == 0) {
                char *path = copy_line(strchr(s, '/'));
                list_add(&files, path);
                free(path);
            }
        }
        t->version = field(b.s, "version");
        t->path = field(b.s, "path");
        t->libs = field(b.s, "libs");
        t->strip = field(b.s, "strip");
        t->objdump = field(b.s, "objdump");
        t->files = files.v;
        t->nfiles = files.n;
        ok = t->version && t->path && t->libs && t->strip;
    }
    buf_free(&b);
    return ok;
}

static void identify(struct toolchain *t)
{
    struct buf b = {0};
    buf_adds(&b, t->version);
    for (size_t i = 0; i < t->nfiles; i++)
        add_stamp(&b, t->files[i]);
    struct hash h = hash_bytes(b.s, b.len);
    snprintf(t->id, sizeof t->id, "%.16s", h.hex);
    buf_free(&b);
}

static void forget(struct toolchain *t)
{
    for (size_t i = 0; i < t->nfiles; i++)
        free(t->files[i]);
    free(t->files);
    free(t->version);
    free(t->path);
    free(t->libs);
    free(t->strip);
    free(t->objdump);
    t->files = NULL;
    t->nfiles = 0;
    t->version = t->path = t->libs = t->strip = t->objdump = NULL;
}

bool toolchain_open(struct toolchain *t, struct error *e)
{
    *t = (struct toolchain){0};
    if (!cache_folder(&t->cache, e))
        return false;
    t->gcc = program_path("gcc");
    if (!t->gcc) {
        toolchain_free(t);
        return error_set(e, ERR_SYSTEM,
                         "gcc is not installed; try: sudo apt-get install gcc libc6-dev");
    }
    struct hash h = hash_bytes(t->gcc, strlen(t->gcc));
    char *file = xasprintf("%s/tools-%.16s", t->cache, h.hex);
    bool ok = recall(t, file);
    if (!ok) {
        forget(t);
        ok = discover(t, e);
        if (ok)
            remember(t, file);
    }
    free(file);
    if (ok)
        identify(t);
    else
        toolchain_free(t);
    return ok;
}

void toolchain_free(struct toolchain *t)
{
    forget(t);
    free(t->cache);
    free(t->gcc);
    *t = (struct toolchain){0};
}

/* ---------------------------------------------------------------- copies */

/* Copy a file to `to`, making the folders above it. */
static bool copy_file(const char *from, const char *to, struct error *e)
{
    struct stat st;
    char *dir = xstrndup(to, (size_t)(strrchr(to, '/') - to));
    int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
    bool ok = in >= 0 && fstat(in, &st) == 0;
    if (ok && fs_mkdirs(dir, e)) {
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        ok = out >= 0;
    }
    char chunk[65536];
    ssize_t n = 0;
    while (ok && (n = read(in, chunk, sizeof chunk)) > 0)
        ok = write(out, chunk, (size_t)n) == n;
    ok = ok && n == 0 && fchmod(out, st.st_mode & 0111 ? 0500 : 0400) == 0;
    if (!ok)
        error_sys(e, "cannot copy %s to %s", from, to);
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) != 0 && ok)
        ok = error_sys(e, "cannot write %s", to);
    free(dir);
    return ok;
}

/* Rename a finished folder into place. Another builder may have been first: then ours goes. */
static bool into_place(const char *made, const char *folder, struct error *e)
{
    if (rename(made, folder) == 0)
        return true;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return error_sys(e, "cannot put %s into place", folder);
    fs_remove_tree(made);
    return true;
}

static char *temporary_beside(const char *folder, struct error *e)
{
    char *tmp = xasprintf("%s.XXXXXX", folder);
    if (mkdtemp(tmp))
        return tmp;
    error_sys(e, "cannot make a folder beside %s", folder);
    free(tmp);
    return NULL;
}

bool toolchain_root(const struct toolchain *t, char **root, struct error *e)
{
    char *folder = xasprintf("%s/root-%s", t->cache, t->id);
    bool ok = true;
    if (!fs_exists(folder)) {
        char *tmp = temporary_beside(folder, e);
        ok = tmp != NULL;
        for (size_t i = 0; ok && i < t->nfiles; i++) {
            char *to = xasprintf("%s%s", tmp, t->files[i]);
            ok = copy_file(t->files[i], to, e);
            free(to);
        }
        ok = ok && into_place(tmp, folder, e);
        if (!ok && tmp)
            fs_remove_tree(tmp);
        free(tmp);
    }
    if (ok)
        *root = folder;
    else
        free(folder);
    return ok;
}

/* Raw system calls, so that it needs nothing of the libc but errno and fdopen. */
static const char blinkers_source[] =
    "#define _GNU_SOURCE\n"
    "#include <errno.h>\n#include <fcntl.h>\n#include <stdarg.h>\n#include <stdio.h>\n"
    "#include <string.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n"
    "static int blind(int dir, const char *path, int flags, int mode)\n"
    "{\n"
    "    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);\n"
    "    if (fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOTDIR || errno == ELOOP "
    "||\n"
    "                   errno == ENXIO || errno == EISDIR))\n"
    "        errno = ENOENT;\n"
    "    return fd;\n"
    "}\n"
    "#define MODE va_list ap; va_start(ap, flags); int mode = va_arg(ap, int); va_end(ap)\n"
    "int open(const char *path, int flags, ...) { MODE; return blind(AT_FDCWD, path, flags, mode); "
    "}\n"
    "int openat(int dir, const char *path, int flags, ...)\n"
    "{ MODE; return blind(dir, path, flags, mode); }\n"
    "int open64(const char *path, int flags, ...)\n"
    "{ MODE; return blind(AT_FDCWD, path, flags, mode); }\n"
    "int openat64(int dir, const char *path, int flags, ...)\n"
    "{ MODE; return blind(dir, path, flags, mode); }\n"
    "FILE *fopen(const char *path, const char *how)\n"
    "{\n"
    "    int flags = strchr(how, '+') ? O_RDWR : how[0] == 'r' ? O_RDONLY : O_WRONLY;\n"
    "    flags |= how[0] == 'w' ? O_CREAT | O_TRUNC : how[0] == 'a' ? O_CREAT | O_APPEND : 0;\n"
    "    int fd = blind(AT_FDCWD, path, flags | (strchr(how, 'e') ? O_CLOEXEC : 0), 0666);\n"
    "    return fd < 0 ? NULL : fdopen(fd, how);\n"
    "}\n"
    "FILE *fopen64(const char *path, const char *how) { return fopen(path, how); }\n";

bool toolchain_blinkers(const struct toolchain *t, char **path, struct error *e)
{
    struct hash h = hash_bytes(blinkers_source, sizeof blinkers_source);
    char *lib = xasprintf("%s/blinkers-%s-%.8s.so", t->cache, t->id, h.hex);
    bool ok = true;
    if (!fs_exists(lib)) {
        char *tmp = temporary_beside(lib, e);
        char *source = tmp ? fs_join(tmp, "b.c") : NULL, *made = tmp ? fs_join(tmp, "b.so") : NULL;
        char *argv[] = {t->gcc,
                        (char[]){"-shared"},
                        (char[]){"-fPIC"},
                        (char[]){"-O2"},
                        (char[]){"-U_FORTIFY_SOURCE"},
                        source,
                        (char[]){"-o"},
                        made,
                        NULL};
        struct buf out = {0};
        ok = tmp && fs_write(source, blinkers_source, sizeof blinkers_source - 1, e) &&
             ask(argv, NULL, &out, e) &&
             (rename(made, lib) == 0 || error_sys(e, "cannot put %s into place", lib));
        if (tmp)
            fs_remove_tree(tmp);
        buf_free(&out);
        free(tmp);
        free(source);
        free(made);
    }
    if (ok)
        *path = lib;
    else
        free(lib);
    return ok;
}

/* ---------------------------------------------------------------- headers */

static bool good_header(const char *h)
{
    if (!*h || *h == '/' || *h == '.' || strstr(h, "..") || strlen(h) > 100)
        return false;
    for (; *h; h++) {
        if (!isalnum((unsigned char)*h) && !strchr("_-./+", *h))
            return false;
    }
    return true;
}

/* The folders that the compiler searches for <...>, in order. */
static bool search_roots(const struct toolchain *t, struct list *roots, struct error *e)
{
    char *argv[] = {t->gcc,
                    (char[]){"-E"},
                    (char[]){"-v"},
                    (char[]){"-x"},
                    (char[]){"c"},
                    (char[]){"/dev/null"},
                    NULL};
    struct buf out = {0};
    bool ok = ask(argv, NULL, &out, e), in = false;
    char *save = NULL;
    for (char *line = ok && out.s ? strtok_r(out.s, "\n", &save) : NULL; line;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "#include <", 10) == 0)
            in = true;
        else if (strncmp(line, "End of search", 13) == 0)
            in = false;
        else if (in && line[0] == ' ')
            list_add(roots, line + 1);
    }
    buf_free(&out);
    if (ok && roots->n == 0)
        ok = error_set(e, ERR_SYSTEM, "%s does not say where it looks for headers", t->gcc);
    return ok;
}

/* All files that the stub includes, by `gcc -M`. */
static bool closure(const struct toolchain *t, const char *stub, const char *define,
                    struct list *files, struct error *e)
{
    char *argv[] = {t->gcc,
                    (char[]){"-M"},
                    (char[]){"-std=gnu11"},
                    (char[]){"-O3"},
                    (char[]){"-march=native"},
                    xstrdup(define),
                    xstrdup(stub),
                    NULL};
    struct buf out = {0};
    bool ok = ask(argv, NULL, &out, e);
    free(argv[5]);
    free(argv[6]);
    char *save = NULL;
    for (char *w = ok && out.s ? strtok_r(out.s, " \n\\", &save) : NULL; w;
         w = strtok_r(NULL, " \n\\", &save)) {
        if (w[0] == '/' && strcmp(w, stub) != 0)
            list_add(files, w);
    }
    buf_free(&out);
    return ok;
}

static bool copy_headers(const struct list *roots, const struct list *files, const char *to,
                         struct buf *manifest, struct error *e)
{
    for (size_t r = 0; r < roots->n; r++) {
        char *dir = xasprintf("%s/%zu", to, r);
        bool ok = fs_mkdirs(dir, e);
        free(dir);
        if (!ok)
            return false;
    }
    for (size_t i = 0; i < files->n; i++) {
        size_t best = roots->n, len = 0;
        for (size_t r = 0; r < roots->n; r++) {
            size_t n = strlen(roots->v[r]);
            if (n > len && strncmp(files->v[i], roots->v[r], n) == 0 && files->v[i][n] == '/')
                best = r, len = n;
        }
        if (best == roots->n)
            return error_set(e, ERR_SYSTEM, "the header %s lies in no folder of the compiler",
                             files->v[i]);
        char *path = xasprintf("%s/%zu%s", to, best, files->v[i] + len);
        bool ok = copy_file(files->v[i], path, e);
        free(path);
        if (!ok)
            return false;
        add_stamp(manifest, files->v[i]);
    }
    return true;
}

static bool make_headers(const struct toolchain *t, const char *const *headers, size_t n,
                         const char *tmp, struct error *e)
{
    struct list roots = {0}, files = {0};
    struct buf stub = {0}, manifest = {0};
    for (size_t i = 0; i < n; i++)
        buf_addf(&stub, "#include <%s>\n", headers[i]);
    char *path = fs_join(tmp, "stub.c"), *list = fs_join(tmp, "manifest");
    /* Also with everything that a candidate could switch on by a feature macro. */
    bool ok = fs_write(path, buf_str(&stub), stub.len, e) && search_roots(t, &roots, e) &&
              closure(t, path, "-U_GNU_SOURCE", &files, e) &&
              closure(t, path, "-D_GNU_SOURCE", &files, e);
    unlink(path);
    buf_addf(&manifest, FORMAT "\nroots %zu\n", roots.n);
    ok = ok && copy_headers(&roots, &files, tmp, &manifest, e);
    add_stamp(&manifest, t->gcc);
    ok = ok && fs_write(list, manifest.s, manifest.len, e);
    free(path);
    free(list);
    buf_free(&stub);
    buf_free(&manifest);
    list_free(&roots);
    list_free(&files);
    return ok;
}

static bool headers_hold(const char *folder, size_t *roots)
{
    char *list = fs_join(folder, "manifest");
    struct buf b = {0};
    bool ok = fs_read(list, 4u << 20, &b, NULL) && b.s &&
              strncmp(b.s, FORMAT "\n", sizeof FORMAT) == 0 && stamps_hold(b.s);
    char *number = ok ? field(b.s, "roots") : NULL;
    *roots = number ? strtoul(number, NULL, 10) : 0;
    free(number);
    free(list);
    buf_free(&b);
    return ok && *roots > 0 && *roots < 16;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool toolchain_headers(const struct toolchain *t, const char *base, const char *const *headers,
                       size_t n, char **folder, size_t *roots, struct error *e)
{
    struct list sorted = {0};
    struct buf key = {0};
    bool ok = n <= HEADERS_MAX || error_set(e, ERR_INPUT, "more than %d headers", HEADERS_MAX);
    for (size_t i = 0; ok && i < n; i++) {
        ok = good_header(headers[i]) ||
             error_set(e, ERR_INPUT, "\"%.100s\" is no name of a header", headers[i]);
        if (ok)
            list_add(&sorted, headers[i]);
    }
    if (sorted.n)
        qsort(sorted.v, sorted.n, sizeof *sorted.v, by_name);
    buf_addf(&key, FORMAT "\n%s\n", t->id);
    for (size_t i = 0; i < sorted.n; i++)
        buf_addf(&key, "%s\n", sorted.v[i]);
    struct hash h = hash_bytes(key.s, key.len);
    char *path = xasprintf("%s/include-%.16s", base, h.hex);
    if (ok && !headers_hold(path, roots)) {
        fs_remove_tree(path); /* made from headers that have changed since */
        char *tmp = temporary_beside(path, e);
        ok = tmp && make_headers(t, (const char *const *)sorted.v, sorted.n, tmp, e) &&
             into_place(tmp, path, e);
        if (ok && !headers_hold(path, roots))
            ok = error_set(e, ERR_SYSTEM, "the header cache %s cannot be read back", path);
        if (!ok && tmp)
            fs_remove_tree(tmp);
        free(tmp);
    }
    list_free(&sorted);
    buf_free(&key);
    if (ok)
        *folder = path;
    else
        free(path);
    return ok;
}
