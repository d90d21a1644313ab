#include "gpu/c/compile.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "gpu/c/elfcheck.h"

#define LOG_KEEP     (8u << 10) /* at each end */
#define LOG_MAX      (4u << 20)
#define DISASM_MAX   (32u << 20)
#define MEMORY_MAX   (2ull << 30)
#define FILE_MAX     (32ull << 20)
#define ENTRY        "warploop_call"
#define OBJECT       "kernel.so"
#define STRIPPED     "stripped.so"
#define INCLUDE_LINK "include"
#define SCRATCH      "warploop-build-"

/* Everything that changes what the compiler makes of a source. The last lines switch off what
 * distributions switch on each in their own way, so that a number means the same everywhere. */
static const char *const flags[] = {
    "-std=gnu11",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-fast-math",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-nostartfiles",
    "-fno-lto",
    "-fno-use-linker-plugin",
    "-fno-stack-protector",
    "-fno-stack-clash-protection",
#if defined(__x86_64__)
    "-fcf-protection=none",
#endif
    "-U_FORTIFY_SOURCE",
    "-pipe",
    "-Werror=trampolines", /* they would need an executable stack */
    "-fmax-errors=20",
    "-fno-diagnostics-show-caret", /* else a forged line marker shows lines of other files */
    "-fdiagnostics-color=never",
    "-Wa,--keep-locals",
    "-Wl,--discard-none",
    "-Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code",
    "-Wl,--build-id=none,--hash-style=gnu,--as-needed,--no-undefined",
    "-nostdinc",
};

const char *compile_verdict_name(enum compile_verdict v)
{
    switch (v) {
    case COMPILE_OK:
        return "ok";
    case COMPILE_RULE:
        return "rule";
    case COMPILE_BUILD:
        return "build";
    case COMPILE_TIMEOUT:
        return "timeout";
    case COMPILE_INFRA:
        return "infra";
    }
    return "infra";
}

void compile_result_free(struct compile_result *r)
{
    free(r->command);
    buf_free(&r->log);
    buf_free(&r->object);
    *r = (struct compile_result){0};
}

bool compiler_ready(struct compiler *c, const char *jail, struct error *e)
{
    if (!jail)
        jail = "auto";
    if (c->ready && strcmp(c->want, jail) == 0)
        return true;
    if (!c->tools.gcc && !toolchain_open(&c->tools, e))
        return false;
    c->ready = false;
    if (!jail_probe(jail, &c->jail, e))
        return false;
    snprintf(c->want, sizeof c->want, "%s", jail);
    c->ready = true;
    return true;
}

void compiler_free(struct compiler *c)
{
    toolchain_free(&c->tools);
    *c = (struct compiler){0};
}

/* ---------------------------------------------------------------- one build */

struct build {
    struct compiler *c;
    const struct compile_request *r;
    struct compile_result *out;
    char *root;    /* of a jail that changes its root, or NULL */
    char *include; /* the folder of the headers */
    size_t roots;
    char *scratch;
    int lock;   /* on the scratch folder, or -1 */
    char *file; /* "candidate.c" */
    struct jail_path *see;
    size_t nsee;
    char *blinkers; /* library that hides what exists, or NULL */
    char *env[7];
    int64_t started, deadline;
};

static bool PRINTF_LIKE(3, 4) verdict(struct build *b, enum compile_verdict v, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    b->out->verdict = v;
    vsnprintf(b->out->message, sizeof b->out->message, fmt, ap);
    va_end(ap);
    return v == COMPILE_OK;
}

static bool infra(struct build *b, const struct error *e)
{
    return verdict(b, COMPILE_INFRA, "%s", e->msg);
}

