/* Compiling hostile sources: each of tests/fixtures/c must be refused (or be harmless) in every
 * jail that this machine has, and no byte of the machine's files may come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/proc.h"
#include "core/base/wire.h"
#include "gpu/c/compile.h"

#define SECOND 1000000000LL

static const char header_text[] = "#ifndef TINY_H\n#define TINY_H\n"
                                  "void tiny(int n, const float *x, float *y);\n#endif\n";
static const char shim_text[] =
    "#include \"tiny.h\"\n"
    "__attribute__((visibility(\"default\"))) void warploop_call(const int *dims, void *const *b)\n"
    "{\n    tiny(dims[0], b[0], b[1]);\n}\n";
static const char *const headers[] = {"stddef.h", "stdint.h", "string.h", "math.h", "immintrin.h"};

static const char *jails[4]; /* those that work here */
static size_t njails;
static char *passwd_line; /* must never come back */
static char *cache;

static struct buf borrow(const char *s)
{
    return (struct buf){(char *)(uintptr_t)s, strlen(s), 0};
}

static void fixture(const char *name, struct buf *out)
{
    struct error e = {0};
    char *dir = fs_program_dir();
    char *path = xasprintf("tests/fixtures/c/%s.c", name);
    if (!fs_exists(path)) {
        free(path);
        path = xasprintf("%s/../../../tests/fixtures/c/%s.c", dir, name);
    }
    if (!fs_read(path, 1 << 20, out, &e))
        fail_msg("%s", e.msg);
    free(path);
    free(dir);
}

static void compile_text(struct compiler *c, const char *jail, const char *source, int64_t timeout,
                         struct compile_result *out)
{
    struct buf s = borrow(source), h = borrow(header_text), shim = borrow(shim_text);
    struct compile_request r = {.task = "tiny",
                                .role = "candidate",
                                .jail = jail,
                                .headers = headers,
                                .nheaders = ARRAY_LEN(headers),
                                .source = &s,
                                .header = &h,
                                .shim = &shim,
                                .timeout_ns = timeout};
    compile(c, &r, out);
}

static void compile_fixture(struct compiler *c, const char *jail, const char *name, int64_t timeout,
                            struct compile_result *out)
{
    struct buf source = {0};
    fixture(name, &source);
    compile_text(c, jail, buf_str(&source), timeout, out);
    buf_free(&source);
}

static void no_leak(const char *name, const struct compile_result *r)
{
    const char *secrets[] = {passwd_line, "daemon:", "/usr/sbin/nologin"};
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        size_t n = strlen(secrets[i]);
        if ((r->log.len && memmem(r->log.s, r->log.len, secrets[i], n)) ||
            (r->object.len && memmem(r->object.s, r->object.len, secrets[i], n)) ||
            strstr(r->message, secrets[i]))
            fail_msg("%s: bytes of /etc/passwd came back", name);
    }
}

/* ---------------------------------------------------------------- the honest one */

/* Loads the object in a child and calls it. */
static bool runs(const struct buf *object)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char path[] = "/tmp/warploop-test-XXXXXX";
        int fd = mkstemp(path);
        if (fd < 0 || write(fd, object->s, object->len) != (ssize_t)object->len)
            _exit(2);
        close(fd);
        void *so = dlopen(path, RTLD_NOW);
        unlink(path);
        void (*call)(const int *, void *const *) = NULL;
        void *sym = so ? dlsym(so, "warploop_call") : NULL;
        if (!sym)
            _exit(3);
        memcpy(&call, &sym, sizeof call);
        float x[4] = {0, 1, 2, 3}, y[4] = {0};
        int dims[1] = {4};
        void *buffers[2] = {x, y};
        call(dims, buffers);
        _exit(fabsf(y[1] - expf(1.0f) * 0.5f) < 1e-6f && fabsf(y[0] - 1.0f) < 1e-6f ? 0 : 4);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_honest(void **state)
{
    (void)state;
    struct buf first = {0};
    for (size_t j = 0; j < njails; j++) {
        struct compiler c = {0};
        for (int again = 0; again < 2; again++) {
            struct compile_result r;
            compile_fixture(&c, jails[j], "honest", 60 * SECOND, &r);
            if (r.verdict != COMPILE_OK)
                fail_msg("%s: %s\n%s", jails[j], r.message, buf_str(&r.log));
            assert_true(runs(&r.object));
            assert_true(r.mix.instructions > 5);
            assert_string_equal(r.mix.absent, "");
            assert_non_null(strstr(r.command, "-O3 -march=native"));
            assert_null(strstr(r.command, "/tmp"));
            assert_true(r.seconds > 0 && r.seconds < 30);
            /* The same source gives the same bytes, in whatever jail. */
            if (first.len) {
                assert_int_equal(first.len, r.object.len);
                assert_memory_equal(first.s, r.object.s, first.len);
            } else {
                buf_add(&first, r.object.s, r.object.len);
            }
            /* Names are not in it. */
            assert_null(memmem(r.object.s, r.object.len, "weights", 7));
            compile_result_free(&r);
        }
        compiler_free(&c);
    }
    buf_free(&first);
}

