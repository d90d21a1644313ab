/* Line diff: the script rebuilds the new text from the old one, is as short as can be, and the
 * unified form is what patch(1) takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/diff.h"
#include "core/base/hash.h"
#include "core/base/mem.h"

/* Lines of both texts, in order, each once, with right numbers. Returns the number of changes. */
static size_t check_script(const char *a, const char *b)
{
    struct diff_line *lines = NULL;
    struct buf old = {0}, new = {0};
    size_t n = 0, changes = 0, at_a = 0, at_b = 0;
    diff_lines(a, strlen(a), b, strlen(b), &lines, &n);
    for (size_t i = 0; i < n; i++) {
        if (lines[i].op != DIFF_INSERT) {
            assert_int_equal(lines[i].a, at_a++);
            buf_add(&old, lines[i].s, lines[i].n);
            buf_addc(&old, '\n');
        }
        if (lines[i].op != DIFF_DELETE) {
            assert_int_equal(lines[i].b, at_b++);
            buf_add(&new, lines[i].s, lines[i].n);
            buf_addc(&new, '\n');
        }
        changes += lines[i].op != DIFF_SAME;
        /* Deletions before insertions within one change. */
        assert_false(i && lines[i].op == DIFF_DELETE && lines[i - 1].op == DIFF_INSERT);
    }
    size_t na = strlen(a), nb = strlen(b);
    assert_int_equal(old.len, na + (na && a[na - 1] != '\n'));
    assert_int_equal(new.len, nb + (nb && b[nb - 1] != '\n'));
    assert_memory_equal(buf_str(&old), a, na);
    assert_memory_equal(buf_str(&new), b, nb);
    buf_free(&old);
    buf_free(&new);
    free(lines);
    return changes;
}

static void test_small(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t changes;
    } cases[] = {{"", "", 0},
                 {"a\n", "a\n", 0},
                 {"", "a\n", 1},
                 {"a\n", "", 1},
                 {"a\n", "b\n", 2},
                 {"a\nb\nc\n", "a\nx\nc\n", 2},
                 {"a\nb\nc\n", "b\nc\n", 1},
                 {"a\nb\nc\n", "a\nb\n", 1},
                 {"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5}, /* Myers' own example */
                 {"a", "a\n", 2}, /* a last line without its newline is another line */
                 {"\n\n\n", "\n\n", 1},
                 {"x\ny", "x\ny", 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(check_script(cases[i].a, cases[i].b), cases[i].changes);
        assert_int_equal(check_script(cases[i].b, cases[i].a), cases[i].changes);
    }
}

/* Length of the longest common subsequence, the slow and certain way. */
static size_t lcs(const char *a, const char *b)
{
    size_t na = strlen(a) / 2, nb = strlen(b) / 2;
    size_t *row = xcalloc(nb + 1, sizeof *row);
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = 0;
        for (size_t j = 1; j <= nb; j++) {
            size_t up = row[j];
            if (a[2 * (i - 1)] == b[2 * (j - 1)])
                row[j] = diagonal + 1;
            else if (row[j - 1] > row[j])
                row[j] = row[j - 1];
            diagonal = up;
        }
    }
    size_t n = row[nb];
    free(row);
    return n;
}

/* Texts of one-letter lines. */
static void random_text(struct buf *b, uint64_t seed, size_t max, uint64_t letters)
{
    size_t n = (size_t)(hash_mix(seed, 1) % (max + 1));
    buf_clear(b);
    for (size_t i = 0; i < n; i++)
        buf_addf(b, "%c\n", (char)('a' + hash_mix(seed, 100 + i) % letters));
}

static void test_shortest(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        random_text(&a, 2 * seed, 3 + seed % 40, 1 + seed % 9);
        random_text(&b, 2 * seed + 1, 3 + seed % 40, 1 + seed % 9);
        size_t changes = check_script(buf_str(&a), buf_str(&b));
        size_t common = lcs(buf_str(&a), buf_str(&b));
        assert_int_equal(changes, a.len / 2 + b.len / 2 - 2 * common);
    }
    buf_free(&a);
    buf_free(&b);
}

static void numbered(struct buf *b, size_t n, size_t stride)
{
    for (size_t i = 0; i < n; i++)
        buf_addf(b, "line %zu\n", i * stride);
}

/* Over the limits a whole block is replaced, quickly. */
static void test_limits(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    int64_t start = clock_mono_ns();
    numbered(&a, 20000, 1);
    numbered(&b, 20000, 2);
    /* Within the limit of lines, far over that of edits. */
    assert_true(check_script(buf_str(&a), buf_str(&b)) >= 20000);
    buf_addf(&a, "one more\n");
    assert_int_equal(check_script(buf_str(&a), buf_str(&a)), 40002);
    buf_clear(&a);
    buf_clear(&b);
    numbered(&a, 19000, 1);
    buf_adds(&b, "first\n");
    numbered(&b, 19000, 1);
    buf_adds(&b, "last\n");
    assert_int_equal(check_script(buf_str(&a), buf_str(&b)), 2);
    assert_true(clock_mono_ns() - start < INT64_C(20000000000));
    buf_free(&a);
    buf_free(&b);
}

static void unified(const char *a, const char *b, int context, const char *want)
{
    struct buf out = {0};
    diff_unified("v1", a, "v2", b, context, &out);
    assert_string_equal(buf_str(&out), want);
    buf_free(&out);
}

static void test_unified(void **state)
{
    (void)state;
    unified("a\nb\n", "a\nb\n", 3, "");
    unified("", "", 3, "");
    unified("a\nb\nc\n", "a\nx\nc\n", 3, "--- v1\n+++ v2\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
    unified("a\nb\nc\n", "a\nx\nc\n", 0, "--- v1\n+++ v2\n@@ -2,1 +2,1 @@\n-b\n+x\n");
    unified("", "a\n", 3, "--- v1\n+++ v2\n@@ -0,0 +1,1 @@\n+a\n");
    unified("a\n", "", 3, "--- v1\n+++ v2\n@@ -1,1 +0,0 @@\n-a\n");
    unified("a\nb", "a\nc", 1,
            "--- v1\n+++ v2\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
            "\\ No newline at end of file\n");
    /* Changes close together are one hunk, others are not. */
    unified("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\n2\n3\ny\n5\n6\n7\n8\nz\n", 1,
            "--- v1\n+++ v2\n@@ -1,5 +1,5 @@\n-1\n+x\n 2\n 3\n-4\n+y\n 5\n@@ -8,2 +8,2 @@\n 8\n-9\n"
            "+z\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_unified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