static bool put(struct build *b, const char *name, const struct buf *text)
{
    struct error e = {0};
    char *path = fs_join(b->scratch, name);
    FILE *f = fopen(path, "we");
    /* __TIMESTAMP__ is the time of the file: the same source must give the same bytes. */
    static const struct timespec epoch[2] = {{0, 0}, {0, 0}};
    bool ok = f && fwrite(buf_str(text), 1, text->len, f) == text->len && fflush(f) == 0 &&
              futimens(fileno(f), epoch) == 0;
    if (f && fclose(f) != 0)
        ok = false;
    if (!ok) {
        error_sys(&e, "cannot write %s", path);
        infra(b, &e);
    }
    free(path);
    return ok;
}

static bool plain_name(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_' &&
            s[i] != '-')
            return false;
    }
    return n > 0 && n < 64;
}

/* What the jailed programs see, and under which name the headers are there. */
static bool prepare_view(struct build *b, struct error *e)
{
    struct toolchain *t = &b->c->tools;
    const struct jail_report *j = &b->c->jail;
    bool chrooted = j->chroot;
    if (chrooted && !toolchain_root(t, &b->root, e))
        return false;
    if (!toolchain_headers(t, chrooted ? b->root : t->cache, b->r->headers, b->r->nheaders,
                           &b->include, &b->roots, e))
        return false;
    if (j->kind == JAIL_LANDLOCK && !chrooted && !toolchain_blinkers(t, &b->blinkers, e))
        return false;
    b->see = xcalloc(t->nfiles + 2, sizeof *b->see);
    for (size_t i = 0; i < t->nfiles; i++)
        b->see[i].path = t->files[i];
    b->nsee = t->nfiles;
    if (b->blinkers)
        b->see[b->nsee++].path = b->blinkers;
    b->see[b->nsee++] = (struct jail_path){
        .path = chrooted ? b->include + strlen(b->root) : b->include, .as = "/include"};
    b->env[0] = xasprintf("PATH=%s", t->path);
    b->env[1] = xasprintf("LD_LIBRARY_PATH=%s", t->libs);
    b->env[2] = xstrdup("LC_ALL=C");
    b->env[3] = xstrdup("TMPDIR=.");
    b->env[4] = xstrdup("SOURCE_DATE_EPOCH=0");
    b->env[5] = b->blinkers ? xasprintf("LD_PRELOAD=%s", b->blinkers) : NULL;
    return true;
}

/* Scratch folders are locked while they are used. One that can be locked belongs to a build that
 * was killed, and goes. */
static void sweep(const char *base)
{
    DIR *d = opendir(base);
    for (struct dirent *de; d && (de = readdir(d));) {
        if (strncmp(de->d_name, SCRATCH, sizeof SCRATCH - 1) != 0)
            continue;
        char *path = fs_join(base, de->d_name);
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            time(NULL) - st.st_mtime > 60 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            fs_remove_tree(path);
        if (fd >= 0)
            close(fd);
        free(path);
    }
    if (d)
        closedir(d);
}

static bool prepare_scratch(struct build *b, struct error *e)
{
    const char *tmp = getenv("TMPDIR");
    const char *base = b->root ? b->root : tmp && tmp[0] == '/' ? tmp : "/tmp";
    if (!b->c->swept)
        sweep(base);
    b->c->swept = true;
    char *path = xasprintf("%s/" SCRATCH "XXXXXX", base);
    b->scratch = mkdtemp(path);
    if (!b->scratch) {
        error_sys(e, "cannot make a scratch folder in %s (set TMPDIR to choose another)", base);
        free(path);
        return false;
    }
    b->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (b->lock < 0 || flock(b->lock, LOCK_EX | LOCK_NB) != 0)
        return error_sys(e, "cannot lock the scratch folder %s", path);
    const struct jail_path *inc = &b->see[b->nsee - 1];
    char *link = fs_join(b->scratch, INCLUDE_LINK);
    bool ok = symlink(b->c->jail.kind == JAIL_BWRAP ? inc->as : inc->path, link) == 0 ||
              error_sys(e, "cannot make %s", link);
    free(link);
    return ok;
}

