/* The layout at every size, and the cell grid that it cuts up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/text.h"
#include "tui/grid.h"
#include "tui/layout.h"

static char owner[300 * 300];

/* Mark a rectangle's cells; fails when one is outside or taken. */
static void claim(struct rect r, int rows, int cols, char who)
{
    assert_true(r.h >= 0 && r.w >= 0);
    for (int y = r.y; y < r.y + r.h; y++)
        for (int x = r.x; x < r.x + r.w; x++) {
            if (y < 0 || x < 0 || y >= rows || x >= cols)
                fail_msg("%dx%d: pane %c reaches outside", rows, cols, who);
            if (owner[y * cols + x])
                fail_msg("%dx%d: panes %c and %c overlap", rows, cols, owner[y * cols + x], who);
            owner[y * cols + x] = who;
        }
}

static void check_layout(int rows, int cols, enum pane_id focus, bool zoom)
{
    struct layout l = layout_make(rows, cols, focus, zoom);
    memset(owner, 0, (size_t)(rows * cols));
    for (int p = 0; p < PANE_COUNT; p++)
        claim(l.pane[p], rows, cols, (char)('0' + p));
    claim(l.divider[0], rows, cols, '|');
    claim(l.divider[1], rows, cols, '!');
    for (int i = 0; i < rows * cols; i++)
        if (!owner[i])
            fail_msg("%dx%d: a hole at %d,%d", rows, cols, i / cols, i % cols);
    assert_true(l.pane[PANE_STATUS].h >= 1);
    if (rows > 1)
        assert_true(l.pane[focus].h >= 1 && l.pane[focus].w >= 1);
    for (int p = 0; p < PANE_STATUS; p++)
        if (!l.single && rows > 1)
            assert_true(l.pane[p].h >= 5 && l.pane[p].w >= 20);
        else if (p != (int)focus)
            assert_int_equal(l.pane[p].h, 0);
}

static void test_every_size(void **state)
{
    (void)state;
    for (int rows = 1; rows <= 120; rows++)
        for (int cols = 1; cols <= 300; cols++)
            check_layout(rows, cols, (enum pane_id)((rows + cols) % PANE_STATUS),
                         (rows ^ cols) % 5 == 0);
    for (int p = 0; p < PANE_STATUS; p++)
        for (int zoom = 0; zoom < 2; zoom++) {
            check_layout(24, 80, (enum pane_id)p, zoom);
            check_layout(60, 200, (enum pane_id)p, zoom);
            check_layout(1, 1, (enum pane_id)p, zoom);
        }
}

static void test_shapes(void **state)
{
    (void)state;
    struct layout l = layout_make(24, 80, PANE_SOURCE, false);
    assert_false(l.single);
    for (int p = 0; p < PANE_COUNT; p++)
        assert_true(l.pane[p].h > 0);
    l = layout_make(24, 80, PANE_GRAPH, true);
    assert_int_equal(l.pane[PANE_GRAPH].w, 80);
    assert_int_equal(l.pane[PANE_GRAPH].h, 22);
    l = layout_make(10, 40, PANE_REASONING, false);
    assert_true(l.single);
    l = layout_make(0, -5, PANE_STATUS, false);
    assert_int_equal(l.pane[PANE_STATUS].h, 1);
}

/* ------------------------------------------------------------------------------------- grid */

static void expect_rows(const struct grid *g, const char *want)
{
    struct buf b = {0};
    grid_text(g, &b);
    assert_string_equal(buf_str(&b), want);
    buf_free(&b);
}

static struct view whole(struct grid *g)
{
    return grid_view(g, (struct rect){0, 0, g->rows, g->cols});
}

