/* Moves as switches: resolving to plain text, configurations as bits and as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/task/expr.h"
#include "core/task/rules.h"
#include "core/task/switches.h"
#include "tests/support/scratch.h"
#include "tests/support/tasks.h"

static struct task *search; /* the task of the small texts below */

static struct config config_of(const struct task *t, const char *text)
{
    struct config c;
    struct error e = {0};
    if (!config_parse(t, text, &c, &e))
        fail_msg("%s", e.msg);
    return c;
}

/* All #define lines that the task wants, so that a text may be short. */
static const char defines[] = "#define CHUNK 16\n#define VBLOCK 32\n#define ROWS 6\n"
                              "#define LANES 2\n#define AHEAD 1\n";

static void becomes(const char *config, const char *source, const char *want)
{
    struct config c = config_of(search, config);
    struct buf in = {0}, out = {0};
    struct error e = {0};
    buf_adds(&in, source);
    buf_adds(&in, defines);
    if (!switches_resolve(search, buf_str(&in), &c, &out, &e))
        fail_msg("%s", e.msg);
    char *rest = strstr(buf_str(&out), "#define CHUNK");
    if (!rest)
        rest = strstr(buf_str(&out), "#define VBLOCK");
    if (!rest)
        rest = strstr(buf_str(&out), "#define LANES");
    if (rest)
        *rest = '\0';
    assert_string_equal(buf_str(&out), want);
    buf_free(&in);
    buf_free(&out);
}

static void refuses(const char *source, const char *says)
{
    struct config c = config_default(search);
    struct buf in = {0}, out = {0};
    struct error e = {0};
    buf_adds(&in, source);
    buf_adds(&in, defines);
    if (switches_resolve(search, buf_str(&in), &c, &out, &e))
        fail_msg("taken: %s", source);
    if (!strstr(e.msg, says))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
    buf_free(&in);
    buf_free(&out);
}

static void test_resolves(void **state)
{
    (void)state;
    const char *src = "a\n#if FUSED\nb\n#elif PANELS\nc\n#else\nd\n#endif\ne\n";
    becomes("start", src, "a\nd\ne\n");
    becomes("fused", src, "a\nb\ne\n");
    becomes("panels", src, "a\nc\ne\n");
    becomes("panels fused", src, "a\nb\ne\n");
    becomes("fused", "#ifdef FUSED\nx\n#endif\n#ifndef FUSED\ny\n#endif\n", "x\n");
    becomes("start", "#ifdef FUSED\nx\n#endif\n#ifndef FUSED\ny\n#endif\n", "y\n");
    becomes("start", "#ifdef CHUNK\nx\n#endif\n", "x\n");
    becomes("start", "#if defined(FUSED) || !defined(PANELS)\nx\n#endif\n", "x\n");
    becomes("panels VBLOCK=64", "#if VBLOCK == 64 /* wide */\nx\n#endif // here\n", "x\n");
    becomes("panels VBLOCK=16", "#if VBLOCK > 16 // wide\nx\n#else\ny\n#endif\n", "y\n");
    becomes("fused", "  #if FUSED\n  x\n\t#endif\n", "  x\n");
    becomes("fused", "#if FUSED\r\nx\r\n#endif\r\n", "x\r\n");
    becomes("start", "#if FUSED\n#if PANELS\nx\n#else\ny\n#endif\n#endif\nz\n", "z\n");
    becomes("fused", "#if !FUSED\n#if PANELS\nx\n#else\ny\n#endif\n#endif\nz\n", "z\n");
}

/* What is not ours stays, byte for byte, around and inside what is. */
static void test_keeps(void **state)
{
    (void)state;
    becomes("start",
            "#if defined(__AVX512F__)\n#if FUSED\na\n#endif\nb\n#elif W\n#else\nc\n#endif\n",
            "#if defined(__AVX512F__)\nb\n#elif W\n#else\nc\n#endif\n");
    becomes("fused", "#if FUSED\n#if W == 16\na\n#elif W == 8\nb\n#else\nc\n#endif\n#endif\n",
            "#if W == 16\na\n#elif W == 8\nb\n#else\nc\n#endif\n");
    becomes("start", "#if FUSED\n#if W == 16\na\n#endif\n#else\nz\n#endif\n", "z\n");
    becomes("start", "#if 0\nx\n#endif\n#ifdef NDEBUG\n#endif\n",
            "#if 0\nx\n#endif\n#ifdef NDEBUG\n#endif\n");
    becomes("start", "#define NB V\n# pragma GCC unroll 4\n  # define X \\\n#if FUSED\n",
            "#define NB V\n# pragma GCC unroll 4\n  # define X \\\n#if FUSED\n");
    becomes("start", "#if __GNUC__ > 3 && \\\n    __GNUC_MINOR__ > 1\nx\n#endif\n",
            "#if __GNUC__ > 3 && \\\n    __GNUC_MINOR__ > 1\nx\n#endif\n");
    becomes("start", "no newline at the end\n\n\n", "no newline at the end\n\n\n");
}

