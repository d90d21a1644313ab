/* The base utilities: errors, buffers, memory, time, hashes, files, JSON, the wire, processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/proc.h"
#include "core/base/wire.h"
#include "tests/support/scratch.h"

static struct error e;

#define ok(x) assert_good((x), #x)
static void assert_good(bool good, const char *what)
{
    if (!good)
        fail_msg("%s: %s", what, e.msg);
}

static int set_up(void **state)
{
    e = (struct error){0};
    *state = scratch_new();
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

/* ---- errors, buffers, memory -------------------------------------------------------------------
 */

static void test_error(void **state)
{
    (void)state;
    assert_false(error_set(&e, ERR_INPUT, "%s:%d: bad", "file", 3));
    assert_int_equal(e.code, ERR_INPUT);
    assert_string_equal(e.msg, "file:3: bad");
    assert_false(error_prefix(&e, "while %s", "reading"));
    assert_string_equal(e.msg, "while reading: file:3: bad");
    assert_false(error_set(NULL, ERR_INPUT, "nobody listens"));
    static const struct {
        int number;
        enum error_code code;
    } cases[] = {{ENOSPC, ERR_FULL},     {EDQUOT, ERR_FULL},    {EROFS, ERR_READONLY},
                 {EACCES, ERR_READONLY}, {EPERM, ERR_READONLY}, {EIO, ERR_SYSTEM}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        errno = cases[i].number;
        assert_false(error_sys(&e, "cannot write"));
        assert_int_equal(e.code, cases[i].code);
        assert_non_null(strstr(e.msg, strerror(cases[i].number)));
    }
    char *big = xmalloc(5000);
    memset(big, 'x', 4999);
    big[4999] = '\0';
    error_set(&e, ERR_INPUT, "%s", big);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    error_prefix(&e, "more");
    assert_int_equal(strncmp(e.msg, "more: xxx", 9), 0);
    free(big);
}

static void test_buf(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(buf_str(&b), "");
    char *none = buf_take(&b);
    assert_string_equal(none, "");
    free(none);
    buf_add(&b, NULL, 0);
    buf_adds(&b, "one");
    buf_addc(&b, ' ');
    buf_addf(&b, "%d %s", 2, "three");
    buf_addf(&b, "%s", "");
    assert_string_equal(buf_str(&b), "one 2 three");
    buf_add(&b, "a\0b", 3);
    assert_int_equal(b.len, 14);
    assert_memory_equal(b.s + 11, "a\0b", 4);
    for (int i = 0; i < 10000; i++)
        buf_addf(&b, "%d,", i);
    assert_int_equal(b.s[b.len], '\0');
    assert_string_equal(b.s + b.len - 5, "9999,");
    buf_clear(&b);
    assert_string_equal(buf_str(&b), "");
    memcpy(buf_room(&b, 3), "xyz", 3);
    b.len += 3;
    buf_add(&b, "", 0);
    char *s = buf_take(&b);
    assert_string_equal(s, "xyz");
    assert_null(b.s);
    free(s);
    buf_free(&b);
}

static void test_mem(void **state)
{
    (void)state;
    int *items = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < 1000; i++) {
        VEC_ROOM(items, n, cap);
        items[n++] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    free(items);
    char *s = xstrndup("abcdef", 3);
    assert_string_equal(s, "abc");
    free(s);
    s = xasprintf("%d-%s", 7, "x");
    assert_string_equal(s, "7-x");
    free(s);
    free(xmalloc(0));
    free(xcalloc(0, 8));
}

