/* Foreign text made fit for a terminal: each attack by name, then random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/text.h"

struct pair {
    const char *in, *out;
};

static void check(const char *in, size_t n, int tab, const char *want)
{
    struct buf b = {0};
    text_sanitise(&b, in, n, tab);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static void test_attacks(void **state)
{
    (void)state;
    static const struct pair t[] = {
        {"plain text", "plain text"},
        {"", ""},
        {"A\033[31mB\033[0mC", "ABC"},
        {"A\033]0;title\aB", "AB"},
        {"A\033]52;c;aGk=\033\\B", "AB"},
        {"A\033Pq#0\033\\B", "AB"},
        {"A\033_x\033\\B\033^y\033\\C\033Xz\033\\D", "ABCD"},
        {"A\033(0B\033)BC\033#8D", "ABCD"},
        {"A\033MB\033cC\0337D", "ABCD"},
        {"A\033", "A^["},
        {"A\033[12;3", "A"},
        {"A\033[1\nB", "A\nB"},
        {"A\033]0;never ended\nB", "A\nB"},
        {"A\033]0;x\033[31mB", "AB"},
        {"A\xc2\x9b"
         "31mB",
         "AB"},
        {"A\xc2\x9d"
         "0;t\xc2\x9c"
         "B",
         "AB"},
        {"A\xc2\x85"
         "B",
         "A<85>B"},
        {"A\x9b"
         "31mB",
         "A\xef\xbf\xbd"
         "31mB"},
        {"a\rb", "a^Mb"},
        {"a\r\nb", "a\nb"},
        {"x\bY", "x^HY"},
        {"a\x01\x7f", "a^A^?"},
        {"bidi \xe2\x80\xae"
         "abc\xe2\x80\xac.",
         "bidi <202e>abc<202c>."},
        {"\xe2\x81\xa6x\xe2\x81\xa9\xd8\x9c", "<2066>x<2069><061c>"},
        {"a\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf\xc2\xad"
         "b",
         "ab"},
        {"a\xf3\xa0\x81\x81"
         "b",
         "ab"},
        {"a\xe2\x80\xa8"
         "b\xe2\x80\xa9"
         "c",
         "a\nb\nc"},
        {"\xee\x82\xb0", "\xef\xbf\xbd"},
        {"\xff\xfeok", "\xef\xbf\xbd\xef\xbf\xbdok"},
        {"\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80|",
         "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
         "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86", "a\xcc\x81\xcc\x82\xcc\x83\xcc\x84"},
        {"\n\xcc\x81x", "\nx"},
        {"\xe4\xb8\x96\xe7\x95\x8c", "\xe4\xb8\x96\xe7\x95\x8c"},
        {"\xe2\x9a\xa0\xef\xb8\x8f", "\xe2\x9a\xa0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        check(t[i].in, strlen(t[i].in), 8, t[i].out);
    check("a\0b", 3, 8, "a^@b");
}

static void test_tabs(void **state)
{
    (void)state;
    check("a\tb", 3, 8, "a       b");
    check("\tb\n\tc", 5, 4, "    b\n    c");
    check("a\tb", 3, 0, "a b");
    check("\xe4\xb8\x96\tb", 5, 4, "\xe4\xb8\x96  b");
}

/* An unterminated control string hides at most 4 KB. */
static void test_unterminated(void **state)
{
    (void)state;
    char in[6000];
    memset(in, 'x', sizeof in);
    memcpy(in, "\033]0;", 4);
    struct buf b = {0};
    text_sanitise(&b, in, sizeof in, 8);
    assert_true(b.len > 1500 && b.len < 2000);
    buf_free(&b);
}

static void line(const char *in, int cols, const char *want)
{
    struct buf b = {0};
    text_line(&b, in, strlen(in), cols);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static void test_line(void **state)
{
    (void)state;
    line("hello", 5, "hello");
    line("hello world", 8, "hello...");
    line("a\nb\n", 10, "a b");
    line("a\tb", 10, "a b");
    line("hello", 2, "..");
    line("hello", 0, "");
    line("", 10, "");
    line("\xe4\xb8\x96\xe7\x95\x8c\xe4\xb8\x96", 5, "\xe4\xb8\x96...");
    line("e\xcc\x81"
         "bcdef",
         4, "e\xcc\x81...");
    line("\033[31mred\033[0m", 3, "red");
    char *big = xmalloc(1000001);
    memset(big, 'y', 1000000);
    big[1000000] = '\0';
    line(big, 6, "yyy...");
    free(big);
}

static void test_utf8(void **state)
{
    (void)state;
    for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
        if (cp == 0xD800)
            cp = 0xE000;
        char s[4];
        uint32_t back;
        size_t n = text_encode(cp, s);
        assert_int_equal(text_decode(s, n, &back), n);
        assert_int_equal(back, cp);
        if (n > 1) { /* cut short it is one bad byte */
            assert_int_equal(text_decode(s, n - 1, &back), 1);
            assert_int_equal(back, 0xFFFD);
        }
    }
    uint32_t cp;
    assert_int_equal(text_decode("", 0, &cp), 0);
    char s[4];
    assert_int_equal(text_encode(0xD800, s), 3);
    assert_memory_equal(s, "\xef\xbf\xbd", 3);
}

