/* The speedup graph: what stands where, at every size, in braille and ASCII. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tui/graph.h"

static struct view whole(struct grid *g)
{
    return grid_view(g, (struct rect){0, 0, g->rows, g->cols});
}

static const struct graph_point sample[] = {
    {1.0, POINT_RECORD}, {1.4, POINT_RECORD}, {(double)NAN, POINT_FAILED}, {1.2, POINT_TIMED},
    {2.0, POINT_RECORD}, {0.6, POINT_TIMED},  {(double)NAN, POINT_NONE},
};

static void expect_graph(const struct graph_data *d, int rows, int cols, enum glyphs glyphs,
                         const char *want)
{
    struct grid *g = grid_new(rows, cols, glyphs);
    graph_draw(whole(g), d);
    struct buf b = {0};
    grid_text(g, &b);
    if (strcmp(buf_str(&b), want) != 0)
        fail_msg("got:\n%s\nwant:\n%s", buf_str(&b), want);
    buf_free(&b);
    grid_free(g);
}

static void test_ascii(void **state)
{
    (void)state;
    struct graph_data d = {sample, ARRAY_LEN(sample), 1, 2.5, 3};
    expect_graph(&d, 12, 40, GLYPHS_ASCII,
                 " 2.5x . . . . . . . . . . . . . . . . .\n"
                 "\n"
                 "\n"
                 " 2.0x             #######\n"
                 "                  #\n"
                 " 1.5x    ##########\n"
                 "         #     o\n"
                 " 1.0x ####------------------------------\n"
                 "\n"
                 " 0.5x                o\n"
                 "fail        x  ^\n"
                 "      v1       v4       v7\n");
}

static bool shows(const struct grid *g, uint32_t cp, enum style_role role)
{
    for (int y = 0; y < g->rows; y++)
        for (int x = 0; x < g->cols; x++) {
            const struct cell *c = grid_at(g, y, x);
            if (c->ch[0] == cp && c->role == role)
                return true;
        }
    return false;
}

static int count_role(const struct grid *g, enum style_role role)
{
    int n = 0;
    for (int i = 0; i < g->rows * g->cols; i++)
        n += g->cells[i].role == role;
    return n;
}

static void test_braille(void **state)
{
    (void)state;
    struct graph_data d = {sample, ARRAY_LEN(sample), 1, 2.5, 3};
    struct grid *g = grid_new(16, 60, GLYPHS_BRAILLE);
    graph_draw(whole(g), &d);
    assert_true(shows(g, 'x', ROLE_FAILED));
    assert_true(shows(g, '^', ROLE_SELECTED));
    assert_true(count_role(g, ROLE_STAIRCASE) > 8);
    assert_true(count_role(g, ROLE_POINT) >= 2);
    assert_true(count_role(g, ROLE_TARGET) > 20);
    for (int i = 0; i < g->rows * g->cols; i++) {
        uint32_t c = g->cells[i].ch[0];
        assert_true(c < 0x7F || (c > 0x2800 && c <= 0x28FF));
    }
    grid_free(g);
}

/* A target far out of sight does not squeeze the rest. */
static void test_far_target(void **state)
{
    (void)state;
    struct graph_data d = {sample, ARRAY_LEN(sample), 1, 100, -1};
    struct grid *g = grid_new(16, 60, GLYPHS_BRAILLE);
    graph_draw(whole(g), &d);
    assert_int_equal(count_role(g, ROLE_TARGET), 0);
    grid_free(g);
}

static void test_odd_values(void **state)
{
    (void)state;
    static const struct graph_point odd[] = {
        {(double)INFINITY, POINT_TIMED}, {-1, POINT_TIMED},    {0, POINT_RECORD},
        {(double)NAN, POINT_RECORD},     {1e300, POINT_TIMED}, {1e-300, POINT_TIMED}};
    struct graph_data d = {odd, ARRAY_LEN(odd), 0, (double)INFINITY, 99};
    struct grid *g = grid_new(10, 40, GLYPHS_BRAILLE);
    graph_draw(whole(g), &d);
    d = (struct graph_data){odd, 0, 0, (double)NAN, -1};
    graph_draw(whole(g), &d);
    static const struct graph_point same[] = {{1, POINT_TIMED}, {1, POINT_TIMED}};
    d = (struct graph_data){same, 2, 0, 1, 1};
    graph_draw(whole(g), &d);
    grid_free(g);
}

static void test_every_size(void **state)
{
    (void)state;
    struct graph_data d = {sample, ARRAY_LEN(sample), 1, 2.5, 3};
    for (int glyphs = GLYPHS_ASCII; glyphs <= GLYPHS_BRAILLE; glyphs++)
        for (int rows = 1; rows < 40; rows++)
            for (int cols = 1; cols < 90; cols += 3) {
                struct grid *g = grid_new(rows, cols, (enum glyphs)glyphs);
                graph_draw(whole(g), &d);
                if (glyphs == GLYPHS_ASCII)
                    for (int i = 0; i < rows * cols; i++)
                        assert_true(g->cells[i].ch[0] < 0x7F);
                grid_free(g);
            }
}

static void test_many(void **state)
{
    (void)state;
    size_t n = 200000;
    struct graph_point *p = xcalloc(n, sizeof *p);
    double best = 0;
    for (size_t i = 0; i < n; i++) {
        double s = 1 + 3.0 * (double)i / (double)n * (double)(i * 7919 % 100) / 100;
        p[i] = (struct graph_point){s, i % 11 == 0 ? POINT_FAILED : POINT_TIMED};
        if (p[i].kind == POINT_TIMED && s > best * 1.01) {
            p[i].kind = POINT_RECORD;
            best = s;
        }
    }
    struct graph_data d = {p, n, 1, 5, (int64_t)n / 2};
    struct grid *g = grid_new(40, 120, GLYPHS_BRAILLE);
    int64_t t = clock_mono_ns();
    graph_draw(whole(g), &d);
    assert_true(clock_mono_ns() - t < 200000000);
    assert_true(count_role(g, ROLE_STAIRCASE) > 100);
    grid_free(g);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ascii),      cmocka_unit_test(test_braille),
        cmocka_unit_test(test_far_target), cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_every_size), cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
