/* The jail: a small program is built and started in each kind that this machine has; it tries what
 * it should not be able to do and says what came of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "gpu/c/jail.h"

#define SECOND 1000000000LL

/* Each argument is one try; one line of answer each. */
static const char prisoner[] =
    "#define _GNU_SOURCE\n"
    "#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>\n"
    "#include <stdlib.h>\n#include <string.h>\n#include <sys/resource.h>\n"
    "#include <sys/socket.h>\n#include <sys/stat.h>\n#include <sys/syscall.h>\n"
    "#include <unistd.h>\n"
    "extern char **environ;\n"
    "static int try(const char *a) {\n"
    "  if (!strncmp(a, \"read:\", 5)) return open(a + 5, O_RDONLY);\n"
    "  if (!strncmp(a, \"write:\", 6)) return open(a + 6, O_WRONLY | O_CREAT, 0600);\n"
    "  if (!strncmp(a, \"exec:\", 5)) { char *v[] = {\"x\", 0}; return execv(a + 5, v); }\n"
    "  if (!strcmp(a, \"socket\")) return socket(AF_INET, SOCK_STREAM, 0);\n"
    "  if (!strcmp(a, \"unix\")) return socket(AF_UNIX, SOCK_STREAM, 0);\n"
    "  if (!strcmp(a, \"ptrace\")) return (int)syscall(SYS_ptrace, 0, 0, 0, 0);\n"
    "  if (!strcmp(a, \"uring\")) return (int)syscall(SYS_io_uring_setup, 8, 0);\n"
    "  if (!strcmp(a, \"userns\")) return (int)syscall(SYS_unshare, 0x10000000);\n"
    "  if (!strcmp(a, \"setsid\")) return (int)syscall(SYS_setsid);\n"
    "  if (!strncmp(a, \"kill:\", 5)) return kill(atoi(a + 5), 0);\n"
    "  if (!strcmp(a, \"memory\")) return malloc(1ul << 30) ? 0 : -1;\n"
    "  if (!strcmp(a, \"stdin\")) { char c; return read(0, &c, 1) == 0 ? 0 : -1; }\n"
    "  if (!strncmp(a, \"fd:\", 3)) return fcntl(atoi(a + 3), F_GETFD);\n"
    "  if (!strcmp(a, \"nothing\")) return 0;\n"
    "  if (!strcmp(a, \"env\")) { for (char **e = environ; *e; e++) puts(*e); return 0; }\n"
    "  if (!strcmp(a, \"pid\")) { printf(\"pid %d\\n\", (int)getpid()); return 0; }\n"
    "  if (!strcmp(a, \"loop\")) for (;;) ;\n"
    "  if (!strcmp(a, \"cpu\")) { signal(SIGXCPU, SIG_IGN); for (;;) ; }\n"
    "  if (!strcmp(a, \"flood\")) for (;;) puts(\"0123456789012345678901234567890123456789\");\n"
    "  if (!strcmp(a, \"big\")) { signal(SIGXFSZ, SIG_IGN); int f = open(\"big\", O_RDWR | "
    "O_CREAT, 0600);\n"
    "    static char b[1 << 20]; for (int i = 0; i < 64; i++) if (write(f, b, sizeof b) < 0) "
    "return -1;\n"
    "    return 0; }\n"
    "  if (!strcmp(a, \"family\")) { for (int i = 0; i < 5; i++) if (fork() == 0) { setpgid(0, "
    "0);\n"
    "    for (;;) pause(); } for (;;) pause(); }\n"
    "  if (!strcmp(a, \"orphan\")) { if (fork() == 0) { setpgid(0, 0); for (;;) pause(); } return "
    "0; }\n"
    "  if (!strncmp(a, \"exit:\", 5)) { fflush(stdout); _exit(atoi(a + 5)); }\n"
    "  if (!strcmp(a, \"closed\")) { fflush(stdout); close(1); close(2); usleep(200000); _exit(5); "
    "}\n"
    "  if (!strcmp(a, \"crash\")) raise(SIGSEGV);\n"
    "  return -2; }\n"
    "int main(int n, char **v) { for (int i = 1; i < n; i++) { errno = 0; int r = try(v[i]);\n"
    "  if (r == -2) printf(\"%s ?\\n\", v[i]); else\n"
    "  printf(\"%s %s\\n\", v[i], r >= 0 ? \"yes\" : errno == EPERM ? \"EPERM\" : errno == ENOENT "
    "?\n"
    "  \"ENOENT\" : errno == EACCES ? \"EACCES\" : errno == EROFS ? \"EROFS\" : \"no\"); "
    "fflush(stdout); }\n"
    "  return 0; }\n";

static struct jail_report jails[3];
static size_t njails;
static char *dir, *program, *scratch;

