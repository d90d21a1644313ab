/* The lexer: one letter a byte shows what each is taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "tui/highlight.h"

static char letter(uint8_t role)
{
    static const struct {
        enum style_role role;
        char c;
    } t[] = {{ROLE_KEYWORD, 'k'}, {ROLE_TYPE, 't'},    {ROLE_NUMBER, 'n'},
             {ROLE_STRING, 's'},  {ROLE_COMMENT, 'c'}, {ROLE_PREPROCESSOR, 'p'}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (t[i].role == role)
            return t[i].c;
    return role == ROLE_TEXT ? '.' : '?';
}

static enum hl_state check(enum hl_language lang, enum hl_state s, const char *in, const char *want)
{
    size_t n = strlen(in);
    uint8_t *roles = xmalloc(n + 1);
    memset(roles, 0xFF, n + 1);
    s = hl_line(lang, s, in, n, roles);
    char *got = xcalloc(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        got[i] = letter(roles[i]);
    assert_string_equal(got, want);
    assert_int_equal(roles[n], 0xFF);
    free(roles);
    free(got);
    return s;
}

static void test_c(void **state)
{
    (void)state;
    check(HL_C, HL_START, "for (int i = 0; i < 0x1Fu; i++)", "kkk..ttt.....n......nnnnn......");
    check(HL_C, HL_START, "x = 1.5e-3f + .5; // note", "....nnnnnnn...nn..ccccccc");
    check(HL_C, HL_START, "s = \"a\\\"b\" + 'c';", "....ssssss...sss.");
    check(HL_C, HL_START, "#include <math.h> // m", "ppppppppppppppppppcccc");
    check(HL_C, HL_START, "forge interior int3", "...................");
    check(HL_C, HL_START, "__m512 a;", "tttttt...");
    check(HL_C, HL_START, "", "");
    enum hl_state s = check(HL_C, HL_START, "a /* open", "..ccccccc");
    assert_int_equal(s, HL_COMMENT);
    s = check(HL_C, s, "int still", "ccccccccc");
    s = check(HL_C, s, "end */ int", "cccccc.ttt");
    assert_int_equal(s, HL_START);
    s = check(HL_C, HL_START, "#define A \\", "ppppppppppp");
    assert_int_equal(s, HL_DIRECTIVE);
    s = check(HL_C, s, "  int x", "ppppppp");
    assert_int_equal(s, HL_START);
    s = check(HL_C, HL_START, "a /* b */ int", "..ccccccc.ttt");
    s = check(HL_C, HL_START, "\"open", "sssss");
    assert_int_equal(s, HL_START);
    s = check(HL_C, HL_START, "\"open\\", "ssssss");
    assert_int_equal(s, HL_STRING);
    s = check(HL_C, s, "on\" int", "sss.ttt");
    assert_int_equal(s, HL_START);
}

static void test_python(void **state)
{
    (void)state;
    check(HL_PYTHON, HL_START, "def f(x): return 1  # c", "kkk.......kkkkkk.n..ccc");
    check(HL_PYTHON, HL_START, "@triton.jit", "ppppppppppp");
    check(HL_PYTHON, HL_START, "a @ b", ".....");
    enum hl_state s = check(HL_PYTHON, HL_START, "x = \"\"\"doc", "....ssssss");
    assert_int_equal(s, HL_TRIPLE_D);
    s = check(HL_PYTHON, s, "def '''", "sssssss");
    s = check(HL_PYTHON, s, "end\"\"\" in None", "ssssss.kk.tttt");
    assert_int_equal(s, HL_START);
    s = check(HL_PYTHON, HL_START, "'''a", "ssss");
    assert_int_equal(s, HL_TRIPLE_S);
}

static void test_asm(void **state)
{
    (void)state;
    check(HL_ASM, HL_START, "ld.global.f32 %f1, [%rd4+16]; // x",
          "kkkkkkkkkkkkk.ttt...tttt.nn...cccc");
    check(HL_ASM, HL_START, ".reg .f32 %f<4>;", "pppp.pppp.tt.n..");
    enum hl_state s = check(HL_ASM, HL_START, "/* a", "cccc");
    assert_int_equal(s, HL_COMMENT);
    check(HL_ASM, s, "*/ mov", "cc.kkk");
}

static void test_languages(void **state)
{
    (void)state;
    assert_int_equal(hl_language_of("a.c"), HL_C);
    assert_int_equal(hl_language_of("a.b.py"), HL_PYTHON);
    assert_int_equal(hl_language_of("k.ptx"), HL_ASM);
    assert_int_equal(hl_language_of("Makefile"), HL_NONE);
    check(HL_NONE, HL_START, "int x", ".....");
}

/* Any bytes in any state: no read outside, every byte gets a role. */
static void test_fuzz(void **state)
{
    (void)state;
    static const char alphabet[] = "/*\"'\\#@ .%;019aefx_\n\xff\xe4$";
    uint64_t x = 3;
    for (int round = 0; round < 30000; round++) {
        size_t n = (size_t)round % 40;
        char *s = xmalloc(n ? n : 1);
        uint8_t *roles = xmalloc(n ? n : 1);
        memset(roles, 0xFF, n ? n : 1);
        for (size_t i = 0; i < n; i++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            s[i] = alphabet[(x >> 33) % (sizeof alphabet - 1)];
        }
        enum hl_state st =
            hl_line((enum hl_language)(round % 4), (enum hl_state)(x >> 40) % 6, s, n, roles);
        assert_true(st <= HL_TRIPLE_D);
        for (size_t i = 0; i < n; i++)
            assert_true(roles[i] < ROLE_COUNT);
        free(s);
        free(roles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),         cmocka_unit_test(test_python), cmocka_unit_test(test_asm),
        cmocka_unit_test(test_languages), cmocka_unit_test(test_fuzz),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