static void test_same_bytes(void **state)
{
    (void)state;
    struct compiler c = {0};
    struct compile_result first, later;
    compile_fixture(&c, jails[0], "timestamps", 60 * SECOND, &first);
    sleep(2);
    compile_fixture(&c, jails[njails - 1], "timestamps", 60 * SECOND, &later);
    assert_int_equal(first.verdict, COMPILE_OK);
    assert_int_equal(later.verdict, COMPILE_OK);
    assert_int_equal(first.object.len, later.object.len);
    assert_memory_equal(first.object.s, later.object.s, first.object.len);
    compile_result_free(&first);
    compile_result_free(&later);
    compiler_free(&c);
}

/* ---------------------------------------------------------------- the hostile ones */

struct hostile {
    const char *name;
    enum compile_verdict verdict;
    const char *says; /* in the message; NULL: anything */
    int line;         /* 0: none or anything */
};

static const struct hostile hostile[] = {
    {"incbin", COMPILE_BUILD, NULL, 0},
    {"incbin_proc", COMPILE_BUILD, NULL, 0},
    {"asm_include", COMPILE_BUILD, NULL, 0},
    {"asm_label", COMPILE_BUILD, NULL, 0},
    {"include_passwd", COMPILE_BUILD, "/etc/passwd", 2},
    {"include_up", COMPILE_BUILD, NULL, 2},
    {"include_computed", COMPILE_BUILD, NULL, 5},
    {"forbidden_header", COMPILE_BUILD, "sys/socket.h", 2},
    {"has_include", COMPILE_OK, NULL, 0},
    {"line_marker", COMPILE_BUILD, "undeclared_name", 0},
    {"line_far", COMPILE_BUILD, "far away", 0},
    {"embed", COMPILE_BUILD, NULL, 0},
    {"constructor", COMPILE_RULE, "initialiser", 0},
    {"destructor", COMPILE_RULE, "initialiser", 0},
    {"init_function", COMPILE_RULE, "initialiser", 0},
    {"init_array", COMPILE_RULE, "initialiser", 0},
    {"ifunc", COMPILE_RULE, "ifunc", 0},
    {"target_clones", COMPILE_RULE, "target_clones", 0},
    {"code_in_data", COMPILE_RULE, "among the code", 0},
    {"code_hidden", COMPILE_RULE, "among the code", 0},
    {"code_section", COMPILE_RULE, NULL, 0},
    {"inline_syscall", COMPILE_RULE, "syscall", 0},
    {"hash_table", COMPILE_RULE, NULL, 0},
    {"dynamic_entry", COMPILE_RULE, NULL, 0},
    {"calls_open", COMPILE_RULE, "calls open", 0},
    {"calls_missing", COMPILE_BUILD, "no_such_function", 0},
    {"export_memcpy", COMPILE_RULE, "exports memcpy", 0},
    {"thread_local", COMPILE_RULE, "thread-local", 0},
    {"nested_function", COMPILE_BUILD, "trampoline", 12},
    {"huge_static", COMPILE_RULE, "static data", 0},
    {"huge_object", COMPILE_BUILD, NULL, 0},
    {"bomb_memory", COMPILE_BUILD, "MiB", 0},
    {"bomb_include", COMPILE_BUILD, "nested", 0},
    {"chatter", COMPILE_BUILD, "MiB", 0},
    {"syntax_error", COMPILE_BUILD, "expected", 5},
    {"forged_words", COMPILE_BUILD, "out of luck", 0},
    {"no_entry", COMPILE_BUILD, "tiny", 0},
};