static void test_tunables(void **state)
{
    (void)state;
    struct config c = config_of(search, "chunkwise vectors CHUNK=32 ROWS=4");
    struct buf out = {0};
    struct error e = {0};
    const char *src =
        "#define CHUNK 16\n  #  define ROWS   6 /* rows */\n#define LANES 2\t// lanes\n"
        "#define VBLOCK 32\n#define AHEAD 1\n#define NV (LANES * CHUNK)\n";
    assert_true(switches_resolve(search, src, &c, &out, &e));
    assert_string_equal(buf_str(&out), "#define CHUNK 32\n  #  define ROWS   4 /* rows */\n"
                                       "#define LANES 2\t// lanes\n#define NV (LANES * CHUNK)\n");
    buf_free(&out);
}

static void test_refused(void **state)
{
    (void)state;
    refuses("#if FUSED && W\n#endif\n", "line 1: a condition mixes");
    refuses("\n#if W\n#elif FUSED\n#endif\n", "line 3: a chain mixes");
    refuses("#if FUSED\n#elif W\n#endif\n", "line 2: a chain mixes");
    refuses("#if FUSED\n", "line 1: #if without #endif");
    refuses("#if W\n#if FUSED\n#endif\n", "line 1: #if without #endif");
    refuses("#endif\n", "line 1: #endif without #if");
    refuses("#else\n", "line 1: #else without #if");
    refuses("#elif FUSED\n", "line 1: #elif without #if");
    refuses("#if FUSED\n#else\n#else\n#endif\n", "line 3: a second #else");
    refuses("#if FUSED\n#else\n#elif PANELS\n#endif\n", "line 3: #elif after #else");
    refuses("#if FUSED +\n#endif\n", "line 1: expected a condition");
    refuses("#if FUSED ? 1 : 0\n#endif\n", "line 1: expected a condition");
    refuses("#if FUSED && \\\n    PANELS\n#endif\n", "one line");
    refuses("#if FUSED /* goes\n on */\n#endif\n", "one line");
    refuses("# if FUSED\n# endif\n", "line 1: switch FUSED may stand only in #if lines");
    refuses("#define FAST FUSED\n", "line 1: switch FUSED may stand only");
    refuses("#undef CHUNK\n", "line 1: tunable CHUNK may not be undefined");
    refuses("#define CHUNK (16)\n", "line 1: expected \"#define CHUNK NUMBER\"");
    refuses("#define CHUNK\n", "line 1: expected \"#define CHUNK NUMBER\"");
    refuses("#define CHUNK(x) 16\n", "line 1: expected \"#define CHUNK NUMBER\"");
    refuses("#define CHUNK 16\n", "tunable CHUNK is defined twice");
    struct config c = config_of(search, "panels");
    struct buf out = {0};
    struct error e = {0};
    assert_false(switches_resolve(search, "int x;\n", &c, &out, &e));
    assert_non_null(strstr(e.msg, "no line \"#define VBLOCK 32\""));
    buf_free(&out);
    struct buf deep = {0};
    for (int i = 0; i < 100; i++)
        buf_adds(&deep, "#if FUSED\n");
    refuses(buf_str(&deep), "nested deeper");
    buf_free(&deep);
}

/* ---------------------------------------------------------------- configurations */