static bool prepare(struct build *b)
{
    struct error e = {0};
    if (!plain_name(b->r->task) || !plain_name(b->r->role))
        return verdict(b, COMPILE_INFRA, "the build request names no task or role");
    b->file = xasprintf("%s.c", b->r->role);
    if (!compiler_ready(b->c, b->r->jail, &e) || !prepare_view(b, &e) || !prepare_scratch(b, &e))
        return infra(b, &e);
    char *header = xasprintf("%s.h", b->r->task);
    bool ok = put(b, b->file, b->r->source) && put(b, header, b->r->header) &&
              put(b, "shim.c", b->r->shim);
    free(header);
    return ok;
}

static void finish(struct build *b)
{
    if (b->scratch)
        fs_remove_tree(b->scratch);
    if (b->lock >= 0)
        close(b->lock);
    free(b->scratch);
    free(b->root);
    free(b->include);
    free(b->blinkers);
    free(b->file);
    free(b->see);
    for (size_t i = 0; i < ARRAY_LEN(b->env); i++)
        free(b->env[i]);
    b->out->seconds = (double)(clock_mono_ns() - b->started) / 1e9;
}

/* ---------------------------------------------------------------- programs in the jail */

static bool start(struct build *b, char *const argv[], struct jail_proc *p, struct error *e)
{
    int64_t left = (b->deadline - clock_mono_ns()) / 1000000000 + 1;
    struct jail_spec s = {.jail = &b->c->jail,
                          .root = b->root,
                          .see = b->see,
                          .nsee = b->nsee,
                          .scratch = b->scratch,
                          .env = (const char *const *)b->env,
                          .limits = {.cpu_s = (unsigned)(left > 0 ? left : 1),
                                     .memory = MEMORY_MAX,
                                     .file = FILE_MAX}};
    return jail_start(&s, argv, p, e);
}

/* The command line; the caller frees the vector and its strings. */
static char **command_line(const struct build *b)
{
    char **v = NULL;
    size_t n = 0, cap = 0;
#define ADD(s)                                                                                     \
    do {                                                                                           \
        VEC_ROOM(v, n, cap);                                                                       \
        v[n++] = (s);                                                                              \
    } while (0)
    ADD(xstrdup(b->c->tools.gcc));
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        ADD(xstrdup(flags[i]));
    for (size_t i = 0; i < b->roots; i++) {
        ADD(xstrdup("-isystem"));
        ADD(xasprintf(INCLUDE_LINK "/%zu", i));
    }
    ADD(xstrdup(b->file));
    ADD(xstrdup("shim.c"));
    ADD(xstrdup("-o"));
    ADD(xstrdup(OBJECT));
    ADD(xstrdup("-lm"));
    VEC_ROOM(v, n, cap);
    v[n] = NULL;
#undef ADD
    return v;
}

static char *command_text(char *const argv[])
{
    struct buf b = {0};
    buf_adds(&b, "SOURCE_DATE_EPOCH=0 gcc");
    for (size_t i = 1; argv[i]; i++)
        buf_addf(&b, " %s", argv[i]);
    return buf_take(&b);
}

/* Temporary objects have random names: "./ccAbCdEf.o" becomes "kernel.o". */
static void plain_log(struct buf *log)
{
    struct buf out = {0};
    for (size_t i = 0; i < log->len; i++) {
        const char *s = log->s + i;
        size_t left = log->len - i, k = 2;
        if (left >= 12 && memcmp(s, "./cc", 4) == 0) {
            for (k = 4; k < 10 && isalnum((unsigned char)s[k]); k++)
                ;
            if (k == 10 && s[10] == '.' && (s[11] == 'o' || s[11] == 's')) {
                buf_addf(&out, "kernel.%c", s[11]);
                i += 11;
                continue;
            }
        }
        buf_addc(&out, *s);
    }
    buf_free(log);
    *log = out;
}

static int count_lines(const struct buf *b)
{
    int n = 1;
    for (size_t i = 0; i < b->len; i++)
        n += b->s[i] == '\n';
    return n;
}