static void need_jail(void)
{
    if (strcmp(jails[0], "none") != 0)
        return;
    print_message("no jail works here, so nothing hostile is compiled\n");
    skip();
}

static void test_hostile(void **state)
{
    (void)state;
    need_jail();
    for (size_t j = 0; j < njails; j++) {
        struct compiler c = {0};
        for (size_t i = 0; i < ARRAY_LEN(hostile); i++) {
            const struct hostile *h = &hostile[i];
            struct compile_result r;
            compile_fixture(&c, jails[j], h->name, 20 * SECOND, &r);
            no_leak(h->name, &r);
            if (getenv("SHOW"))
                printf("%-8s %-18s %-8s line %d %.2fs: %.200s\n", jails[j], h->name,
                       compile_verdict_name(r.verdict), r.line, r.seconds, r.message);
            if (r.verdict != h->verdict || (h->says && !strstr(r.message, h->says)) ||
                (h->line && r.line != h->line))
                fail_msg("%s in %s: verdict %s, line %d: %s\n%s", h->name, jails[j],
                         compile_verdict_name(r.verdict), r.line, r.message, buf_str(&r.log));
            assert_true(r.log.len <= 16384);
            assert_true((r.object.len > 0) == (r.verdict == COMPILE_OK));
            compile_result_free(&r);
        }
        compiler_free(&c);
    }
}

/* Options by pragma: warnings at most, and no byte of a file. */
static void test_pragmas(void **state)
{
    (void)state;
    need_jail();
    for (size_t j = 0; j < njails; j++) {
        struct compiler c = {0};
        struct compile_result r;
        compile_fixture(&c, jails[j], "pragma_options", 20 * SECOND, &r);
        no_leak("pragma_options", &r);
        assert_true(r.verdict == COMPILE_OK || r.verdict == COMPILE_BUILD);
        compile_result_free(&r);
        compiler_free(&c);
    }
}

