/* The inbox: commands from any process reach the engine exactly once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/log/log.h"
#include "tests/support/dropvfs.h"
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
    struct log *log = log_create(scratch_path(*state, "a-1.warp"), &e);
    ok(log != NULL);
    log_close(log);
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    return 0;
}

static void test_order_and_texts(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    const char *const texts[] = {"",
                                 "plain",
                                 "\x1b]0;title\a\x01\x7f",
                                 "bad \xff utf-8 \xc3",
                                 "'); DELETE FROM event; --",
                                 "two\nlines"};
    struct command *cmds = NULL;
    size_t n = 0;
    struct log *log = log_open(path, &e);
    ok(inbox_list(log, &cmds, &n, &e));
    assert_int_equal(n, 0);
    inbox_free(cmds, n);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ok(inbox_put(path, "ann", i % 2 ? "steer" : "goal", texts[i], &e));
    ok(inbox_list(log, &cmds, &n, &e));
    assert_int_equal(n, ARRAY_LEN(texts));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(cmds[i].author, "ann");
        assert_string_equal(cmds[i].kind, i % 2 ? "steer" : "goal");
        assert_string_equal(cmds[i].text, texts[i]);
        assert_true(i == 0 || cmds[i].id > cmds[i - 1].id);
    }
    ok(inbox_done(log, cmds[0].id, &e));
    int64_t last = cmds[n - 1].id;
    for (size_t i = 1; i < n; i++)
        ok(inbox_done(log, cmds[i].id, &e));
    inbox_free(cmds, n);
    ok(inbox_put(path, "ann", "pause", "", &e));
    ok(inbox_list(log, &cmds, &n, &e));
    assert_int_equal(n, 1);
    assert_true(cmds[0].id > last); /* a number is never given twice */
    inbox_free(cmds, n);
    log_close(log);
}

static void test_limit(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    size_t limit = (size_t)1 << 20;
    char *text = xmalloc(limit + 2);
    memset(text, 'x', limit + 1);
    text[limit + 1] = '\0';
    assert_false(inbox_put(path, "ann", "steer", text, &e));
    assert_int_equal(e.code, ERR_INPUT);
    text[limit] = '\0';
    ok(inbox_put(path, "ann", "steer", text, &e));
    struct log *log = log_open_read(path, &e);
    struct command *cmds = NULL;
    size_t n = 0;
    ok(inbox_list(log, &cmds, &n, &e));
    assert_int_equal(strlen(cmds[0].text), limit);
    inbox_free(cmds, n);
    log_close(log);
    free(text);
    assert_false(inbox_put(scratch_path(*state, "none.warp"), "ann", "pause", "", &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
}

/* ---- exactly once ------------------------------------------------------------------------------
 */

/* What the engine does at a safe point: every command becomes an event, in one batch. */
static bool take_all(struct log *log)
{
    struct command *cmds = NULL;
    size_t n = 0;
    if (!inbox_list(log, &cmds, &n, NULL))
        return false;
    log_begin(log);
    bool good = true;
    for (size_t i = 0; good && i < n; i++) {
        struct event ev = event_make(EV_STEER);
        ev.text = cmds[i].text;
        good = log_append(log, &ev, NULL) && inbox_done(log, cmds[i].id, NULL);
    }
    inbox_free(cmds, n);
    return log_commit(log, NULL) && good;
}

static void die_at(void *ctx, int64_t n, enum drop_op op)
{
    (void)op;
    if (n == *(int64_t *)ctx)
        kill(getpid(), SIGKILL);
}

static int die_number;

static int take_and_die(const char *dir)
{
    int64_t at = die_number;
    dropvfs_install(false);
    struct log *log = log_open(scratch_path(dir, "a-1.warp"), NULL);
    dropvfs_before(die_at, &at);
    return log && take_all(log) ? 0 : 1;
}

static bool count_one(void *ctx, const struct event *ev)
{
    unsigned char *seen = ctx;
    seen[atoi(ev->text)]++;
    return true;
}

static void seen_exactly_once(const char *path, int n)
{
    unsigned char seen[256] = {0};
    struct log *log = log_open_read(path, &e);
    ok(log_each(log, 0, 0, false, count_one, seen, &e));
    log_close(log);
    for (int i = 0; i < n; i++)
        assert_int_equal(seen[i], 1);
}

/* Killed before every single write of the taking; the next engine takes what is left. */
static void test_exactly_once(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    char text[16];
    int sent = 0, status = 128 + SIGKILL;
    for (die_number = 1; status == 128 + SIGKILL; die_number++) {
        assert_true(sent < 250);
        snprintf(text, sizeof text, "%d", sent++);
        ok(inbox_put(path, "ann", "steer", text, &e));
        status = scratch_child(take_and_die, *state);
        struct log *log = log_open(path, &e);
        ok(take_all(log));
        log_close(log);
        seen_exactly_once(path, sent);
    }
    assert_int_equal(status, 0);
    assert_true(sent > 5);
}

static void test_rollback_keeps_the_command(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    struct command *cmds = NULL;
    size_t n = 0;
    ok(inbox_put(path, "ann", "stop", "", &e));
    struct log *log = log_open(path, &e);
    ok(inbox_list(log, &cmds, &n, &e));
    log_begin(log);
    ok(inbox_done(log, cmds[0].id, &e));
    log_rollback(log);
    inbox_free(cmds, n);
    ok(inbox_list(log, &cmds, &n, &e));
    assert_int_equal(n, 1);
    inbox_free(cmds, n);
    log_close(log);
}

/* Several people at once, while an engine takes. */
static int put_fifty(const char *dir)
{
    char text[16];
    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof text, "%d", die_number * 50 + i);
        if (!inbox_put(scratch_path(dir, "a-1.warp"), "ann", "steer", text, NULL))
            return 1;
    }
    return 0;
}

static void test_many_at_once(void **state)
{
    const char *path = scratch_path(*state, "a-1.warp");
    pid_t pids[4];
    for (die_number = 0; die_number < 4; die_number++) {
        pids[die_number] = fork();
        if (pids[die_number] == 0)
            _exit(put_fifty(*state));
    }
    struct log *log = log_open(path, &e);
    ok(log_lock(log, &e));
    int left = 4;
    while (left) {
        int status = 0;
        ok(take_all(log));
        if (waitpid(-1, &status, WNOHANG) > 0) {
            assert_int_equal(status, 0);
            left--;
        }
    }
    ok(take_all(log));
    log_close(log);
    seen_exactly_once(path, 200);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_order_and_texts), T(test_limit),
        T(test_exactly_once),    T(test_rollback_keeps_the_command),
        T(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