/* Start the prisoner with these tries; its answers go to *out. */
static int go(const struct jail_report *jail, char *const tries[], double seconds, size_t max,
              struct buf *out, enum jail_end *why)
{
    static const char *const libs[] = {"/lib", "/lib64", "/usr/lib"};
    struct jail_path see[ARRAY_LEN(libs) + 1];
    size_t nsee = 0, n = 0, cap = 0, total = 0;
    for (size_t i = 0; i < ARRAY_LEN(libs); i++) {
        if (fs_exists(libs[i]))
            see[nsee++] = (struct jail_path){.path = libs[i]};
    }
    see[nsee++] = (struct jail_path){.path = program};
    const char *env[] = {"ONLY=this", NULL};
    struct jail_spec spec = {
        .jail = jail,
        .see = see,
        .nsee = nsee,
        .scratch = scratch,
        .env = env,
        .limits = {.cpu_s = 1, .memory = 256u << 20, .file = 4u << 20},
    };
    char **argv = NULL;
    VEC_ROOM(argv, n, cap);
    argv[n++] = program;
    for (size_t i = 0; tries[i]; i++) {
        VEC_ROOM(argv, n, cap);
        argv[n++] = tries[i];
    }
    VEC_ROOM(argv, n, cap);
    argv[n] = NULL;
    struct jail_proc p;
    struct error e = {0};
    if (!jail_start(&spec, argv, &p, &e))
        fail_msg("%s", e.msg);
    int status =
        jail_wait(&p, clock_mono_ns() + (int64_t)(seconds * 1e9), 8192, max, out, &total, why);
    free(argv);
    return status;
}

static bool says(const struct buf *out, const char *line)
{
    size_t n = strlen(line);
    for (const char *s = buf_str(out); (s = strstr(s, line)) != NULL; s += n) {
        if ((s == out->s || s[-1] == '\n') && s[n] == '\n')
            return true;
    }
    return false;
}

static int processes_of_program(void)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *de; d && (de = readdir(d));) {
        char path[300], exe[500];
        snprintf(path, sizeof path, "/proc/%s/cmdline", de->d_name);
        FILE *f = de->d_name[0] >= '0' && de->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        size_t len = f ? fread(exe, 1, sizeof exe - 1, f) : 0;
        exe[len] = '\0';
        n += len && strcmp(exe, program) == 0;
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

static void no_process_left(void)
{
    for (int i = 0; i < 200 && processes_of_program(); i++)
        usleep(10000);
    assert_int_equal(processes_of_program(), 0);
}

/* ---------------------------------------------------------------- tests */

static void test_probe(void **state)
{
    (void)state;
    struct jail_report r;
    struct error e = {0};
    assert_true(jail_probe("none", &r, &e));
    assert_int_equal(r.kind, JAIL_NONE);
    assert_non_null(strstr(r.text, "none"));
    assert_false(jail_probe("cellar", &r, &e));
    assert_non_null(strstr(e.msg, "cellar"));
    bool works = jail_probe(NULL, &r, &e);
    if (works) {
        assert_true(r.kind == JAIL_BWRAP || r.kind == JAIL_LANDLOCK || r.kind == JAIL_CHROOT);
        assert_true(r.network);
        assert_true(strlen(r.text) > 5);
        if (r.kind != JAIL_BWRAP)
            assert_true(strlen(r.lacks) > 5);
    } else {
        assert_int_equal(r.kind, JAIL_REFUSED);
        assert_non_null(strstr(e.msg, "--jail none"));
    }
}

static void test_files(void **state)
{
    (void)state;
    for (size_t j = 0; j < njails; j++) {
        struct buf out = {0};
        enum jail_end why;
        char outside[300], mine[300];
        snprintf(outside, sizeof outside, "write:%s/outside", dir);
        snprintf(mine, sizeof mine, "read:%s/secret", dir);
        char *tries[] = {(char[]){"fd:3"},
                         (char[]){"fd:4"},
                         (char[]){"fd:5"},
                         (char[]){"fd:6"},
                         (char[]){"read:/etc/passwd"},
                         (char[]){"read:/proc/self/environ"},
                         mine,
                         outside,
                         (char[]){"write:/lib/x"},
                         (char[]){"read:../secret"},
                         (char[]){"exec:/bin/sh"},
                         (char[]){"exec:/usr/bin/env"},
                         (char[]){"write:inside"},
                         (char[]){"stdin"},
                         (char[]){"env"},
                         NULL};
        int status = go(&jails[j], tries, 20, 65536, &out, &why);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        const char *must[] = {"write:inside yes", "stdin yes", "ONLY=this"};
        for (size_t i = 0; i < ARRAY_LEN(must); i++) {
            if (!says(&out, must[i]))
                fail_msg("%s: no \"%s\" in:\n%s", jails[j].text, must[i], out.s);
        }
        char line[400];
        for (size_t i = 0; i < 12; i++) {
            snprintf(line, sizeof line, "%s yes", tries[i]);
            if (says(&out, line))
                fail_msg("%s: \"%s\" in:\n%s", jails[j].text, line, out.s);
        }
        assert_null(strstr(out.s, "HOME="));
        char *inside = fs_join(scratch, "inside"), *none = fs_join(dir, "outside");
        assert_true(fs_exists(inside));
        assert_false(fs_exists(none));
        unlink(inside);
        free(inside);
        free(none);
        buf_free(&out);
    }
}

static void test_system(void **state)
{
    (void)state;
    for (size_t j = 0; j < njails; j++) {
        struct buf out = {0};
        enum jail_end why;
        char parent[40];
        snprintf(parent, sizeof parent, "kill:%d", (int)getpid());
        char *tries[] = {(char[]){"socket"},
                         (char[]){"unix"},
                         (char[]){"ptrace"},
                         (char[]){"userns"},
                         (char[]){"setsid"},
                         (char[]){"uring"},
                         (char[]){"memory"},
                         (char[]){"big"},
                         parent,
                         NULL};
        go(&jails[j], tries, 20, 65536, &out, &why);
        char line[80];
        for (size_t i = 0; tries[i]; i++) {
            snprintf(line, sizeof line, "%s yes", tries[i]);
            bool old = strcmp(tries[i], parent) == 0 && jails[j].kind == JAIL_LANDLOCK &&
                       jails[j].landlock < 6; /* cannot restrict signals */
            if (says(&out, line) && !old)
                fail_msg("%s: \"%s\"", jails[j].text, line);
        }
        assert_true(says(&out, "socket EPERM"));
        assert_true(says(&out, "unix EPERM"));
        buf_free(&out);
    }
}

static void test_ends(void **state)
{
    (void)state;
    for (size_t j = 0; j < njails; j++) {
        struct buf out = {0};
        enum jail_end why;
        int status = go(&jails[j], (char *[]){(char[]){"exit:7"}, NULL}, 20, 65536, &out, &why);
        assert_int_equal(why, JAIL_END_ITSELF);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        /* Its output is closed before it ends; the status must still be its own. */
        status = go(&jails[j], (char *[]){(char[]){"closed"}, NULL}, 20, 65536, &out, &why);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
        status = go(&jails[j], (char *[]){(char[]){"crash"}, NULL}, 20, 65536, &out, &why);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGSEGV);
        int64_t from = clock_mono_ns();
        go(&jails[j], (char *[]){(char[]){"family"}, NULL}, 0.5, 65536, &out, &why);
        assert_int_equal(why, JAIL_END_TIMEOUT);
        assert_true(clock_mono_ns() - from < 2 * SECOND);
        no_process_left();
        go(&jails[j], (char *[]){(char[]){"orphan"}, NULL}, 20, 65536, &out, &why);
        assert_int_equal(why, JAIL_END_ITSELF);
        no_process_left();
        /* CPU time is limited even for one that ignores the warning. */
        status = go(&jails[j], (char *[]){(char[]){"cpu"}, NULL}, 20, 65536, &out, &why);
        assert_int_equal(why, JAIL_END_ITSELF);
        assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        buf_clear(&out);
        go(&jails[j], (char *[]){(char[]){"flood"}, NULL}, 20, 1 << 20, &out, &why);
        assert_int_equal(why, JAIL_END_OUTPUT);
        assert_true(out.len <= 16384);
        buf_free(&out);
    }
}