/* Processes that have this text among their arguments. */
static int processes_with(const char *text)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *de; d && (de = readdir(d));) {
        char path[300], line[8192];
        snprintf(path, sizeof path, "/proc/%s/cmdline", de->d_name);
        FILE *f = de->d_name[0] >= '0' && de->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        size_t len = f ? fread(line, 1, sizeof line, f) : 0;
        n += len && memmem(line, len, text, strlen(text));
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

/* A bomb is stopped at the deadline, with all of its processes. */
static void test_timeout(void **state)
{
    (void)state;
    const char *bombs[] = {"bomb_macro", "bomb_asm"};
    for (size_t j = 0; j < njails; j++) {
        struct compiler c = {0};
        struct error e = {0};
        assert_true(compiler_ready(&c, jails[j], &e));
        for (size_t i = 0; i < ARRAY_LEN(bombs); i++) {
            struct compile_result r;
            int64_t from = clock_mono_ns();
            compile_fixture(&c, jails[j], bombs[i], SECOND, &r);
            double took = (double)(clock_mono_ns() - from) / 1e9;
            if (r.verdict != COMPILE_TIMEOUT && r.verdict != COMPILE_BUILD)
                fail_msg("%s in %s: %s %s", bombs[i], jails[j], compile_verdict_name(r.verdict),
                         r.message);
            assert_true(took < 4);
            compile_result_free(&r);
        }
        compiler_free(&c);
    }
}

/* A secret in a file that only this test knows, asked for by its path. */
static void test_secret_file(void **state)
{
    (void)state;
    need_jail();
    char path[] = "/tmp/warploop-secret-XXXXXX", hidden[] = "/tmp/warploop-hidden-XXXXXX";
    int other = mkstemp(hidden);
    assert_true(other >= 0);
    close(other);
    static const char secret[] = "sesame-4711-open";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, secret, strlen(secret)), (ssize_t)strlen(secret));
    close(fd);
    for (size_t j = 0; j < njails; j++) {
        const char *const forms[] = {
            "#include \"tiny.h\"\n__asm__(\".incbin \\\"%s\\\"\");\n",
            "#include \"tiny.h\"\n#include \"%s\"\n",
            "#include \"tiny.h\"\n__asm__(\".include \\\"%s\\\"\");\n",
            "#include \"tiny.h\"\n#include \"%s/x\"\n",
            "#include \"tiny.h\"\n#pragma GCC dependency \"%s\"\nint x = y;\n",
            "#include \"tiny.h\"\n# 1 \"%s\"\nint x = y;\n",
        };
        for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
            struct buf s = {0};
            const char *at = strstr(forms[i], "%s");
            buf_add(&s, forms[i], (size_t)(at - forms[i]));
            buf_adds(&s, path);
            buf_adds(&s, at + 2);
            struct compiler c = {0};
            struct compile_result r;
            compile_text(&c, jails[j], s.s, 20 * SECOND, &r);
            assert_int_equal(r.verdict, COMPILE_BUILD);
            assert_null(strstr(buf_str(&r.log), "sesame"));
            /* What is said must be the same when there is no such file. */
            struct compile_result without;
            assert_int_equal(rename(path, hidden), 0);
            compile_text(&c, jails[j], s.s, 20 * SECOND, &without);
            assert_int_equal(rename(hidden, path), 0);
            assert_string_equal(buf_str(&r.log), buf_str(&without.log));
            compile_result_free(&without);
            compile_result_free(&r);
            compiler_free(&c);
            buf_free(&s);
        }
        /* Nor can it be seen that the file is there. */
        struct buf s = {0};
        buf_addf(&s,
                 "#include \"tiny.h\"\n#if __has_include(\"%s\")\n#error there\n#endif\n"
                 "void tiny(int n, const float *x, float *y) { y[0] = x[n]; }\n",
                 path);
        struct compiler c = {0};
        struct compile_result r;
        compile_text(&c, jails[j], s.s, 20 * SECOND, &r);
        if (r.verdict != COMPILE_OK)
            fail_msg("%s: %s", jails[j], r.message);
        compile_result_free(&r);
        compiler_free(&c);
        buf_free(&s);
    }
    unlink(path);
}