/* The line that the first error in the source's own file names. A forged line marker can make this
 * any number; one beyond the file is dropped. */
static int error_line(const struct build *b)
{
    size_t n = strlen(b->file);
    for (const char *s = buf_str(&b->out->log); *s; s += strcspn(s, "\n"), s += *s == '\n') {
        if (strncmp(s, b->file, n) != 0 || s[n] != ':' || !isdigit((unsigned char)s[n + 1]))
            continue;
        size_t len = strcspn(s, "\n");
        if (!memmem(s, len, " error: ", 8) && !memmem(s, len, " fatal error: ", 14))
            continue;
        long line = strtol(s + n + 1, NULL, 10);
        return line > 0 && line <= count_lines(b->r->source) ? (int)line : 0;
    }
    return 0;
}

/* The first lines that say what is wrong: errors and missing functions, else the log's beginning.
 */
static void first_errors(struct build *b)
{
    static const char *const marks[] = {"error: ", "undefined reference", "multiple definition",
                                        "Error: "};
    struct buf m = {0};
    int lines = 0;
    for (const char *s = buf_str(&b->out->log); *s && lines < 3;
         s += strcspn(s, "\n"), s += *s == '\n') {
        size_t len = strcspn(s, "\n");
        for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
            if (memmem(s, len, marks[i], strlen(marks[i]))) {
                buf_addf(&m, "%s%.*s", lines++ ? "\n" : "", (int)(len < 380 ? len : 380), s);
                break;
            }
        }
    }
    const char *log = buf_str(&b->out->log);
    if (!lines)
        buf_addf(&m, "%.*s", (int)(strlen(log) < 600 ? strlen(log) : 600),
                 *log ? log : "the compiler failed and said nothing");
    verdict(b, COMPILE_BUILD, "%s", buf_str(&m));
    b->out->line = error_line(b);
    buf_free(&m);
}

/* The compiler ended with an error. Text in the log decides nothing but the words: only a jail that
 * does not work any more makes it the machine's fault. */
static bool explain(struct build *b, int status, enum jail_end why)
{
    const char *log = buf_str(&b->out->log);
    if (why == JAIL_END_TIMEOUT || strstr(log, "CPU time limit exceeded"))
        return verdict(b, COMPILE_TIMEOUT, "the source takes longer than %.0f s to compile",
                       (double)b->r->timeout_ns / 1e9);
    if (why == JAIL_END_OUTPUT)
        return verdict(b, COMPILE_BUILD, "the compiler printed more than %u MiB of messages",
                       LOG_MAX >> 20);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (code == 125 || code == 126 || strncmp(log, "bwrap: ", 7) == 0) {
        struct jail_report again;
        struct error e = {0};
        b->c->ready = false;
        if (!jail_probe(b->r->jail, &again, &e))
            return infra(b, &e);
        if (again.kind != b->c->jail.kind || code == 125 || code == 126)
            return verdict(b, COMPILE_INFRA,
                           "the compiler could not be started in its jail: %.300s", log);
    }
    first_errors(b);
    if (strstr(log, "out of memory") || strstr(log, "memory exhausted") ||
        strstr(log, "cannot allocate"))
        verdict(b, COMPILE_BUILD, "the compiler needs more than %llu MiB for this source",
                MEMORY_MAX >> 20);
    else if (strstr(log, "File size limit exceeded") || strstr(log, "file too large"))
        verdict(b, COMPILE_BUILD, "the compiled kernel is larger than %llu MiB", FILE_MAX >> 20);
    return false;
}