static void test_clock_and_hash(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } spans[] = {{0, "0 us"},
                 {1500, "2 us"},
                 {350000000, "350 ms"},
                 {1200000000, "1.2 s"},
                 {INT64_C(65000000000), "1 min 05 s"},
                 {INT64_C(7500000000000), "2 h 05 min"}};
    char out[40];
    for (size_t i = 0; i < ARRAY_LEN(spans); i++) {
        clock_format_span(spans[i].ns, out, sizeof out);
        assert_string_equal(out, spans[i].text);
    }
    setenv("TZ", "UTC", 1);
    clock_format(INT64_C(1796101200) * 1000000000, out, sizeof out);
    assert_string_equal(out, "2026-12-01 05:00:00");
    int64_t t = clock_mono_ns();
    clock_sleep_ns(2000000);
    assert_true(clock_mono_ns() - t >= 2000000);
    clock_sleep_ns(-1);
    assert_true(clock_wall_ns() > INT64_C(1600000000) * 1000000000);
    assert_string_equal(hash_bytes("", 0).hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_string_equal(hash_bytes(NULL, 0).hex, hash_bytes("", 0).hex);
    assert_string_equal(hash_bytes("abc", 3).hex,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(hash_mix(1, 2) != hash_mix(2, 1));
    assert_true(hash_mix(1, 2) == hash_mix(1, 2));
    assert_true(hash_fresh(1) != hash_fresh(1));
}

/* ---- files -------------------------------------------------------------------------------------
 */

static void test_files(void **state)
{
    struct buf b = {0};
    struct stat st;
    const char *path = scratch_path(*state, "f");
    assert_false(fs_read(path, 100, &b, &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_false(fs_exists(path));
    ok(fs_write(path, "a\0b", 3, &e));
    assert_true(fs_exists(path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    ok(fs_read(path, 3, &b, &e));
    assert_int_equal(b.len, 3);
    assert_memory_equal(b.s, "a\0b", 4);
    buf_clear(&b);
    assert_false(fs_read(path, 2, &b, &e));
    assert_int_equal(e.code, ERR_INPUT);
    buf_clear(&b);
    ok(fs_write(path, "", 0, &e)); /* replaced whole */
    ok(fs_read(path, 0, &b, &e));
    assert_int_equal(b.len, 0);
    assert_false(fs_write(scratch_path(*state, "no/f"), "x", 1, &e));
    assert_false(fs_read(*state, 100, &b, &e)); /* a folder */
    buf_free(&b);
}

static void test_folders(void **state)
{
    struct stat st;
    ok(fs_mkdirs(scratch_path(*state, "a/b/c"), &e));
    ok(fs_mkdirs(scratch_path(*state, "a/b/c"), &e));
    assert_int_equal(stat(scratch_path(*state, "a/b"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    ok(fs_write(scratch_path(*state, "a/file"), "", 0, &e));
    assert_false(fs_mkdirs(scratch_path(*state, "a/file/x"), &e));
    assert_int_equal(symlink("/", scratch_path(*state, "a/link")), 0);
    fs_remove_tree(scratch_path(*state, "a"));
    assert_false(fs_exists(scratch_path(*state, "a")));
    assert_true(fs_exists("/usr")); /* links are not followed */
    fs_remove_tree(scratch_path(*state, "a"));
    char *s = fs_join("a", "b");
    assert_string_equal(s, "a/b");
    free(s);
    s = fs_join("a/", "b");
    assert_string_equal(s, "a/b");
    free(s);
}

static void home_is(const char *want)
{
    char *home = NULL;
    ok(fs_home(&home, &e));
    assert_string_equal(home, want);
    free(home);
}

static void test_home(void **state)
{
    char *w = xasprintf("%s/w", (char *)*state), *x = xasprintf("%s/x", (char *)*state);
    char *xw = xasprintf("%s/warploop", x), *h = xasprintf("%s/.local/share/warploop", w);
    setenv("WARPLOOP_HOME", w, 1);
    setenv("XDG_DATA_HOME", x, 1);
    setenv("HOME", w, 1);
    home_is(w);
    assert_true(fs_exists(scratch_path(w, "runs")));
    unsetenv("WARPLOOP_HOME");
    home_is(xw);
    setenv("XDG_DATA_HOME", "relative", 1); /* not allowed by the XDG rules: left out */
    home_is(h);
    unsetenv("XDG_DATA_HOME");
    home_is(h);
    setenv("WARPLOOP_HOME", "/proc/nowhere", 1);
    char *home = NULL;
    assert_false(fs_home(&home, &e));
    assert_non_null(strstr(e.msg, "WARPLOOP_HOME"));
    setenv("WARPLOOP_HOME", w, 1);
    free(w);
    free(x);
    free(xw);
    free(h);
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static const char sample[] = "{\n"                                   /* 1 */
                             "  \"name\": \"k\\\"da\",\n"            /* 2 */
                             "  \"big\": \"9007199254740993\",\n"    /* 3 */
                             "  \"shapes\": {\n"                     /* 4 */
                             "    \"scored\": [ {\"dims\": [1,\n"    /* 5 */
                             "       2]},\n"                         /* 6 */
                             "      {\"dims\": [3, 4], \"x\": {}}\n" /* 7 */
                             "    ]\n"                               /* 8 */
                             "  },\n"                                /* 9 */
                             "  \"yes\": true, \"half\": 0.5,\n"     /* 10 */
                             "  \"tail\": null\n"                    /* 11 */
                             "}\n";

static void test_json_lines(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int line;
    } cases[] = {{"", 1},
                 {"name", 2},
                 {"big", 3},
                 {"shapes", 4},
                 {"shapes/scored", 5},
                 {"shapes/scored/0/dims/1", 6},
                 {"shapes/scored/1", 7},
                 {"shapes/scored/1/dims/0", 7},
                 {"shapes/scored/1/absent", 7}, /* what should have held it */
                 {"shapes/absent", 4},
                 {"half", 10},
                 {"tail", 11}};
    struct json_doc doc;
    ok(json_parse(&doc, "task.json", sample, strlen(sample), &e));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (json_line(&doc, cases[i].path) != cases[i].line)
            fail_msg("%s: line %d, expected %d", cases[i].path, json_line(&doc, cases[i].path),
                     cases[i].line);
    assert_false(json_error(&doc, "shapes/scored/1/dims", &e, "wants %d numbers", 3));
    assert_string_equal(e.msg, "task.json:7: field shapes/scored/1/dims: wants 3 numbers");
    assert_int_equal(e.code, ERR_INPUT);
    json_error(&doc, "", &e, "is empty");
    assert_string_equal(e.msg, "task.json:1: field (top): is empty");
    json_free(&doc);
}

static void test_json_values(void **state)
{
    (void)state;
    struct json_doc doc;
    ok(json_parse(&doc, "x", sample, strlen(sample), &e));
    const cJSON *o = doc.root;
    assert_string_equal(json_str(o, "name", "?"), "k\"da");
    assert_string_equal(json_str(o, "half", "?"), "?");
    assert_string_equal(json_str(o, "absent", "?"), "?");
    assert_true(json_num(o, "half", -1) == 0.5);
    assert_true(json_num(o, "name", -1) == -1);
    assert_true(json_bool(o, "yes", false));
    assert_true(json_bool(o, "tail", true));
    assert_int_equal(json_i64(o, "big", -1), INT64_C(9007199254740993)); /* over 2^53 */
    assert_int_equal(json_i64(o, "half", -1), -1);
    assert_int_equal(json_i64(o, "name", -1), -1);
    json_free(&doc);
    cJSON *p = cJSON_CreateObject();
    json_put_i64(p, "a", INT64_MIN);
    json_put_num(p, "b", (double)NAN);
    json_put_num(p, "c", (double)INFINITY);
    json_put_num(p, "d", 0.1);
    cJSON_AddNumberToObject(p, "whole", 7);
    cJSON_AddStringToObject(p, "over", "9223372036854775808");
    char *text = json_text(p);
    assert_string_equal(text, "{\"a\":\"-9223372036854775808\",\"d\":0.1,\"whole\":7,\"over\":\""
                              "9223372036854775808\"}");
    assert_int_equal(json_i64(p, "a", 0), INT64_MIN);
    assert_int_equal(json_i64(p, "whole", 0), 7);
    assert_int_equal(json_i64(p, "over", -1), -1);
    free(text);
    cJSON_Delete(p);
}

static void test_json_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {{"", "f:1"},
                 {"{", "f:1"},
                 {"{\n\"a\": 1,\n}", "f:3"},
                 {"{\"a\" 1}", "f:1"},
                 {"{}\n\nx", "f:3"},
                 {"[1,2\n", "f:"},
                 {"nul", "f:1"},
                 {"{\"a\":\n\n tru}", "f:3"}};
    struct json_doc doc;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        e.msg[0] = '\0';
        assert_false(json_parse(&doc, "f", cases[i].text, strlen(cases[i].text), &e));
        assert_int_equal(e.code, ERR_INPUT);
        if (strncmp(e.msg, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s gives: %s", cases[i].text, e.msg);
        assert_null(doc.root);
    }
    assert_false(json_parse(&doc, "f", "{}\0", 3, &e));
    assert_non_null(strstr(e.msg, "NUL"));
    ok(json_parse(&doc, "f", "{}", 2, &e));
    json_free(&doc);
    char *deep = xmalloc(100001);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    assert_false(json_parse(&doc, "f", deep, 100000, &e)); /* no stack is that deep */
    free(deep);
}

/* ---- the wire ----------------------------------------------------------------------------------
 */

static void pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

static void message(struct wire_msg *m, const char *op)
{
    *m = (struct wire_msg){.head = cJSON_CreateObject()};
    cJSON_AddStringToObject(m->head, "op", op);
}

static void test_wire(void **state)
{
    (void)state;
    int fds[2];
    struct wire_msg out, in;
    pair(fds);
    struct wire_reader r = {.fd = fds[1]};
    assert_int_equal(wire_read(&r, false, &in, &e), WIRE_MORE);
    message(&out, "build");
    wire_add_part(&out, "source", "int\0x;\n", 7);
    wire_add_part(&out, "empty", "", 0);
    ok(wire_send(fds[0], &out, &e));
    ok(wire_send(fds[0], &out, &e)); /* the same message again: parts are written anew */
    wire_msg_free(&out);
    message(&out, "plain");
    ok(wire_send(fds[0], &out, &e));
    wire_msg_free(&out);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_read(&r, true, &in, &e), WIRE_MSG);
        assert_string_equal(json_str(in.head, "op", ""), "build");
        assert_int_equal(in.nparts, 2);
        assert_int_equal(wire_part(&in, "source")->len, 7);
        assert_memory_equal(wire_part(&in, "source")->s, "int\0x;\n", 7);
        assert_int_equal(wire_part(&in, "empty")->len, 0);
        assert_null(wire_part(&in, "absent"));
        wire_msg_free(&in);
    }
    assert_int_equal(wire_read(&r, false, &in, &e), WIRE_MSG);
    assert_string_equal(json_str(in.head, "op", ""), "plain");
    assert_int_equal(in.nparts, 0);
    wire_msg_free(&in);
    close(fds[0]);
    assert_int_equal(wire_read(&r, true, &in, &e), WIRE_EOF);
    wire_reader_free(&r);
    close(fds[1]);
}

/* A message that arrives byte by byte is taken once, when it is whole. */
static void test_wire_in_pieces(void **state)
{
    (void)state;
    static const char bytes[] = "{\"op\":\"x\",\"parts\":[{\"name\":\"p\",\"size\":\"4\"}]}\nabcd";
    int fds[2];
    struct wire_msg in;
    pair(fds);
    struct wire_reader r = {.fd = fds[1]};
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        assert_int_equal(wire_read(&r, false, &in, &e), WIRE_MORE);
        assert_int_equal(write(fds[0], bytes + i, 1), 1);
    }
    assert_int_equal(wire_read(&r, false, &in, &e), WIRE_MSG);
    assert_memory_equal(wire_part(&in, "p")->s, "abcd", 5);
    wire_msg_free(&in);
    wire_reader_free(&r);
    close(fds[0]);
    close(fds[1]);
}

static void bad_bytes(const char *bytes, size_t n)
{
    int fds[2];
    struct wire_msg in;
    pair(fds);
    struct wire_reader r = {.fd = fds[1]};
    assert_int_equal(write(fds[0], bytes, n), n);
    close(fds[0]);
    e.msg[0] = '\0';
    assert_int_equal(wire_read(&r, true, &in, &e), WIRE_ERROR);
    assert_true(e.msg[0] != '\0');
    wire_reader_free(&r);
    close(fds[1]);
}

static void test_wire_bad(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "not json\n",
        "[]\n",
        "{\"op\":1} {\"op\":2}\n",
        "{\"parts\":[{\"size\":\"-1\"}]}\n",
        "{\"parts\":[{\"size\":\"99999999999\"}]}\n",
        "{\"parts\":[{\"size\":\"x\"}]}\n",
        "{\"parts\":[{}]}\n",
        "{\"op\":\"cut off\"}",
        "{\"parts\":[{\"name\":\"p\",\"size\":\"5\"}]}\nabc",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        bad_bytes(bad[i], strlen(bad[i]));
    struct buf many = {0};
    buf_adds(&many, "{\"parts\":[{\"size\":\"0\"}");
    for (int i = 0; i < WIRE_PARTS; i++)
        buf_adds(&many, ",{\"size\":\"0\"}");
    buf_adds(&many, "]}\n");
    bad_bytes(many.s, many.len);
    buf_free(&many);
}

static void test_wire_long_line(void **state)
{
    (void)state;
    int fds[2];
    struct wire_msg in;
    pair(fds);
    pid_t pid = fork();
    if (pid == 0) {
        char chunk[65536];
        close(fds[1]);
        memset(chunk, 'x', sizeof chunk);
        signal(SIGPIPE, SIG_IGN);
        for (int i = 0; i < 64; i++)
            if (write(fds[0], chunk, sizeof chunk) < 0)
                break;
        _exit(0);
    }
    close(fds[0]);
    struct wire_reader r = {.fd = fds[1]};
    assert_int_equal(wire_read(&r, true, &in, &e), WIRE_ERROR);
    assert_true(r.in.len < 2 * WIRE_LINE_MAX); /* bounded memory */
    wire_reader_free(&r);
    close(fds[1]);
    waitpid(pid, NULL, 0);
    struct wire_msg out;
    message(&out, "x");
    char *big = xmalloc(WIRE_LINE_MAX + 1);
    memset(big, 'y', WIRE_LINE_MAX);
    big[WIRE_LINE_MAX] = '\0';
    cJSON_AddStringToObject(out.head, "big", big);
    assert_false(wire_send(1, &out, &e));
    free(big);
    wire_msg_free(&out);
}

static void test_wire_gone(void **state)
{
    (void)state;
    int fds[2];
    struct wire_msg out;
    pair(fds);
    close(fds[1]);
    message(&out, "x");
    assert_false(wire_send(fds[0], &out, &e)); /* an error, not SIGPIPE */
    wire_msg_free(&out);
    close(fds[0]);
}

/* ---- processes ---------------------------------------------------------------------------------
 */

/* Run sh -c script; what it printed and its wait status. */
static int run_sh(char *script, char *const env[], struct buf *out)
{
    struct proc p;
    char sh[] = "/bin/sh", c[] = "-c";
    char *argv[] = {sh, c, script, NULL};
    ok(proc_start(&p, argv, env, &e));
    struct pollfd fd = {.fd = p.pidfd, .events = POLLIN};
    while (poll(&fd, 1, 10) == 0)
        proc_drain(&p, out, 4096);
    proc_drain(&p, out, 4096);
    return proc_wait(&p);
}

static void test_proc(void **state)
{
    (void)state;
    struct buf out = {0};
    char text[64];
    char hello[] = "echo hello; echo oops >&2; exit 3";
    int status = run_sh(hello, NULL, &out);
    assert_string_equal(buf_str(&out), "hello\noops\n");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    proc_describe(status, text, sizeof text);
    assert_string_equal(text, "exit status 3");
    char killed[] = "kill -11 $$";
    status = run_sh(killed, NULL, &out);
    proc_describe(status, text, sizeof text);
    assert_non_null(strstr(text, "signal 11"));
    struct proc p;
    char none[] = "/no/such/program";
    char *argv[] = {none, NULL};
    assert_false(proc_start(&p, argv, NULL, &e));
    assert_non_null(strstr(e.msg, none));
    buf_free(&out);
}

/* A clean environment, nothing open but 0 to 3, nothing to read on 0, no signal blocked. */
static void test_proc_is_clean(void **state)
{
    (void)state;
    struct buf out = {0};
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */
    assert_true(leak >= 0);
    setenv("SECRET", "hidden", 1);
    sigset_t block, old;
    sigemptyset(&block);
    sigaddset(&block, SIGTERM);
    sigprocmask(SIG_BLOCK, &block, &old);
    char mine[] = "MINE=1";
    char *env[] = {mine, NULL};
    char script[] = "echo \"[$SECRET][$MINE][$HOME]\"; for f in /proc/self/fd/*; do echo ${f##*/}; "
                    "done; wc -c </dev/stdin; grep SigBlk /proc/self/status";
    run_sh(script, env, &out);
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(leak);
    assert_non_null(strstr(buf_str(&out), "[][1][/]\n"));
    assert_non_null(strstr(buf_str(&out), "\n0\n1\n2\n3\n"));
    /* The shell's own descriptor for the folder that it lists may be 4; ours would stand too. */
    char number[32];
    snprintf(number, sizeof number, "\n%d\n", leak);
    if (leak > 4)
        assert_null(strstr(buf_str(&out), number));
    assert_non_null(strstr(buf_str(&out), "SigBlk:\t0000000000000000"));
    buf_free(&out);
}

static void test_proc_wire(void **state)
{
    (void)state;
    struct proc p;
    char sh[] = "/bin/sh", c[] = "-c", script[] = "head -n 1 <&3 >&3";
    char *argv[] = {sh, c, script, NULL};
    struct wire_msg out, in;
    ok(proc_start(&p, argv, NULL, &e));
    message(&out, "echo");
    ok(wire_send(p.wire, &out, &e));
    struct wire_reader r = {.fd = p.wire};
    assert_int_equal(wire_read(&r, true, &in, &e), WIRE_MSG);
    assert_string_equal(json_str(in.head, "op", ""), "echo");
    wire_msg_free(&in);
    wire_msg_free(&out);
    wire_reader_free(&r);
    proc_wait(&p);
    assert_int_equal(p.pid, 0);
    assert_int_equal(p.wire, -1);
}

static bool alive(pid_t pid)
{
    char path[64], state[8] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    bool found = f && fscanf(f, "%*d %*s %7s", state) == 1 && state[0] != 'Z';
    if (f)
        fclose(f);
    return found;
}

/* The whole group goes, grandchildren too. */
static void test_proc_kill(void **state)
{
    (void)state;
    struct proc p;
    struct buf out = {0};
    char sh[] = "/bin/sh", c[] = "-c", script[] = "sleep 100 & echo $!; wait";
    char *argv[] = {sh, c, script, NULL};
    ok(proc_start(&p, argv, NULL, &e));
    while (!memchr(buf_str(&out), '\n', out.len)) {
        clock_sleep_ns(1000000);
        proc_drain(&p, &out, 100);
    }
    pid_t grandchild = (pid_t)strtol(buf_str(&out), NULL, 10);
    assert_true(alive(grandchild));
    int status = proc_kill(&p);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (int i = 0; i < 1000 && alive(grandchild); i++)
        clock_sleep_ns(1000000);
    assert_false(alive(grandchild));
    buf_free(&out);
}

static void test_proc_output_is_bounded(void **state)
{
    (void)state;
    struct buf out = {0};
    char script[] = "echo first; yes | head -c 3000000; echo last";
    run_sh(script, NULL, &out);
    assert_true(out.len <= 8192);
    assert_int_equal(strncmp(buf_str(&out), "first\n", 6), 0);
    assert_string_equal(out.s + out.len - 5, "last\n");
    buf_free(&out);
}

/* The child dies with the process that started it. */
static int start_and_die(const char *dir)
{
    struct proc p;
    char sh[] = "/bin/sh", c[] = "-c", script[] = "exec sleep 100";
    char *argv[] = {sh, c, script, NULL};
    if (!proc_start(&p, argv, NULL, NULL))
        return 1;
    char pid[32];
    snprintf(pid, sizeof pid, "%d", (int)p.pid);
    if (!fs_write(scratch_path(dir, "pid"), pid, strlen(pid), NULL))
        return 2;
    clock_sleep_ns(20000000); /* let it get as far as its exec */
    kill(getpid(), SIGKILL);
    return 3;
}

static void test_proc_dies_with_its_parent(void **state)
{
    struct buf b = {0};
    assert_int_equal(scratch_child(start_and_die, *state), 128 + SIGKILL);
    ok(fs_read(scratch_path(*state, "pid"), 100, &b, &e));
    pid_t pid = (pid_t)strtol(buf_str(&b), NULL, 10);
    for (int i = 0; i < 2000 && alive(pid); i++)
        clock_sleep_ns(1000000);
    assert_false(alive(pid));
    buf_free(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_error),
        T(test_buf),
        T(test_mem),
        T(test_clock_and_hash),
        T(test_files),
        T(test_folders),
        T(test_home),
        T(test_json_lines),
        T(test_json_values),
        T(test_json_bad),
        T(test_wire),
        T(test_wire_in_pieces),
        T(test_wire_bad),
        T(test_wire_long_line),
        T(test_wire_gone),
        T(test_proc),
        T(test_proc_is_clean),
        T(test_proc_wire),
        T(test_proc_kill),
        T(test_proc_output_is_bounded),
        T(test_proc_dies_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