/* Several builders fill one empty cache at once. */
static void test_concurrent(void **state)
{
    (void)state;
    char dir[] = "/tmp/warploop-cache-XXXXXX";
    assert_non_null(mkdtemp(dir));
    pid_t pids[4];
    fflush(NULL);
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            setenv("XDG_CACHE_HOME", dir, 1);
            struct compiler c = {0};
            struct compile_result r;
            compile_fixture(&c, jails[i % njails], "honest", 60 * SECOND, &r);
            _exit(r.verdict == COMPILE_OK ? 0 : 1);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
        int status = 1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    struct stat st;
    char *sub = fs_join(dir, "warploop");
    assert_int_equal(stat(sub, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    free(sub);
    fs_remove_tree(dir);
}

/* A damaged cache is found out and made again. */
static void test_damaged_cache(void **state)
{
    (void)state;
    char dir[] = "/tmp/warploop-cache-XXXXXX", command[300];
    assert_non_null(mkdtemp(dir));
    char *old = xstrdup(getenv("XDG_CACHE_HOME"));
    setenv("XDG_CACHE_HOME", dir, 1);
    for (int i = 0; i < 3; i++) {
        struct compiler c = {0};
        struct compile_result r;
        compile_fixture(&c, jails[0], "honest", 60 * SECOND, &r);
        assert_int_equal(r.verdict, COMPILE_OK);
        compile_result_free(&r);
        compiler_free(&c);
        snprintf(command, sizeof command,
                 "find %s \\( -name 'tools-*' -o -name manifest \\) -exec sh -c '%s' x {} \\;", dir,
                 i == 0 ? "echo junk >$1" : "rm -f $1");
        assert_int_equal(system(command), 0);
    }
    setenv("XDG_CACHE_HOME", old, 1);
    free(old);
    fs_remove_tree(dir);
}

static void test_bad_requests(void **state)
{
    (void)state;
    struct compiler c = {0};
    struct buf s = borrow(""), h = borrow(header_text);
    const char *evil[] = {"../../etc/passwd"}, *gone[] = {"no/such/header.h"};
    struct compile_request r = {.task = "../x",
                                .role = "candidate",
                                .jail = jails[0],
                                .source = &s,
                                .header = &h,
                                .shim = &h,
                                .timeout_ns = SECOND};
    struct compile_result out;
    compile(&c, &r, &out);
    assert_int_equal(out.verdict, COMPILE_INFRA);
    compile_result_free(&out);
    r.task = "tiny";
    r.role = "a/b";
    compile(&c, &r, &out);
    assert_int_equal(out.verdict, COMPILE_INFRA);
    compile_result_free(&out);
    r.role = "candidate";
    r.headers = evil;
    r.nheaders = 1;
    compile(&c, &r, &out);
    assert_int_equal(out.verdict, COMPILE_INFRA);
    assert_non_null(strstr(out.message, "passwd"));
    compile_result_free(&out);
    r.headers = gone;
    compile(&c, &r, &out);
    assert_int_equal(out.verdict, COMPILE_INFRA);
    assert_non_null(strstr(out.message, "no/such/header.h"));
    compile_result_free(&out);
    r.jail = "cellar";
    compile(&c, &r, &out);
    assert_int_equal(out.verdict, COMPILE_INFRA);
    compile_result_free(&out);
    compiler_free(&c);
}

/* ---------------------------------------------------------------- the program */

static void send_build(struct proc *p, const char *jail, const char *role, const char *source)
{
    struct error e = {0};
    struct wire_msg m = {.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m.head, "op", "build");
    cJSON_AddStringToObject(m.head, "id", "1");
    cJSON_AddStringToObject(m.head, "backend", "c");
    cJSON_AddStringToObject(m.head, "task", "tiny");
    cJSON_AddStringToObject(m.head, "role", role);
    cJSON_AddStringToObject(m.head, "jail", jail);
    cJSON_AddNumberToObject(m.head, "timeout_ms", 20000);
    cJSON_AddItemToObject(m.head, "headers",
                          cJSON_CreateStringArray(headers, (int)ARRAY_LEN(headers)));
    wire_add_part(&m, "source", source, strlen(source));
    wire_add_part(&m, "header", header_text, strlen(header_text));
    wire_add_part(&m, "shim", shim_text, strlen(shim_text));
    if (!wire_send(p->wire, &m, &e))
        fail_msg("%s", e.msg);
    wire_msg_free(&m);
}

static void start_program(struct proc *p)
{
    const char *bin = getenv("WARPLOOP_BIN");
    char *dir = fs_program_dir();
    char *path =
        bin ? fs_join(bin, "warploop-build") : xasprintf("%s/../../bin/warploop-build", dir);
    char *xdg = xasprintf("XDG_CACHE_HOME=%s", cache);
    char *argv[] = {path, NULL}, *env[] = {xdg, NULL};
    struct error e = {0};
    if (!proc_start(p, argv, env, &e))
        fail_msg("%s", e.msg);
    free(dir);
    free(path);
    free(xdg);
}

static void test_program(void **state)
{
    (void)state;
    struct proc p;
    struct error e = {0};
    struct buf honest = {0};
    start_program(&p);
    struct wire_reader rd = {.fd = p.wire};
    fixture("honest", &honest);
    send_build(&p, jails[0], "baseline", honest.s);
    send_build(&p, jails[0], "candidate", "#include \"tiny.h\"\nint \xff;\n");
    struct wire_msg m;
    assert_int_equal(wire_read(&rd, true, &m, &e), WIRE_MSG);
    assert_string_equal(json_str(m.head, "type", ""), "built");
    assert_string_equal(json_str(m.head, "id", ""), "1");
    assert_string_equal(json_str(m.head, "verdict", ""), "ok");
    assert_non_null(wire_part(&m, "object"));
    assert_true(runs(wire_part(&m, "object")));
    assert_true(strlen(json_str(m.head, "jail", "")) > 4);
    assert_non_null(strstr(json_str(m.head, "compiler", ""), "gcc"));
    const cJSON *mix = cJSON_GetObjectItemCaseSensitive(m.head, "mix");
    assert_true(json_num(mix, "instructions", 0) > 5);
    wire_msg_free(&m);
    assert_int_equal(wire_read(&rd, true, &m, &e), WIRE_MSG);
    assert_string_equal(json_str(m.head, "verdict", ""), "build");
    assert_int_equal((int)json_num(m.head, "line", 0), 2);
    assert_null(wire_part(&m, "object"));
    wire_msg_free(&m);
    wire_reader_free(&rd);
    buf_free(&honest);
    shutdown(p.wire, 1);
    int status = proc_wait(&p);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Killed in the middle of a build, it leaves no compiler behind; the scratch folder that stays is
 * removed by a later one, once it is old. */
static void test_program_killed(void **state)
{
    (void)state;
    char tmp[] = "/tmp/warploop-test-tmp-XXXXXX", role[40], file[44];
    snprintf(role, sizeof role, "killed%d", (int)getpid());
    snprintf(file, sizeof file, "%s.c", role);
    assert_non_null(mkdtemp(tmp));
    setenv("TMPDIR", tmp, 1);
    for (size_t j = 0; j < njails; j++) {
        struct proc p;
        struct buf bomb = {0};
        start_program(&p);
        fixture("bomb_macro", &bomb);
        send_build(&p, jails[j], role, bomb.s);
        buf_free(&bomb);
        for (int i = 0; i < 500 && processes_with(file) == 0; i++)
            usleep(10000);
        assert_true(processes_with(file) > 0);
        proc_kill(&p);
        for (int i = 0; i < 300 && processes_with(file) > 0; i++)
            usleep(10000);
        assert_int_equal(processes_with(file), 0);
    }
    char command[300];
    snprintf(command, sizeof command,
             "ls -d %s/warploop-build-* >/dev/null 2>&1 && touch -d '2 minutes ago' %s/*", tmp,
             tmp);
    if (system(command) == 0) { /* else all were in roots of their own */
        struct compiler c = {0};
        struct compile_result r;
        compile_fixture(&c, strcmp(jails[0], "bwrap") == 0 ? jails[0] : "none", "honest",
                        60 * SECOND, &r);
        compile_result_free(&r);
        compiler_free(&c);
        snprintf(command, sizeof command, "test -z \"$(ls -A %s)\"", tmp);
        assert_int_equal(system(command), 0);
    }
    unsetenv("TMPDIR");
    fs_remove_tree(tmp);
}

static int set_up(void **state)
{
    (void)state;
    setvbuf(stdout, NULL, _IOLBF, 0);
    static const char *const kinds[] = {"bwrap", "landlock", "chroot"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct jail_report r;
        struct error e = {0};
        if (jail_probe(kinds[i], &r, &e)) {
            jails[njails++] = kinds[i];
            printf("# jail: %s\n", r.text);
        } else {
            printf("# not here, so not tested: %s\n", e.msg);
        }
    }
    if (!njails) {
        printf("# no jail works here: only the limits are tested\n");
        jails[njails++] = "none";
    }
    struct buf b = {0};
    if (!fs_read("/etc/passwd", 1 << 20, &b, NULL) || !b.len)
        return -1;
    passwd_line = xstrndup(b.s, strcspn(b.s, "\n"));
    buf_free(&b);
    char dir[] = "/tmp/warploop-test-cache-XXXXXX";
    if (!mkdtemp(dir))
        return -1;
    cache = xstrdup(dir);
    setenv("XDG_CACHE_HOME", cache, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(cache);
    free(cache);
    free(passwd_line);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_honest),         cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_hostile),        cmocka_unit_test(test_pragmas),
        cmocka_unit_test(test_timeout),        cmocka_unit_test(test_secret_file),
        cmocka_unit_test(test_concurrent),     cmocka_unit_test(test_damaged_cache),
        cmocka_unit_test(test_bad_requests),   cmocka_unit_test(test_program),
        cmocka_unit_test(test_program_killed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
