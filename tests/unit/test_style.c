/* Themes: every role in every file, errors by file, line and field, degrading of colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "tui/style.h"

static char *folder;

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    folder = xasprintf("%s/style.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    free(folder);
    return 0;
}

/* Load a theme from text. */
static bool load(struct theme *t, const char *text, struct error *e)
{
    char *path = fs_join(folder, "t.ini");
    assert_true(fs_write(path, text, strlen(text), e));
    bool ok = theme_load(t, path, e);
    free(path);
    return ok;
}

static char *theme_file(const char *name)
{
    char *bin = fs_program_dir();
    char *path = NULL;
    static const char *const up[] = {"../../..", "../..", "."};
    for (size_t i = 0; i < ARRAY_LEN(up); i++) {
        free(path);
        path =
            i == 2 ? xasprintf("themes/%s", name) : xasprintf("%s/%s/themes/%s", bin, up[i], name);
        if (fs_exists(path))
            break;
    }
    free(bin);
    return path;
}

static bool same_styles(const struct theme *a, const struct theme *b)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (a->styles[i].fg != b->styles[i].fg || a->styles[i].bg != b->styles[i].bg ||
            a->styles[i].attr != b->styles[i].attr) {
            print_message("role %s differs\n", style_role_name((enum style_role)i));
            return false;
        }
    return true;
}

/* The shipped files name every role, and default.ini and mono.ini are the built-in themes. */
static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = {"default.ini", "mono.ini", "light.ini"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = theme_file(names[i]);
        struct error e = {0};
        struct theme t, b;
        if (!theme_load(&t, path, &e))
            fail_msg("%s", e.msg);
        struct buf text = {0};
        assert_true(fs_read(path, 100000, &text, &e));
        for (int r = 0; r < ROLE_COUNT; r++) {
            char line[60];
            snprintf(line, sizeof line, "\n%s ", style_role_name((enum style_role)r));
            if (!strstr(buf_str(&text), line))
                fail_msg("%s does not name %s", names[i], line + 1);
        }
        theme_builtin(&b, t.mono);
        if (i < 2)
            assert_true(same_styles(&t, &b));
        assert_int_equal(t.mono, i == 1);
        buf_free(&text);
        free(path);
    }
}

