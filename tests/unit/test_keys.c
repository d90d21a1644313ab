/* The key map: defaults without conflict, names both ways, the file and its errors, the help. */
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
#include "tui/keys.h"

static char *folder;

static int set_up(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    folder = xasprintf("%s/keys.XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    fs_remove_tree(folder);
    free(folder);
    return 0;
}

static bool load(struct keymap *m, const char *text, struct error *e)
{
    char *path = fs_join(folder, "keys.ini");
    assert_true(fs_write(path, text, strlen(text), e));
    bool ok = keymap_load(m, path, e);
    free(path);
    return ok;
}

static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *name, *keys;
    } rows[] = {
#define X(id, name, keys, group, help) {name, keys},
        ACTIONS(X)
#undef X
    };
    struct keymap m;
    keymap_default(&m);
    int want = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char keys[80];
        snprintf(keys, sizeof keys, "%s", rows[i].keys);
        for (char *save, *k = strtok_r(keys, " ", &save); k; k = strtok_r(NULL, " ", &save)) {
            uint32_t key = key_parse(k);
            assert_int_not_equal(key, K_NONE);
            want++;
            if (keymap_action(&m, key) != action_of(rows[i].name))
                fail_msg("key %s of %s is taken by another", k, rows[i].name);
        }
    }
    assert_int_equal(m.n, want);
    assert_int_equal(keymap_action(&m, 'p'), ACTION_PAUSE);
    assert_int_equal(keymap_action(&m, K_CTRL | 'l'), ACTION_REDRAW);
    assert_int_equal(keymap_action(&m, 0x4E16), ACTION_NONE);
    assert_int_equal(action_of("no-such"), ACTION_NONE);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const same[] = {"a",     "A",   "?",         ":",      "Ctrl-L", "Alt-Enter",
                                       "F1",    "F12", "PgUp",      "Space",  "Tab",    "Shift-Tab",
                                       "Alt-x", "Esc", "Backspace", "Insert", "+",      "\xc3\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        char out[24];
        uint32_t k = key_parse(same[i]);
        assert_int_not_equal(k, K_NONE);
        assert_string_equal(key_label(k, out), same[i]);
    }
    assert_int_equal(key_parse("ctrl-l"), K_CTRL | 'l');
    assert_int_equal(key_parse("Semicolon"), ';');
    char out[24];
    assert_string_equal(key_label(';', out), ";");
    static const char *const bad[] = {"",     "ab",     "F0",    "F13",      "Ctrl-", "Ctrl-1",
                                      "Alt-", "Alt-xy", " ",     "\x7f",     "\xff",  "Ctrl-ab",
                                      "F1x",  "\033",   "Hyper", "Alt-Alt-x"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (key_parse(bad[i]) != K_NONE)
            fail_msg("accepted: \"%s\"", bad[i]);
}

static void test_file(void **state)
{
    (void)state;
    struct keymap m;
    struct error e = {0};
    if (!load(&m, "; mine\n[keys]\npause = s Ctrl-P\nsteer = p\ncopy = none\n", &e))
        fail_msg("%s", e.msg);
    assert_int_equal(keymap_action(&m, 's'), ACTION_PAUSE);
    assert_int_equal(keymap_action(&m, K_CTRL | 'p'), ACTION_PAUSE);
    assert_int_equal(keymap_action(&m, 'p'), ACTION_STEER);
    assert_int_equal(keymap_action(&m, 'i'), ACTION_NONE);
    assert_int_equal(keymap_action(&m, 'y'), ACTION_NONE);
    assert_int_equal(keymap_action(&m, 'z'), ACTION_ZOOM);
    /* a key that is another's default is taken from it */
    assert_true(load(&m, "[keys]\nzoom = q\n", &e));
    assert_int_equal(keymap_action(&m, 'q'), ACTION_ZOOM);
    assert_int_equal(keymap_action(&m, K_ESCAPE), ACTION_CLOSE);
    assert_true(load(&m, "", &e));
}

static void expect_error(const char *text, const char *where, const char *what)
{
    struct keymap m, d;
    struct error e = {0};
    assert_false(load(&m, text, &e));
    if (!strstr(e.msg, where) || !strstr(e.msg, what))
        fail_msg("expected %s and %s in: %s", where, what, e.msg);
    keymap_default(&d);
    assert_int_equal(m.n, d.n);
    assert_memory_equal(m.bindings, d.bindings, sizeof *d.bindings * (size_t)d.n);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("[keys]\nexplode = x\n", "keys.ini:2: field explode", "no such action");
    expect_error("[keys]\npause = p\nzoom = Hyper-z\n", "keys.ini:3: field zoom", "Hyper-z");
    expect_error("[keys]\npause = x\nzoom = x\n", "keys.ini:3: field zoom", "given to pause");
    expect_error("[keys]\npause = x\npause = y\n", "keys.ini:3: field pause", "above");
    expect_error("[other]\npause = x\n", "keys.ini:2: field pause", "[other]");
    expect_error("[keys]\nnonsense\n", "keys.ini:2:", "expected [section]");
    expect_error("[keys]\nleave = none\ncommand = none\n", "keys.ini:", "no way out");
    struct keymap m;
    struct error e = {0};
    assert_false(keymap_load(&m, "/nonexistent/keys.ini", &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_int_equal(keymap_action(&m, 'p'), ACTION_PAUSE);
}

static void test_help(void **state)
{
    (void)state;
    struct keymap m;
    struct error e = {0};
    assert_true(load(&m, "[keys]\npause = F7\nsteer = none\n", &e));
    struct buf h = {0}, md = {0};
    keymap_help(&m, &h);
    keymap_markdown(&m, &md);
    for (int a = 1; a < ACTION_COUNT; a++) {
        assert_non_null(strstr(buf_str(&h), action_help((enum action)a)));
        assert_non_null(strstr(buf_str(&md), action_name((enum action)a)));
    }
    assert_non_null(strstr(buf_str(&h), "  F7 "));
    assert_non_null(strstr(buf_str(&h), "(no key)"));
    assert_non_null(strstr(buf_str(&h), "\nRun\n"));
    char key[24];
    assert_string_equal(keymap_key(&m, ACTION_PAUSE, key), "F7");
    assert_string_equal(keymap_key(&m, ACTION_STEER, key), "");
    buf_free(&h);
    buf_free(&md);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_names), cmocka_unit_test(test_file),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