static bool run_compiler(struct build *b)
{
    struct error e = {0};
    struct jail_proc p;
    size_t total = 0;
    enum jail_end why = JAIL_END_ITSELF;
    char **argv = command_line(b);
    b->out->command = command_text(argv);
    bool started = start(b, argv, &p, &e);
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
    if (!started)
        return infra(b, &e);
    int status = jail_wait(&p, b->deadline, LOG_KEEP, LOG_MAX, &b->out->log, &total, &why);
    plain_log(&b->out->log);
    if (why == JAIL_END_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    return explain(b, status, why);
}

/* Read a file that the jailed programs made: a plain file, never a link to elsewhere. */
static bool fetch(struct build *b, const char *name, struct buf *out, struct error *e)
{
    char *path = fs_join(b->scratch, name);
    struct stat st;
    bool ok = lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    if (!ok)
        error_set(e, ERR_SYSTEM, "the tools left no %s", name);
    ok = ok && fs_read(path, FILE_MAX, out, e);
    free(path);
    return ok;
}

static bool check_object(struct build *b)
{
    struct error e = {0};
    struct buf linked = {0};
    char why[600];
    bool ok = fetch(b, OBJECT, &linked, &e) || infra(b, &e);
    if (ok && !elfcheck(linked.s, linked.len, ENTRY, strcmp(b->r->role, "reference") == 0, why,
                        sizeof why))
        ok = verdict(b, COMPILE_RULE, "%s", why);
    buf_free(&linked);
    return ok;
}

static void absent(struct build *b, const char *why)
{
    snprintf(b->out->mix.absent, sizeof b->out->mix.absent, "%.150s", why);
}

/* Strip and disassemble side by side; both only read the linked object. */
static bool strip_and_count(struct build *b)
{
    struct toolchain *t = &b->c->tools;
    char *strip[] = {
        t->strip,       (char[]){"--strip-all"}, (char[]){"-R"},   (char[]){".comment"},
        (char[]){"-o"}, (char[]){STRIPPED},      (char[]){OBJECT}, NULL};
    char *dump[] = {t->objdump, (char[]){"-d"}, (char[]){"--no-show-raw-insn"}, (char[]){OBJECT},
                    NULL};
    struct error e = {0};
    struct jail_proc ps, pd;
    struct buf said = {0}, text = {0};
    size_t total = 0;
    enum jail_end why = JAIL_END_ITSELF;
    if (!start(b, strip, &ps, &e))
        return infra(b, &e);
    bool dumping = t->objdump && start(b, dump, &pd, &e);
    if (!dumping) {
        absent(b, t->objdump ? e.msg : "objdump is not installed");
    } else {
        int status = jail_wait(&pd, b->deadline, DISASM_MAX, DISASM_MAX, &text, &total, &why);
        if (why == JAIL_END_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) == 0)
            disasm_count(buf_str(&text), text.len, &b->out->mix);
        else
            absent(b, why == JAIL_END_ITSELF ? "objdump failed" : "objdump took too long");
    }
    int status = jail_wait(&ps, b->deadline, 1024, LOG_MAX, &said, &total, &why);
    bool ok = why == JAIL_END_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ok)
        verdict(b, why == JAIL_END_TIMEOUT ? COMPILE_TIMEOUT : COMPILE_INFRA,
                "the built kernel could not be stripped: %.300s", buf_str(&said));
    ok = ok && (fetch(b, STRIPPED, &b->out->object, &e) || infra(b, &e));
    buf_free(&said);
    buf_free(&text);
    if (ok && b->out->mix.forbidden[0])
        ok = verdict(b, COMPILE_RULE,
                     "the kernel contains the instruction %s, which no C code needs (inline "
                     "assembly or machine code in data); write C",
                     b->out->mix.forbidden);
    return ok;
}

void compile(struct compiler *c, const struct compile_request *r, struct compile_result *out)
{
    struct build b = {.c = c, .r = r, .out = out, .started = clock_mono_ns(), .lock = -1};
    *out = (struct compile_result){0};
    b.deadline = b.started + r->timeout_ns;
    absent(&b, "the kernel was not built");
    if (prepare(&b) && run_compiler(&b) && check_object(&b) && strip_and_count(&b))
        out->verdict = COMPILE_OK;
    else
        buf_clear(&out->object);
    finish(&b);
}