/* In monochrome what must be told apart differs by attributes. */
static void test_mono(void **state)
{
    (void)state;
    struct theme t;
    theme_builtin(&t, true);
    static const enum style_role apart[][2] = {
        {ROLE_TITLE, ROLE_TITLE_FOCUS}, {ROLE_BETTER, ROLE_WORSE},   {ROLE_TEXT, ROLE_MATCH},
        {ROLE_TEXT, ROLE_ERROR},        {ROLE_RUNNING, ROLE_PAUSED}, {ROLE_POINT, ROLE_FAILED},
        {ROLE_TEXT, ROLE_BADGE},        {ROLE_TEXT, ROLE_ADDED},     {ROLE_TEXT, ROLE_SELECTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(apart); i++)
        assert_int_not_equal(t.styles[apart[i][0]].attr, t.styles[apart[i][1]].attr);
    for (int i = 0; i < ROLE_COUNT; i++) {
        assert_int_equal(t.styles[i].fg, COLOUR_DEFAULT);
        assert_int_equal(t.styles[i].bg, COLOUR_DEFAULT);
    }
}

static void test_parse(void **state)
{
    (void)state;
    struct style s;
    assert_true(style_parse(&s, "bold underline bright-red on #102030", NULL));
    assert_int_equal(s.fg, 9);
    assert_int_equal(s.bg, COLOUR_RGB | 0x102030);
    assert_int_equal(s.attr, ATTR_BOLD | ATTR_UNDERLINE);
    assert_true(style_parse(&s, "  208 on default ", NULL));
    assert_int_equal(s.fg, 208);
    assert_int_equal(s.bg, COLOUR_DEFAULT);
    assert_true(style_parse(&s, "plain", NULL));
    assert_int_equal(s.attr, 0);
    static const char *const bad[] = {
        "reed",    "256",         "-1",     "#12345",         "#1234567",
        "#gggggg", "red green",   "red on", "on red on blue", "1 2",
        "on bold", "bright-pink", "12x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error e = {0};
        if (style_parse(&s, bad[i], &e))
            fail_msg("accepted: %s", bad[i]);
        assert_string_not_equal(e.msg, "");
    }
}

static void expect_error(const char *text, const char *where, const char *what)
{
    struct theme t;
    struct error e = {0};
    assert_false(load(&t, text, &e));
    if (!strstr(e.msg, where) || !strstr(e.msg, what))
        fail_msg("expected %s and %s in: %s", where, what, e.msg);
    struct theme b;
    theme_builtin(&b, false);
    assert_true(same_styles(&t, &b));
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("[styles]\ntext = red\nkeyword = pinkish\n", "t.ini:3: field keyword", "pinkish");
    expect_error("[styles]\n\n; note\nnosuch = red\n", "t.ini:4: field nosuch", "no such style");
    expect_error("[theme]\nbase = dark\n", "t.ini:2: field base", "default or mono");
    expect_error("[theme]\ncolor = dark\n", "t.ini:2: field color", "unknown");
    expect_error("[colours]\ntext = red\n", "t.ini:2: field text", "[colours]");
    expect_error("[styles]\nrubbish\ntext = pinkish\n", "t.ini:2:", "expected [section]");
    expect_error("[styles\ntext = red\n", "t.ini:1:", "expected [section]");
    expect_error("[theme]\nbase = mono\n[styles]\ntext = red\n", "t.ini:4: field text", "colours");
    char big[400];
    memset(big, 'x', sizeof big);
    memcpy(big, "a\n", 2);
    big[sizeof big - 1] = '\0';
    expect_error(big, "t.ini:2:", "longer");
    struct theme t;
    struct error e = {0};
    assert_false(theme_find(&t, "no-such-theme", &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_non_null(strstr(e.msg, "light"));
    assert_false(theme_find(&t, "/nonexistent/x.ini", &e));
    assert_non_null(strstr(e.msg, "/nonexistent/x.ini"));
}

static void test_inherit(void **state)
{
    (void)state;
    struct theme t, b;
    struct error e = {0};
    assert_true(load(&t, "[theme]\nname = mine\n[styles]\nkeyword = bold blue\n", &e));
    theme_builtin(&b, false);
    assert_string_equal(t.name, "mine");
    assert_int_equal(t.styles[ROLE_KEYWORD].fg, 4);
    assert_int_equal(t.styles[ROLE_TYPE].fg, b.styles[ROLE_TYPE].fg);
    assert_true(load(&t, "", &e));
    assert_true(same_styles(&t, &b));
}

static void test_degrade(void **state)
{
    (void)state;
    bool bold = false;
    assert_int_equal(style_degrade(COLOUR_DEFAULT, 8, &bold), COLOUR_DEFAULT);
    assert_int_equal(style_degrade(3, 8, &bold), 3);
    assert_false(bold);
    assert_int_equal(style_degrade(11, 8, &bold), 3);
    assert_true(bold);
    assert_int_equal(style_degrade(11, 16, NULL), 11);
    assert_int_equal(style_degrade(COLOUR_RGB | 0xff0000, 256, NULL), 196);
    assert_int_equal(style_degrade(COLOUR_RGB | 0x080808, 256, NULL), 232);
    bold = false;
    assert_int_equal(style_degrade(COLOUR_RGB | 0xff0000, 8, &bold), 1);
    assert_true(bold);
    assert_int_equal(style_degrade(COLOUR_RGB, 8, NULL), 0);
    for (int c = 0; c < 256; c++)
        for (int n = 8; n <= 256; n *= n == 8 ? 2 : 16) {
            int d = style_degrade(c, n, NULL);
            assert_true(d >= 0 && d < n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_mono),
        cmocka_unit_test(test_parse),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_inherit), cmocka_unit_test(test_degrade),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