/* When we are killed, the jailed program goes too. */
static void test_dies_with_us(void **state)
{
    (void)state;
    for (size_t j = 0; j < njails; j++) {
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            struct buf out = {0};
            enum jail_end why;
            go(&jails[j], (char *[]){(char[]){"loop"}, NULL}, 20, 65536, &out, &why);
            _exit(0);
        }
        for (int i = 0; i < 200 && !processes_of_program(); i++)
            usleep(5000);
        assert_true(processes_of_program() > 0);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        no_process_left();
    }
}

static int set_up(void **state)
{
    (void)state;
    static const char *const kinds[] = {"bwrap", "landlock"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct error e = {0};
        if (jail_probe(kinds[i], &jails[njails], &e))
            printf("# jail: %s\n", jails[njails++].text);
        else
            printf("# not here, so not tested: %s\n", e.msg);
    }
    char template[] = "/tmp/warploop-jail-XXXXXX", command[600];
    if (!mkdtemp(template))
        return -1;
    dir = xstrdup(template);
    program = fs_join(dir, "prisoner");
    scratch = fs_join(dir, "scratch");
    char *c = fs_join(dir, "prisoner.c"), *secret = fs_join(dir, "secret");
    bool ok = fs_mkdirs(scratch, NULL) && fs_write(c, prisoner, strlen(prisoner), NULL) &&
              fs_write(secret, "sesame", 6, NULL);
    snprintf(command, sizeof command, "gcc -w -O1 -o %s %s", program, c);
    ok = ok && system(command) == 0;
    free(c);
    free(secret);
    return ok ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(dir);
    free(dir);
    free(program);
    free(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_system),       cmocka_unit_test(test_ends),
        cmocka_unit_test(test_dies_with_us),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