static void test_width(void **state)
{
    (void)state;
    static const struct {
        uint32_t cp;
        int width;
    } t[] = {{'a', 1},     {0xE9, 1},   {0x301, 0},  {0x4E16, 2}, {0x2500, 1},  {0x28FF, 1},
             {0x1F680, 2}, {0xFF21, 2}, {0x200B, 0}, {0x2588, 1}, {0xAC00, 2},  {0x0A, 0},
             {0x7F, 0},    {0xAD, 0},   {0x300, 0},  {0x36F, 0},  {0x370, 1},   {0xE01EF, 0},
             {0x2192, 1},  {0x3000, 2}, {0x303F, 1}, {0x2026, 1}, {0x10FFFD, 1}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        assert_int_equal(text_width(t[i].cp), t[i].width);
}

static bool harmful(uint32_t cp)
{
    return (cp < 0x20 && cp != '\n') || (cp >= 0x7F && cp < 0xA0) || cp == 0x061C || cp == 0xAD ||
           (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x2028 && cp <= 0x202E) ||
           (cp >= 0x2060 && cp <= 0x206F) || cp == 0xFEFF || (cp >= 0xE0000 && cp <= 0xE0FFF) ||
           (cp & 0xFFFE) == 0xFFFE || (cp >= 0xE000 && cp <= 0xF8FF);
}

/* Whatever goes in: valid UTF-8 comes out, nothing that a terminal obeys, marks bounded. */
static void check_safe(const struct buf *b, int *cols)
{
    int marks = 0;
    *cols = 0;
    for (size_t i = 0; i < b->len;) {
        uint32_t cp;
        size_t n = text_decode(b->s + i, b->len - i, &cp);
        assert_false(n == 1 && cp == 0xFFFD);
        assert_false(harmful(cp));
        int w = text_width(cp);
        marks = w == 0 && cp != '\n' ? marks + 1 : 0;
        assert_true(marks <= 4);
        *cols += w;
        i += n;
    }
}

static uint32_t rnd(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*x >> 33);
}

/* Random bytes, with a taste for what matters: escapes, C1, combining marks, bidi. */
static size_t make_random(char *in, size_t max, uint64_t *seed)
{
    static const char *const pieces[] = {
        "\033",     "\033[",        "\033]",        "\033P",        "\033\\",   "\a",   "\xc2\x9b",
        "\xcc\x81", "\xe2\x80\xae", "\xe2\x80\xa8", "\xe2\x80\x8b", "\xc2\x9d", "\r\n", "\t",
        "\xf0\x9f", "\xe4\xb8\x96", "31m",          "0;x",          "abc ",     "\n"};
    size_t n = 0, want = rnd(seed) % max;
    while (n + 8 < want) {
        if (rnd(seed) % 3 == 0) {
            in[n++] = (char)rnd(seed);
        } else {
            const char *p = pieces[rnd(seed) % ARRAY_LEN(pieces)];
            memcpy(in + n, p, strlen(p));
            n += strlen(p);
        }
    }
    return n;
}

static void test_fuzz(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        /* exactly sized, so that a sanitizer sees a read past the end */
        char tmp[400];
        size_t n = make_random(tmp, sizeof tmp, &seed);
        char *in = xmalloc(n ? n : 1);
        memcpy(in, tmp, n);
        struct buf b = {0}, again = {0}, l = {0};
        int cols;
        text_sanitise(&b, in, n, 8);
        check_safe(&b, &cols);
        text_sanitise(&again, buf_str(&b), b.len, 8); /* what is clean stays as it is */
        assert_string_equal(buf_str(&again), buf_str(&b));
        int width = (int)(rnd(&seed) % 60);
        text_line(&l, in, n, width);
        check_safe(&l, &cols);
        assert_true(cols <= width);
        assert_null(strchr(buf_str(&l), '\n'));
        buf_free(&b);
        buf_free(&again);
        buf_free(&l);
        free(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks),      cmocka_unit_test(test_tabs),
        cmocka_unit_test(test_unterminated), cmocka_unit_test(test_line),
        cmocka_unit_test(test_utf8),         cmocka_unit_test(test_width),
        cmocka_unit_test(test_fuzz),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