static void test_config_text(void **state)
{
    (void)state;
    const char *const same[] = {"start", "fused", "chunkwise CHUNK=16", "chunkwise CHUNK=24",
                                "chunkwise vectors residual inverse CHUNK=16 ROWS=6 LANES=2"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        struct config c = config_of(search, same[i]);
        char *text = config_text(search, &c);
        assert_string_equal(text, same[i]);
        free(text);
    }
    struct config c = config_of(search, "  CHUNK=16 residual   chunkwise ");
    char *text = config_text(search, &c);
    assert_string_equal(text, "chunkwise residual CHUNK=16");
    free(text);
    const struct {
        const char *text, *says;
    } bad[] = {{"", "empty"},
               {"  ", "empty"},
               {"chunkwize", "did you mean \"chunkwise\""},
               {"residual", "\"residual\" requires \"chunkwise\""},
               {"chunkwise subblocks pairwise", "\"subblocks\" excludes \"pairwise\""},
               {"fused fused", "twice"},
               {"fused CHUNK=16", "no meaning without move \"chunkwise\""},
               {"chunkwise CHUNK=17", "expected one of 8, 12, 16, 24, 32"},
               {"chunkwise CHUNK=", "expected one of"},
               {"chunkwise CHUNK=16x", "expected one of"},
               {"chunkwise CHUNK=16 CHUNK=16", "twice"},
               {"chunkwise CHUMK=16", "did you mean \"CHUNK\""},
               {"chunkwise =16", "no move or tunable"},
               {"start fused", "no move or tunable \"start\""}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error e = {0};
        struct config before = c;
        if (config_parse(search, bad[i].text, &c, &e) || !strstr(e.msg, bad[i].says))
            fail_msg("\"%s\": \"%s\" does not say \"%s\"", bad[i].text, e.msg, bad[i].says);
        assert_memory_equal(&before, &c, sizeof c);
    }
}

/* Every set of moves: valid ones and no others come back from their text. */
static void test_config_all(void **state)
{
    (void)state;
    size_t valid = 0;
    for (uint64_t moves = 0; moves < (uint64_t)1 << search->nmoves; moves++) {
        struct config c = config_default(search), back;
        c.moves = moves;
        char *text = config_text(search, &c);
        assert_int_equal(config_valid(search, &c), config_parse(search, text, &back, NULL));
        if (config_valid(search, &c)) {
            assert_memory_equal(&c, &back, sizeof c);
            valid++;
        }
        free(text);
    }
    assert_true(valid >= 20 && valid < (size_t)1 << search->nmoves);
    struct config c = config_default(search);
    c.values[0] = 17;
    assert_false(config_valid(search, &c));
    c = config_default(search);
    c.moves = (uint64_t)1 << 63;
    assert_false(config_valid(search, &c));
    assert_int_equal(config_closure(search, 6),
                     1 | 1 << 5 | 1 << 6); /* inverse: residual: chunkwise */
}

/* ---------------------------------------------------------------- against the compiler */

static struct config random_config(const struct task *t, uint64_t seed)
{
    struct config c = config_default(t);
    do {
        seed = hash_mix(seed, 11);
        c.moves = 0;
        for (size_t i = 0; i < t->nmoves; i++)
            if (hash_mix(seed, i) & 1)
                c.moves |= config_closure(t, i);
    } while (!config_valid(t, &c));
    for (size_t i = 0; i < t->ntunables; i++) {
        const struct tunable *v = &t->tunables[i];
        if (config_applies(t, &c, i))
            c.values[i] = v->values[hash_mix(seed, 100 + i) % v->nvalues];
    }
    return c;
}

/* The preprocessed text with every run of blanks as one. */
static char *preprocess(const char *dir, const char *file, const char *flags)
{
    struct buf out = {0};
    char *command =
        xasprintf("gcc -std=gnu11 -E -P %s -I%s %s", flags, dir, scratch_path(dir, file));
    FILE *p = popen(command, "r");
    assert_non_null(p);
    bool blank = true;
    for (int c; (c = getc(p)) != EOF;) {
        if (!isspace(c))
            buf_addc(&out, (char)c);
        else if (!blank)
            buf_addc(&out, ' ');
        blank = isspace(c);
    }
    if (pclose(p) != 0)
        fail_msg("%s", command);
    free(command);
    return buf_take(&out);
}

/* The moves source with its tunables set, by means of its own: whole lines are replaced. */
static char *with_values(const struct task *t, const struct config *c)
{
    struct buf out = {0};
    for (const char *p = t->c.moves; *p;) {
        size_t n = strcspn(p, "\n") + 1, i = 0;
        for (; i < t->ntunables; i++) {
            char *head = xasprintf("#define %s ", t->tunables[i].name);
            bool hit = strncmp(p, head, strlen(head)) == 0;
            free(head);
            if (hit)
                break;
        }
        if (i < t->ntunables)
            buf_addf(&out, "#define %s %lld\n", t->tunables[i].name, (long long)c->values[i]);
        else
            buf_add(&out, p, n);
        p += n;
    }
    return buf_take(&out);
}

