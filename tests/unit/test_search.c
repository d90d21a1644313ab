/* Full-text search over a run's texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/log/log.h"
#include "core/log/log_private.h"
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

static const struct {
    enum event_kind kind;
    const char *text;
} texts[] = {
    /* 1 */ {EV_CALL, "unroll the inner loop: hides the latency of the loads"},
    /* 2 */ {EV_VERSION, "chunkwise CHUNK=16"},
    /* 3 */ {EV_TRY, "clearly slower than the incumbent"},
    /* 4 */ {EV_NOTE, "the state of 100% of the heads fits into L1_cache"},
    /* 5 */ {EV_SAY, "Loads are the bottleneck, d\xc3\xa9j\xc3\xa0 vu"},
    /* 6 */ {EV_STEER, "please look at the loads"},
    /* 7 */ {EV_EFFECT_DONE, "loads in a compiler's message are not searched"},
    /* 8 */ {EV_GOAL, "three times the baseline"},
    /* 9 */ {EV_NOTE, "bad \xff\xfe bytes"},
};

static struct log *filled(const char *dir)
{
    struct log *log = log_create(scratch_path(dir, "a-1.warp"), &e);
    ok(log != NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct event ev = event_make(texts[i].kind);
        ev.text = texts[i].text;
        ok(log_append(log, &ev, &e));
    }
    return log;
}

/* The seqs found, as text: "6 5 1". */
static void finds(struct log *log, const char *words, size_t limit, const char *want)
{
    struct log_hit *hits = NULL;
    struct buf got = {0};
    size_t n = 77;
    ok(log_search(log, words, limit, &hits, &n, &e));
    for (size_t i = 0; i < n; i++) {
        buf_addf(&got, "%s%lld", i ? " " : "", (long long)hits[i].seq);
        assert_non_null(hits[i].snippet);
    }
    assert_string_equal(buf_str(&got), want);
    buf_free(&got);
    log_hits_free(hits, n);
}

static void test_finds(void **state)
{
    struct log *log = filled(*state);
    finds(log, "loads", 10, "6 5 1"); /* newest first, whatever the case */
    finds(log, "LOADS", 10, "6 5 1");
    finds(log, "loads", 2, "6 5");
    finds(log, "loads", 0, "");
    finds(log, "loads latency", 10, "1"); /* all words */
    finds(log, "latency loads", 10, "1");
    finds(log, "chunk", 10, "2"); /* beginnings of words */
    finds(log, "unr lat", 10, "1");
    finds(log, "deja", 10, "5"); /* accents do not matter */
    finds(log, "baseline", 10, "8");
    finds(log, "absent", 10, "");
    finds(log, "", 10, "");
    finds(log, "?!*", 10, "");
    log_close(log);
}

static void test_snippet(void **state)
{
    struct log *log = filled(*state);
    struct log_hit *hits = NULL;
    size_t n = 0;
    ok(log_search(log, "latency", 10, &hits, &n, &e));
    assert_int_equal(n, 1);
    assert_non_null(strstr(hits[0].snippet, "hides the latency"));
    log_hits_free(hits, n);
    log_close(log);
}

/* Nothing that a person types is a syntax error or an operator. */
static void test_no_syntax(void **state)
{
    struct log *log = filled(*state);
    static const char *const nasty[] = {"\"",
                                        "\"\"\"",
                                        "'",
                                        "loads\"",
                                        "loads OR absent",
                                        "NEAR(loads latency)",
                                        "loads NOT",
                                        "text:loads",
                                        "-loads",
                                        "^loads",
                                        "loads*",
                                        "(((",
                                        "loads AND (",
                                        "{text}:x",
                                        "col:",
                                        "+",
                                        "\\",
                                        "%",
                                        "_",
                                        "\xff\xfe",
                                        "\xe2\x80\x94loads\xe2\x80\x94",
                                        "a\x01b",
                                        "loads\n\tlatency"};
    for (size_t i = 0; i < ARRAY_LEN(nasty); i++) {
        struct log_hit *hits = NULL;
        size_t n = 0;
        ok(log_search(log, nasty[i], 10, &hits, &n, &e));
        log_hits_free(hits, n);
    }
    finds(log, "loads OR absent", 10, ""); /* OR is a word */
    finds(log, "-loads", 10, "6 5 1");
    char *words = xmalloc(200001);
    for (int i = 0; i < 200000; i++)
        words[i] = i % 3 ? 'q' : ' ';
    words[200000] = '\0';
    finds(log, words, 10, "");
    free(words);
    log_close(log);
}

static void test_query(void **state)
{
    (void)state;
    static const struct {
        const char *words, *query;
    } cases[] = {{"", ""},
                 {"  ", ""},
                 {"a", "\"a\"*"},
                 {"a b", "\"a\"* \"b\"*"},
                 {"CHUNK=16", "\"CHUNK\"* \"16\"*"},
                 {"say \"hi\"", "\"say\"* \"hi\"*"},
                 {"L1_cache", "\"L1_cache\"*"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *q = search_query(cases[i].words);
        assert_string_equal(q, cases[i].query);
        free(q);
    }
}

/* What is rolled back is not found; what another process appends is. */
static void test_follows_the_log(void **state)
{
    struct log *log = filled(*state);
    struct event ev = event_make(EV_NOTE);
    ev.text = "zebra";
    log_begin(log);
    ok(log_append(log, &ev, &e));
    log_rollback(log);
    finds(log, "zebra", 10, "");
    struct log *reader = log_open_read(scratch_path(*state, "a-1.warp"), &e);
    ok(log_append(log, &ev, &e));
    finds(reader, "zebra", 10, "10");
    log_close(reader);
    log_close(log);
}

/* A file without the index (made where SQLite has no FTS5) is searched by a scan, and goes on. */
static void test_without_index(void **state)
{
    log_close(filled(*state));
    const char *path = scratch_path(*state, "a-1.warp");
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DROP TABLE search", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct log *log = log_open(path, &e);
    ok(log != NULL);
    struct event ev = event_make(EV_NOTE);
    ev.text = "zebra loads";
    ok(log_append(log, &ev, &e));
    finds(log, "zebra", 10, "10");
    finds(log, "loads", 10, "10 6 5 1");
    finds(log, "100%", 10, "4");
    finds(log, "L1_cache", 10, "4");
    finds(log, "L1xcache", 10, "");
    finds(log, "%", 10, "4");
    finds(log, "", 10, "");
    log_close(log);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_finds), T(test_snippet),         T(test_no_syntax),
        T(test_query), T(test_follows_the_log), T(test_without_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
