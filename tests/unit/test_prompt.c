/* The input line, and windows into long lists of text that wraps. */
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
#include "tui/keys.h"
#include "tui/prompt.h"
#include "tui/wrap.h"

static enum prompt_result type(struct prompt *p, const char *s)
{
    enum prompt_result r = PROMPT_MORE;
    for (size_t n = strlen(s), i = 0; i < n && r == PROMPT_MORE;) {
        uint32_t cp;
        i += text_decode(s + i, n - i, &cp);
        r = prompt_key(p, cp);
    }
    return r;
}

static void keys(struct prompt *p, const char *names)
{
    char copy[200];
    snprintf(copy, sizeof copy, "%s", names);
    for (char *save, *k = strtok_r(copy, " ", &save); k; k = strtok_r(NULL, " ", &save)) {
        uint32_t key = key_parse(k);
        assert_int_not_equal(key, K_NONE);
        assert_int_equal(prompt_key(p, key), PROMPT_MORE);
    }
}

static void expect(const struct prompt *p, const char *want)
{
    /* the cursor is shown as | */
    struct buf b = {0};
    buf_add(&b, p->text.s, p->cursor);
    buf_addc(&b, '|');
    buf_adds(&b, p->text.s + p->cursor);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static void test_edit(void **state)
{
    (void)state;
    struct prompt p = {0};
    prompt_start(&p, "steer: ", "", false);
    type(&p, "try larger tiles");
    expect(&p, "try larger tiles|");
    keys(&p, "Alt-b Alt-b");
    expect(&p, "try |larger tiles");
    keys(&p, "Ctrl-K");
    type(&p, "\xe4\xb8\x96\xe7\x95\x8c");
    keys(&p, "Left Backspace");
    expect(&p, "try |\xe7\x95\x8c");
    keys(&p, "Delete Ctrl-W");
    expect(&p, "|");
    type(&p, "e\xcc\x81x");
    keys(&p, "Left Backspace"); /* the mark goes with its letter */
    expect(&p, "|x");
    keys(&p, "End Ctrl-U");
    expect(&p, "|");
    type(&p, "a b c");
    keys(&p, "Home Alt-d Alt-f Right Right Right Right");
    expect(&p, " b c|");
    keys(&p, "Ctrl-A Ctrl-F Ctrl-D F5 Alt-x PgUp");
    expect(&p, " | c");
    prompt_free(&p);
}

static void test_lines(void **state)
{
    (void)state;
    struct prompt p = {0};
    prompt_start(&p, "goal: ", "one", false);
    keys(&p, "Alt-Enter");
    type(&p, "two and");
    expect(&p, "one\ntwo and|");
    keys(&p, "Up");
    expect(&p, "one|\ntwo and");
    keys(&p, "Home Down");
    expect(&p, "one\n|two and");
    assert_true(prompt_insert(&p, "x\r\ny\033[31m\001\tz\rw", 15));
    expect(&p, "one\nx\ny[31m\tz\nw|two and");
    assert_int_equal(prompt_rows(&p, 80), 4);
    prompt_start(&p, "/", "", true);
    assert_true(prompt_insert(&p, "a\nb", 3));
    keys(&p, "Alt-Enter");
    expect(&p, "a b|");
    prompt_free(&p);
}

static void test_end(void **state)
{
    (void)state;
    struct prompt p = {0};
    prompt_start(&p, ":", "", true);
    assert_int_equal(prompt_key(&p, K_BACKSPACE), PROMPT_CANCELLED);
    assert_int_equal(prompt_key(&p, K_ESCAPE), PROMPT_CANCELLED);
    assert_int_equal(prompt_key(&p, K_CTRL | 'c'), PROMPT_CANCELLED);
    for (int i = 0; i < 3; i++) {
        char s[20];
        snprintf(s, sizeof s, "cmd%d", i);
        prompt_start(&p, ":", "", true);
        type(&p, s);
        assert_int_equal(prompt_key(&p, K_ENTER), PROMPT_ACCEPTED);
    }
    prompt_start(&p, ":", "", true);
    type(&p, "dra");
    keys(&p, "Up");
    expect(&p, "cmd2|");
    keys(&p, "Up Up Up");
    expect(&p, "cmd0|");
    keys(&p, "Down Down Down");
    expect(&p, "dra|");
    keys(&p, "Down");
    expect(&p, "dra|");
    prompt_free(&p);
}

/* A megabyte fits, a byte more is refused whole. */
static void test_limit(void **state)
{
    (void)state;
    struct prompt p = {0};
    prompt_start(&p, "steer: ", "", false);
    char *big = xmalloc(PROMPT_MAX + 1);
    memset(big, 'x', PROMPT_MAX + 1);
    assert_false(prompt_insert(&p, big, PROMPT_MAX + 1));
    assert_true(p.refused);
    assert_int_equal(p.text.len, 0);
    assert_true(prompt_insert(&p, big, PROMPT_MAX));
    assert_false(p.refused);
    assert_int_equal(prompt_key(&p, 'y'), PROMPT_MORE);
    assert_true(p.refused);
    assert_int_equal(p.text.len, PROMPT_MAX);
    assert_int_equal(prompt_rows(&p, 80), PROMPT_ROWS);
    struct grid *g = grid_new(6, 80, GLYPHS_ASCII);
    prompt_draw(&p, grid_view(g, (struct rect){0, 0, 6, 80}));
    assert_int_equal(g->cursor_y, 5);
    grid_free(g);
    free(big);
    prompt_free(&p);
}

static void test_draw(void **state)
{
    (void)state;
    struct prompt p = {0};
    prompt_start(&p, "> ", "abcdefgh", false);
    struct grid *g = grid_new(3, 6, GLYPHS_ASCII);
    struct view v = grid_view(g, (struct rect){0, 0, 3, 6});
    prompt_draw(&p, v);
    struct buf b = {0};
    grid_text(g, &b);
    assert_string_equal(buf_str(&b), "> abcd\nefgh\n\n");
    assert_int_equal(g->cursor_y, 1);
    assert_int_equal(g->cursor_x, 4);
    prompt_set(&p, "abcd"); /* a full row: the cursor stands in the next */
    prompt_draw(&p, v);
    assert_int_equal(g->cursor_y, 1);
    assert_int_equal(g->cursor_x, 0);
    for (int h = 1; h < 4; h++)
        for (int w = 1; w < 6; w++)
            prompt_draw(&p, view_sub(v, 0, 0, h, w));
    buf_free(&b);
    grid_free(g);
    prompt_free(&p);
}

/* Random keys: the cursor always stands between characters, the text stays valid UTF-8. */
static void test_fuzz(void **state)
{
    (void)state;
    static const uint32_t k[] = {
        'a',          ' ',         0x4E16,      0x301,        '\n',
        K_LEFT,       K_RIGHT,     K_UP,        K_DOWN,       K_HOME,
        K_END,        K_BACKSPACE, K_DELETE,    K_CTRL | 'w', K_CTRL | 'u',
        K_CTRL | 'k', K_ALT | 'b', K_ALT | 'f', K_ALT | 'd',  K_ALT | K_ENTER,
        'b',          0xE9,        0x1F680,     K_ENTER,      K_TAB};
    struct prompt p = {0};
    prompt_start(&p, "x: ", "", false);
    struct grid *g = grid_new(4, 9, GLYPHS_BRAILLE);
    uint64_t x = 5;
    for (int i = 0; i < 40000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        enum prompt_result r = prompt_key(&p, k[(x >> 33) % ARRAY_LEN(k)]);
        if (r != PROMPT_MORE)
            prompt_start(&p, "x: ", "", (x >> 50 & 1) != 0);
        assert_true(p.cursor <= p.text.len);
        for (size_t j = 0; j < p.text.len;) {
            uint32_t cp;
            size_t n = text_decode(p.text.s + j, p.text.len - j, &cp);
            assert_true(cp != 0xFFFD);
            assert_true(p.cursor <= j || p.cursor >= j + n);
            j += n;
        }
        prompt_draw(&p, grid_view(g, (struct rect){0, 0, 4, 9}));
        assert_true(g->cursor_y >= 0);
    }
    grid_free(g);
    prompt_free(&p);
}

/* ---------------------------------------------------------------------------------- wrapping */

static void expect_wrap(const char *s, int width, int indent, const char *want)
{
    size_t starts[WRAP_MAX_ROWS], n = strlen(s);
    size_t rows = wrap_text(s, n, width, indent, starts);
    struct buf b = {0};
    for (size_t i = 0; i < rows; i++) {
        size_t end = i + 1 < rows ? starts[i + 1] : n;
        buf_add(&b, s + starts[i], end - starts[i]);
        buf_addc(&b, '|');
    }
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static void test_wrap(void **state)
{
    (void)state;
    expect_wrap("", 10, 0, "|");
    expect_wrap("hello", 10, 0, "hello|");
    expect_wrap("hello world", 8, 0, "hello |world|");
    expect_wrap("hello world", 5, 0, "hello |world|");
    expect_wrap("abcdefghij", 4, 0, "abcd|efgh|ij|");
    expect_wrap("aa bb cc dd", 5, 2, "aa bb |cc |dd|");
    expect_wrap("\xe4\xb8\x96\xe7\x95\x8c\xe4\xb8\x96", 5, 0,
                "\xe4\xb8\x96\xe7\x95\x8c|\xe4\xb8\x96|");
    expect_wrap("\xe4\xb8\x96\xe7\x95\x8c", 1, 0, "\xe4\xb8\x96|\xe7\x95\x8c|");
    expect_wrap("abc ", 3, 0, "abc |");
    char big[5000];
    memset(big, 'x', sizeof big);
    size_t starts[WRAP_MAX_ROWS];
    assert_int_equal(wrap_text(big, sizeof big, 3, 0, starts), WRAP_MAX_ROWS);
}

static size_t heights(void *ctx, size_t i)
{
    const int *h = ctx;
    return (size_t)h[i % 4];
}

static void test_scroll(void **state)
{
    (void)state;
    int h[4] = {1, 2, 1, 3}; /* 7 rows each four items */
    struct scroll s;
    scroll_init(&s);
    scroll_update(&s, 0, 5, heights, h);
    assert_true(s.follow);
    scroll_update(&s, 2, 5, heights, h);
    assert_int_equal(s.item, 0);
    assert_true(s.follow);
    scroll_update(&s, 8, 5, heights, h); /* the last five rows: item 6, 7 and one row of 5 */
    assert_int_equal(s.item, 5);
    assert_int_equal(s.row, 1);
    scroll_by(&s, -1, heights, h);
    assert_false(s.follow);
    assert_int_equal(s.item, 5);
    assert_int_equal(s.row, 0);
    scroll_update(&s, 20, 5, heights, h); /* new ones come: the window stays and counts them */
    assert_int_equal(s.item, 5);
    assert_int_equal(scroll_new(&s), 12);
    scroll_by(&s, 1000000, heights, h);
    assert_true(s.follow);
    assert_int_equal(scroll_new(&s), 0);
    scroll_by(&s, -1000000, heights, h);
    assert_int_equal(s.item, 0);
    assert_int_equal(s.row, 0);
    scroll_end(&s, heights, h);
    assert_true(s.follow);
    assert_int_equal(s.item, 17);
    assert_int_equal(s.row, 1);
    scroll_to(&s, 10, heights, h);
    assert_false(s.follow);
    assert_true(s.item <= 10 && s.item >= 8);
    scroll_top(&s, heights, h);
    assert_int_equal(s.item, 0);
    h[0] = h[1] = h[2] = h[3] = 1; /* another width */
    s.item = 5;
    s.row = 2;
    scroll_update(&s, 20, 5, heights, h);
    assert_int_equal(s.item, 5);
    assert_int_equal(s.row, 0);
    scroll_update(&s, 3, 5, heights, h); /* fewer than before must not happen, but must not crash */
    assert_int_equal(s.item, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit),  cmocka_unit_test(test_lines),  cmocka_unit_test(test_end),
        cmocka_unit_test(test_limit), cmocka_unit_test(test_draw),   cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_wrap),  cmocka_unit_test(test_scroll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