static void no_switch_left(const struct task *t, const char *text)
{
    size_t at = 0, n, len = strlen(text);
    while ((n = expr_next_name(text, len, &at))) {
        for (size_t i = 0; i < t->nmoves; i++)
            if (strlen(t->moves[i].sw) == n && memcmp(t->moves[i].sw, text + at, n) == 0)
                fail_msg("%s is left", t->moves[i].sw);
        at += n;
    }
}

static void compare(const struct task *t, const char *dir, const struct config *c)
{
    struct buf flags = {0}, plain = {0};
    struct error e = {0};
    int line = 0;
    for (size_t i = 0; i < t->nmoves; i++)
        if (c->moves >> i & 1)
            buf_addf(&flags, " -D%s=1", t->moves[i].sw);
    char *whole = with_values(t, c), *name = config_text(t, c);
    if (!switches_resolve(t, t->c.moves, c, &plain, &e) ||
        !rules_check_c(t, plain.s, plain.len, &line, &e) ||
        !fs_write(scratch_path(dir, "whole.c"), whole, strlen(whole), &e) ||
        !fs_write(scratch_path(dir, "plain.c"), plain.s, plain.len, &e))
        fail_msg("%s: %s", name, e.msg);
    no_switch_left(t, plain.s);
    char *a = preprocess(dir, "whole.c", buf_str(&flags)), *b = preprocess(dir, "plain.c", "");
    if (strcmp(a, b) != 0)
        fail_msg("%s: the resolved text is another program", name);
    assert_true(strlen(a) > 100);
    free(a);
    free(b);
    free(name);
    free(whole);
    buf_free(&plain);
    buf_free(&flags);
}

static void check_task(const char *name, int configs)
{
    struct task *t = tasks_load(name);
    char *dir = scratch_new();
    struct buf header = {0}, start = {0};
    struct error e = {0};
    struct config c = config_default(t);
    char *file = xasprintf("%s.h", t->name);
    task_header(t, &header);
    assert_true(fs_write(scratch_path(dir, file), header.s, header.len, &e));
    assert_true(switches_resolve(t, t->c.moves, &c, &start, &e));
    assert_string_equal(buf_str(&start), t->c.start);
    compare(t, dir, &c);
    for (size_t i = 0; i < t->nmoves; i++) { /* each move alone */
        c = config_default(t);
        c.moves = config_closure(t, i);
        compare(t, dir, &c);
    }
    for (int i = 0; i < configs; i++) {
        c = random_config(t, (uint64_t)i);
        compare(t, dir, &c);
    }
    buf_free(&header);
    buf_free(&start);
    free(file);
    scratch_free(dir);
    task_free(t);
}

static void test_against_gcc(void **state)
{
    (void)state;
    int more = getenv("TORTURE") ? 20 : 1;
    check_task("kda", 40 * more);
    check_task("mla-decode", 20 * more);
    check_task("tiny", 4 * more);
    check_task("search", 10 * more);
}

/* Any text: an answer or an error with a line, never a fault. */
static void test_mutations(void **state)
{
    (void)state;
    struct task *t = tasks_load("kda");
    size_t n = strlen(t->c.moves);
    for (uint64_t i = 0; i < 400; i++) {
        char *text = xstrdup(t->c.moves);
        for (size_t k = 0; k <= i % 4; k++) {
            size_t at = hash_mix(i, k) % n;
            text[at] = "#\n\\/*\"ifEL 0&"[hash_mix(i, k + 50) % 13];
        }
        struct config c = random_config(t, i);
        struct buf out = {0};
        struct error e = {0};
        if (!switches_resolve(t, text, &c, &out, &e))
            assert_true(strncmp(e.msg, "line ", 5) == 0 || strstr(e.msg, "no line"));
        buf_free(&out);
        free(text);
    }
    task_free(t);
}

int main(void)
{
    search = tasks_load("search");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resolves),    cmocka_unit_test(test_keeps),
        cmocka_unit_test(test_tunables),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_config_text), cmocka_unit_test(test_config_all),
        cmocka_unit_test(test_against_gcc), cmocka_unit_test(test_mutations),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    task_free(search);
    return rc;
}