static void test_clipping(void **state)
{
    (void)state;
    struct grid *g = grid_new(3, 6, GLYPHS_ASCII);
    struct view v = view_sub(whole(g), 1, 1, 9, 4);
    assert_int_equal(v.r.h, 2);
    assert_int_equal(view_text(v, 0, 0, ROLE_TEXT, "abcdefgh"), 4);
    view_text(v, 1, -2, ROLE_TEXT, "xyz");
    view_text(v, -1, 0, ROLE_TEXT, "no");
    view_text(v, 2, 0, ROLE_TEXT, "no");
    view_put(v, 0, 99, 'n', ROLE_TEXT);
    expect_rows(g, "\n abcd\n z\n");
    struct view out = view_sub(v, 5, 5, 2, 2);
    assert_int_equal(out.r.h, 0);
    assert_int_equal(view_text(out, 0, 0, ROLE_TEXT, "no"), 0);
    view_fill(v, -3, -3, 99, 99, '#', ROLE_TEXT);
    expect_rows(g, "\n ####\n ####\n");
    grid_free(g);
}

static void test_wide(void **state)
{
    (void)state;
    struct grid *g = grid_new(1, 6, GLYPHS_BRAILLE);
    struct view v = whole(g);
    assert_int_equal(view_text(v, 0, 0, ROLE_TEXT, "\xe4\xb8\x96\xe7\x95\x8c"), 4);
    expect_rows(g, "\xe4\xb8\x96\xe7\x95\x8c\n");
    view_put(v, 0, 1, 'x', ROLE_TEXT); /* onto the second half: the first goes blank */
    expect_rows(g, " x\xe7\x95\x8c\n");
    view_put(v, 0, 2, 'y', ROLE_TEXT); /* onto the first half: the second goes blank */
    expect_rows(g, " xy\n");
    view_put(v, 0, 5, 0x4E16, ROLE_TEXT); /* does not fit at the edge */
    expect_rows(g, " xy\n");
    view_text(v, 0, 3, ROLE_TEXT, "e\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85z");
    expect_rows(g, " xye\xcc\x81\xcc\x82\xcc\x83\xcc\x84z\n");
    grid_clear(g);
    view_put(v, 0, 0, 0x301, ROLE_TEXT); /* a mark with nothing to stand on */
    expect_rows(g, "\n");
    view_put(v, 0, 0, 0x4E16, ROLE_TEXT);
    view_put(v, 0, 1, 0x4E16, ROLE_TEXT); /* over both halves */
    expect_rows(g, " \xe4\xb8\x96\n");
    grid_free(g);
}

/* What a terminal would obey never enters a cell. */
static void test_obeyed(void **state)
{
    (void)state;
    struct grid *g = grid_new(1, 12, GLYPHS_BRAILLE);
    view_text(whole(g), 0, 0, ROLE_TEXT, "a\033[31m\xe2\x80\xae\b\xc2\x9b");
    for (int x = 0; x < 12; x++)
        for (int i = 0; i < CELL_CHARS; i++) {
            uint32_t c = grid_at(g, 0, x)->ch[i];
            assert_true(c == 0 || c == 0xFFFD || (c >= 0x20 && c < 0x7F));
        }
    grid_free(g);
}

static void test_frame(void **state)
{
    (void)state;
    struct grid *g = grid_new(3, 12, GLYPHS_ASCII);
    struct view in = view_frame(whole(g), "help", ROLE_BORDER);
    view_text(in, 0, 0, ROLE_TEXT, "0123456789");
    expect_rows(g, "+- help ---+\n| 01234567 |\n+----------+\n");
    g->glyphs = GLYPHS_BOX;
    view_frame(whole(g), "", ROLE_BORDER);
    assert_int_equal(grid_at(g, 0, 0)->ch[0], 0x250C);
    view_cursor(in, 0, 2);
    assert_int_equal(g->cursor_y, 1);
    assert_int_equal(g->cursor_x, 4);
    view_cursor(in, 5, 2);
    assert_int_equal(g->cursor_y, -1);
    for (int h = 1; h < 4; h++)
        for (int w = 1; w < 6; w++) {
            grid_resize(g, h, w);
            view_text(view_frame(whole(g), "title", ROLE_BORDER), 0, 0, ROLE_TEXT, "text");
        }
    grid_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_size), cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_clipping),   cmocka_unit_test(test_wide),
        cmocka_unit_test(test_obeyed),     cmocka_unit_test(test_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
