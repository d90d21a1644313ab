/* The workbench on real pseudo-terminals, on made-up runs: what it shows, what keys do, what it
 * sends, how it ends, and that it is quiet when nothing happens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/log.h"
#include "tests/support/mkrun.h"
#include "tests/support/vt.h"
#include "tui/workbench.h"

static char *folder;
static char *run_path; /* a run of 40 calls */

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    folder = xasprintf("%s/workbench.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    setenv("XDG_CONFIG_HOME", folder, 1);
    run_path = xasprintf("%s/kda-7.warp", folder);
    struct mkrun_opts o = {.calls = 40};
    struct error e = {0};
    if (!mkrun(run_path, &o, NULL, &e)) {
        print_message("%s\n", e.msg);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    free(folder);
    free(run_path);
    return 0;
}

/* ------------------------------------------------------------------------ the other side */

/* Notes what the workbench sends in a file; refuses a steer that says so. */
static bool command(void *ctx, const char *kind, const char *text, struct error *e)
{
    (void)ctx;
    if (strstr(text, "refuse me"))
        return error_set(e, ERR_BUSY, "the run is busy: try again");
    char *path = fs_join(folder, "sent");
    FILE *f = fopen(path, "a");
    free(path);
    fprintf(f, "%s|%s;", kind, text);
    fclose(f);
    return true;
}

struct start {
    struct workbench_opts o;
    int rows, cols;
    const char *term, *locale;
};

static int call(void *ctx)
{
    struct start *s = ctx;
    struct error e = {0};
    s->o.command = s->o.read_only ? NULL : command;
    enum workbench_result r = workbench_run(&s->o, &e);
    if (r != WORKBENCH_HUNG_UP)
        printf("result %d %s\n", (int)r, e.msg);
    return (int)r;
}

static struct vt *start(struct start s)
{
    struct start *keep = xmalloc(sizeof *keep);
    *keep = s;
    if (!keep->o.run_path)
        keep->o.run_path = run_path;
    keep->o.wake_fd = -1;
    char *path = fs_join(folder, "sent");
    unlink(path);
    free(path);
    struct vt_opts vo = {
        s.rows ? s.rows : 24, s.cols ? s.cols : 80, s.term, s.locale, NULL, call, keep};
    struct vt *v = vt_start(&vo);
    free(keep);
    return v;
}

static void expect(struct vt *v, const char *text)
{
    if (vt_wait(v, text, 5000))
        return;
    struct buf b = {0};
    vt_text(v, &b);
    fputs(buf_str(&b), stderr); /* print_message cuts */
    fail_msg("\"%s\" did not appear", text);
}

static void expect_sent(const char *want, int ms)
{
    char *path = fs_join(folder, "sent");
    struct buf b = {0};
    int64_t end = clock_mono_ns() + ms * INT64_C(1000000);
    do {
        buf_clear(&b);
        if (fs_read(path, 4 << 20, &b, NULL) && strcmp(buf_str(&b), want) == 0)
            break;
        clock_sleep_ns(10000000);
    } while (clock_mono_ns() < end);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
    free(path);
}

static void expect_end(struct vt *v, enum workbench_result want)
{
    int st = vt_wait_exit(v, 5000);
    assert_true(WIFEXITED(st));
    assert_int_equal(WEXITSTATUS(st), want);
    if (want != WORKBENCH_HUNG_UP) {
        assert_true(vt_cooked(v));
        assert_false(vt_altscreen(v));
        assert_true(vt_cursor_visible(v));
    }
    vt_end(v);
}

/* An engine's lock and pen on the run. */
static struct log *drive(const char *path)
{
    struct error e = {0};
    struct log *log = log_open(path, &e);
    if (!log || !log_lock(log, &e))
        fail_msg("%s", e.msg);
    return log;
}

static void append(struct log *log, enum event_kind kind, int code, int64_t id, const char *text)
{
    struct event ev = event_make(kind);
    struct error e = {0};
    ev.code = code;
    ev.id = id;
    ev.text = text;
    if (!log_append(log, &ev, &e))
        fail_msg("%s", e.msg);
}

static char *copy_of_run(const char *name)
{
    char *path = fs_join(folder, name);
    struct mkrun_opts o = {.calls = 10};
    struct error e = {0};
    unlink(path);
    if (!mkrun(path, &o, NULL, &e))
        fail_msg("%s", e.msg);
    return path;
}

/* ---------------------------------------------------------------------------------- tests */

static void test_shows(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source] v41 from v40");
    expect(v, "#include \"kda.h\"");
    expect(v, "2 speedup  41 tries");
    expect(v, "3.0x");
    expect(v, "3 counters  v41");
    expect(v, "t1024h4");
    expect(v, "% of measured peak");
    expect(v, "page-faults");
    expect(v, "4 reasoning");
    expect(v, "kda-7  engine died  best v");
    expect(v, "v41 of 41");
    expect(v, "? help");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_versions(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "v41 from v40");
    vt_send(v, ",");
    expect(v, "v40 from v39");
    expect(v, "3 counters  v40");
    vt_send(v, "[[.");
    expect(v, "v39 from v38");
    vt_send(v, "2\033[D"); /* the graph's own keys go through versions too */
    expect(v, "[2 speedup]");
    expect(v, "v38 from v37");
    vt_send(v, ":7\r");
    expect(v, "v7 from v6");
    vt_send(v, ":version best\r");
    expect(v, ", the best");
    vt_send(v, ":version 99\r");
    expect(v, "there is no version \"99\"");
    vt_send(v, ":version v0\r");
    expect(v, "v0, the baseline");
    expect(v, "baseline: ");
    vt_send(v, ",");
    expect(v, "v0, the baseline");
    vt_send(v, "F");
    expect(v, "v41 from v40");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_panes(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    vt_send(v, "z");
    assert_true(vt_wait_gone(v, "3 counters", 2000));
    vt_send(v, "3");
    expect(v, "[3 counters]");
    expect(v, "vs base");
    vt_send(v, "z");
    expect(v, "1 source");
    vt_send(v, "\t");
    expect(v, "[4 reasoning]");
    vt_send(v, "\033[Z");
    expect(v, "[3 counters]");
    vt_send(v, "1jjjjjjjjjjjj");
    assert_true(vt_wait_gone(v, "#include", 2000));
    vt_send(v, "g");
    expect(v, "#include");
    vt_send(v, "/kda.h\r");
    expect(v, "  2");
    struct buf a = {0};
    vt_settle(v, 50, 1000);
    vt_attributes(v, &a);
    assert_non_null(strstr(buf_str(&a), "c"));
    vt_send(v, "/not there\r");
    expect(v, "\"not there\" is not in this source");
    vt_send(v, "2/");
    expect(v, "nothing to search");
    vt_send(v, "\006"); /* a key that does nothing says so */
    expect(v, "Ctrl-F does nothing; ? for help");
    buf_free(&a);
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_help(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    vt_send(v, "?");
    expect(v, "keys and commands");
    expect(v, "next pane");
    vt_send(v, "G");
    expect(v, ":quit");
    expect(v, "driven as xterm-256color");
    vt_send(v, "q");
    assert_true(vt_wait_gone(v, "keys and commands", 2000));
    vt_send(v, "q");
    expect(v, "Q leaves (the engine goes on)");
    vt_send(v, "\003");
    expect(v, ":stop ends the run");
    vt_send(v, ":he\t\r");
    expect(v, "keys and commands");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_commands(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    vt_send(v, "itry \xe4\xb8\x96 tiles\r");
    expect(v, "queued: the agent reads it");
    expect(v, "no engine is at work");
    expect_sent("steer|try \xe4\xb8\x96 tiles;", 2000);
    vt_send(v, "i\033[200~two\rlines\033\001\033[201~\r");
    expect_sent("steer|try \xe4\xb8\x96 tiles;steer|two\nlines;", 2000);
    vt_send(v, "irefuse me\r");
    expect(v, "the run is busy: try again");
    vt_send(v, "i\033");
    vt_settle(v, 50, 1000);
    vt_send(v, "f");
    expect(v, "fork this run at v41? y/n");
    vt_send(v, "n");
    expect(v, "not done");
    vt_send(v, ":fork v3\ry");
    expect(v, "forked");
    vt_send(v, ":stop\r");
    expect(v, "stop the run at the next safe point? y/n");
    vt_send(v, "y");
    expect(v, "stops at the next safe point");
    expect_sent("steer|try \xe4\xb8\x96 tiles;steer|two\nlines;fork|3;stop|;", 2000);
    vt_send(v, ":goal go faster\r");
    expect_sent("steer|try \xe4\xb8\x96 tiles;steer|two\nlines;fork|3;stop|;goal|go faster;", 2000);
    vt_send(v, ":nonsense\r");
    expect(v, "there is no command \"nonsense\"");
    vt_send(v, ":s\r");
    expect(v, "could be several commands");
    vt_send(v, "p");
    expect(v, "nothing to pause: engine died");
    vt_send(v, "E");
    expect(v, "goal (Alt-E: editor): ");
    vt_send(v, "\033");
    vt_settle(v, 50, 1000);
    char *dump = fs_join(folder, "dump"), *line = xasprintf(":dump-screen %s\r", dump);
    vt_send(v, line);
    expect(v, "wrote ");
    struct buf b = {0};
    assert_true(fs_read(dump, 100000, &b, NULL));
    assert_non_null(strstr(buf_str(&b), "[1 source]"));
    vt_send(v, "y");
    expect(v, "clipboard (OSC 52)");
    assert_non_null(strstr(buf_str(vt_raw(v)), "\033]52;c;"));
    buf_free(&b);
    free(line);
    free(dump);
    vt_send(v, ":quit\r");
    expect_end(v, WORKBENCH_LEFT);
}

/* $EDITOR on the goal's text. */
static void test_editor(void **state)
{
    (void)state;
    unsetenv("VISUAL");
    setenv("EDITOR", "printf 'from the editor\\n\\n' >", 1);
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    vt_send(v, "E\033e");
    expect(v, "from the editor");
    vt_send(v, "\r");
    expect_sent("goal|from the editor;", 2000);
    setenv("EDITOR", "false", 1);
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

/* A megabyte of steer with controls inside is taken; a byte more is refused. */
static void test_big_steer(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    struct buf b = {0};
    buf_adds(&b, "i\033[200~");
    for (int i = 0; i < 100000; i++)
        buf_adds(&b, "tile size\001\xff");
    buf_adds(&b, "\033[201~\r");
    vt_sendn(v, b.s, b.len);
    assert_true(vt_wait(v, "queued: the agent", 60000));
    char *path = fs_join(folder, "sent");
    buf_clear(&b);
    assert_true(fs_read(path, 4 << 20, &b, NULL));
    assert_int_equal(b.len, strlen("steer|;") + 900000);
    free(path);
    buf_free(&b);
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_pause(void **state)
{
    (void)state;
    char *path = copy_of_run("kda-8.warp");
    struct log *log = drive(path);
    struct vt *v = start((struct start){.o = {.run_path = path}, .cols = 180});
    expect(v, "kda-8  running");
    char driver[60];
    snprintf(driver, sizeof driver, "driven by %d on", (int)getpid());
    expect(v, driver);
    vt_send(v, "p");
    expect(v, "pauses in 3 seconds; p takes it back");
    vt_send(v, "p");
    expect(v, "not paused");
    clock_sleep_ns(100000000);
    vt_send(v, "p");
    expect(v, "pauses in 3 seconds");
    expect_sent("pause|;", 6000);
    append(log, EV_PAUSED, 1, 0, "a person");
    expect(v, "kda-8  paused");
    vt_send(v, "p");
    expect_sent("pause|;resume|;", 2000);
    append(log, EV_RESUMED, 0, 0, "a person");
    expect(v, "kda-8  running");
    vt_send(v, "pQ"); /* a pause that is wanted is not lost by leaving */
    expect_sent("pause|;resume|;pause|;", 2000);
    expect_end(v, WORKBENCH_LEFT);
    log_close(log);
    free(path);
}

/* What another process appends appears; scrolled back, the place stays and new lines are counted.
 */
static void test_live(void **state)
{
    (void)state;
    char *path = copy_of_run("kda-9.warp");
    struct log *log = drive(path);
    struct vt *v = start((struct start){.o = {.run_path = path}});
    expect(v, "kda-9  running");
    struct error e = {0};
    struct mkrun_opts o = {.calls = 1};
    assert_true(mkrun_call(log, 11, &o, &e));
    expect(v, "v12 from v11");
    append(log, EV_SAY, 0, 0, "a thought with \033[31mcolour\033]0;title\a and \xe2\x80\xae bidi");
    expect(v, "a thought with colour");
    expect(v, "<202e>");
    assert_string_equal(vt_title(v), "");
    append(log, EV_STEER, 0, 1, "please hurry");
    expect(v, "please hurry [queued]");
    expect(v, "1 steer queued");
    struct event seen = event_make(EV_STEER_SEEN);
    seen.id = 1;
    seen.ref = 13;
    assert_true(log_append(log, &seen, &e));
    expect(v, "please hurry [seen]");
    vt_send(v, "4kkkk");
    expect(v, "scrolled back");
    for (int i = 0; i < 3; i++)
        append(log, EV_SAY, 0, 0, "one more thought");
    expect(v, "3 new, G to the end");
    assert_false(vt_has(v, "one more thought"));
    vt_send(v, "G");
    expect(v, "one more thought");
    vt_send(v, "/please\r");
    expect(v, "please hurry");
    vt_send(v, "/nowhere at all\r");
    expect(v, "is nowhere in the reasoning");
    append(log, EV_ENDED, END_TARGET_MET, 0, "");
    expect(v, "ended: target met");
    log_close(log);
    vt_send(v, "\033");
    vt_settle(v, 60, 1000);
    vt_send(v, "q");
    expect_end(v, WORKBENCH_CLOSED);
    free(path);
}

static size_t times_on_screen(struct vt *v, const char *text)
{
    struct buf b = {0};
    size_t n = 0;
    vt_text(v, &b);
    for (const char *s = buf_str(&b); (s = strstr(s, text)); s++)
        n++;
    buf_free(&b);
    return n;
}

/* Counters that could not be read say why; a failure says where; neither is shown as zero. What the
 * agent has just said is not repeated with the try. */
static void test_evidence(void **state)
{
    (void)state;
    char *path = copy_of_run("kda-11.warp");
    struct log *log = drive(path);
    struct error e = {0};
    struct hash source;
    log_begin(log);
    assert_true(log_put_blob(log, "int x;\n\033]0;evil\a", 15, &source, &e));
    for (int64_t id = 12; id <= 13; id++) {
        struct event ev = event_make(EV_SAY);
        ev.text = id == 12 ? "something else" : "rows collide";
        assert_true(log_append(log, &ev, &e));
        ev = event_make(EV_VERSION);
        ev.id = id;
        ev.ref = id - 1;
        ev.hash = source.hex;
        ev.text = "chunkwise";
        ev.body = id == 12 ? "{\"hypothesis\":\"because of the cache\"}"
                           : "{\"hypothesis\":\"rows collide\"}";
        assert_true(log_append(log, &ev, &e));
        ev = event_make(EV_TRY);
        ev.id = id;
        ev.ref = 1;
        ev.code = id == 12 ? VERDICT_OK : VERDICT_WRONG;
        ev.text = id == 12 ? "" : "tensor o differs";
        ev.x = id == 12 ? 1.5 : (double)NAN;
        ev.lo = ev.hi = ev.x;
        ev.body =
            id == 12
                ? "{\"counters\":[{\"name\":\"cycles\",\"absent\":\"no such counter in this "
                  "virtual machine\"},{\"name\":\"faults\",\"unit\":\"1/call\",\"value\":50,"
                  "\"incumbent\":100}],\"shapes\":[{\"name\":\"big\",\"ns\":2000000,"
                  "\"peak_share\":0.25,\"gflops\":12.5}]}"
                : "{\"message\":\"o is not what it should be\",\"family\":\"long-memory\","
                  "\"shape\":\"t65h3\",\"tensor\":\"o\",\"index\":\"77\",\"got\":1,\"want\":2}";
        assert_true(log_append(log, &ev, &e));
    }
    assert_true(log_commit(log, &e));
    struct vt *v = start((struct start){.o = {.run_path = path}});
    expect(v, "o is not what it should be");
    expect(v, "family   long-memory");
    expect(v, "got 1, want 2");
    expect(v, "v13 chunkwise: wrong: tensor o");
    expect(v, "because of the cache");
    assert_int_equal(times_on_screen(v, "rows collide"), 1);
    expect(v, "absent: not timed");
    vt_send(v, ",");
    expect(v, "cycles            absent");
    expect(v, "no such counter in this virtual");
    expect(v, "faults            50        -50.0 %");
    expect(v, "25.0 % of measured peak");
    expect(v, "[####............] 12.5");
    assert_string_equal(vt_title(v), "");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
    log_close(log);
    free(path);
}

static void test_read_only(void **state)
{
    (void)state;
    struct vt *v = start((struct start){.o = {.read_only = true}});
    expect(v, "watch");
    expect(v, "read-only");
    static const char *const tries[] = {"p", "i", "E", "f", ":stop\r", ":steer x\r", ":pause\r"};
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        vt_send(v, tries[i]);
        expect(v, "`warploop attach kda-7` may do that");
        vt_send(v, "k");
        assert_true(vt_wait_gone(v, "may do that", 2000));
    }
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

static void test_terminals(void **state)
{
    (void)state;
    static const struct start t[] = {
        {.term = "vt100"},         {.term = "linux"},         {.term = "tmux-256color"},
        {.locale = "C"},           {.o = {.ascii = true}},    {.o = {.no_colour = true}},
        {.o = {.theme = "light"}}, {.rows = 60, .cols = 200}, {.rows = 12, .cols = 40},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct vt *v = start(t[i]);
        expect(v, "[1 source]");
        expect(v, t[i].cols == 40 ? "engine died" : "best v");
        vt_settle(v, 50, 1000);
        struct buf b = {0};
        vt_text(v, &b);
        if (i == 0 || i == 3 || i == 4)
            for (size_t k = 0; k < b.len; k++)
                assert_true((unsigned char)b.s[k] < 0x80);
        buf_clear(&b);
        vt_attributes(v, &b);
        if (t[i].o.no_colour || i == 0)
            assert_null(strchr(buf_str(&b), 'c'));
        buf_free(&b);
        vt_send(v, "Q");
        expect_end(v, WORKBENCH_LEFT);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct vt *v = start((struct start){.term = "dumb"});
    expect(v, "result 4 TERM=dumb");
    expect_end(v, WORKBENCH_FAILED);
    v = start((struct start){.o = {.run_path = "/nonexistent/x.warp"}});
    expect(v, "result 4");
    expect_end(v, WORKBENCH_FAILED);
    /* bad themes and key maps are told, not fatal */
    v = start((struct start){.o = {.theme = "no-such"}});
    expect(v, "there is no theme no-such");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
    char *keys = fs_join(folder, "keys-bad.ini");
    assert_true(fs_write(keys, "[keys]\nzoom = Hyper\n", 20, NULL));
    v = start((struct start){.o = {.keys_file = keys}, .cols = 200});
    expect(v, "keys-bad.ini:2: field zoom");
    assert_true(fs_write(keys, "[keys]\nleave = X\n", 17, NULL));
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
    v = start((struct start){.o = {.keys_file = keys}});
    expect(v, "X leave");
    vt_send(v, "QX");
    expect_end(v, WORKBENCH_LEFT);
    free(keys);
}

static void test_sizes(void **state)
{
    (void)state;
    struct vt *v = start((struct start){.rows = 1, .cols = 1});
    vt_settle(v, 200, 2000);
    vt_send(v, "?zz\t\ti\033:");
    vt_settle(v, 100, 1000);
    uint64_t x = 11;
    for (int i = 0; i < 120; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        vt_resize(v, 1 + (int)(x >> 33) % 70, 1 + (int)(x >> 45) % 200);
        if (i % 5 == 0)
            vt_send(v, "\033");
        if (i % 9 == 0)
            vt_send(v, "z\t?");
        if (i % 4 == 0)
            vt_settle(v, 5, 40);
    }
    vt_resize(v, 24, 80);
    for (int i = 0; i < 3; i++) { /* out of whatever it is in */
        vt_send(v, "\033");
        vt_settle(v, 80, 1000);
    }
    expect(v, "kda-7  engine died");
    vt_send(v, "k");
    expect(v, "? help");
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

/* Nothing happens: not a byte, no time. A key: its frame at once. */
static void test_quiet(void **state)
{
    (void)state;
    struct vt *v = start((struct start){.rows = 36, .cols = 120});
    expect(v, "[1 source]");
    vt_settle(v, 300, 2000);
    long cpu = vt_cpu_ms(v);
    assert_int_equal(vt_settle(v, 2500, 2500), 0);
    assert_true(vt_cpu_ms(v) - cpu <= 10);
    int64_t worst = 0;
    for (int i = 0; i < 20; i++) {
        char want[30];
        snprintf(want, sizeof want, "v%d from v%d", 40 - i, 39 - i);
        int64_t t = clock_mono_ns();
        vt_send(v, ",");
        expect(v, want);
        t = clock_mono_ns() - t;
        worst = t > worst ? t : worst;
    }
    assert_true(worst < 150000000); /* some ms; the rest is for a busy machine */
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
}

/* A search through many lines goes on by itself in pieces, and any key stops it. */
static void test_long_search(void **state)
{
    (void)state;
    char *path = fs_join(folder, "kda-10.warp");
    struct mkrun_opts o = {.calls = 2500, .small_bodies = true, .source_bytes = 200};
    struct error e = {0};
    if (!mkrun(path, &o, NULL, &e))
        fail_msg("%s", e.msg);
    struct vt *v = start((struct start){.o = {.run_path = path}});
    expect(v, "[1 source]");
    vt_send(v, "4/baseline:\r"); /* among the first of 30,000 lines */
    expect(v, "searching: ");
    expect(v, "baseline: 50 ms a call");
    expect(v, "scrolled back");
    assert_true(vt_wait_gone(v, "searching", 2000));
    vt_send(v, "/zzz\r");
    expect(v, "searching: ");
    vt_send(v, "j");
    assert_true(vt_wait_gone(v, "searching", 2000));
    assert_false(vt_has(v, "is nowhere"));
    vt_send(v, "/zzz\r");
    expect(v, "is nowhere in the reasoning");
    vt_settle(v, 100, 1000);
    long cpu = vt_cpu_ms(v);
    assert_int_equal(vt_settle(v, 500, 500), 0);
    assert_true(vt_cpu_ms(v) - cpu <= 10);
    vt_send(v, "Q");
    expect_end(v, WORKBENCH_LEFT);
    free(path);
}

static void test_ends(void **state)
{
    (void)state;
    struct vt *v = start((struct start){0});
    expect(v, "[1 source]");
    vt_hangup(v);
    expect_end(v, WORKBENCH_HUNG_UP);
    v = start((struct start){0});
    expect(v, "[1 source]");
    vt_signal(v, SIGHUP);
    expect_end(v, WORKBENCH_HUNG_UP);
    v = start((struct start){0});
    expect(v, "[1 source]");
    vt_signal(v, SIGTERM);
    expect_end(v, WORKBENCH_TERMINATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shows),       cmocka_unit_test(test_versions),
        cmocka_unit_test(test_panes),       cmocka_unit_test(test_help),
        cmocka_unit_test(test_commands),    cmocka_unit_test(test_editor),
        cmocka_unit_test(test_big_steer),   cmocka_unit_test(test_pause),
        cmocka_unit_test(test_live),        cmocka_unit_test(test_evidence),
        cmocka_unit_test(test_read_only),   cmocka_unit_test(test_terminals),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_quiet),       cmocka_unit_test(test_ends),
        cmocka_unit_test(test_long_search),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
