/* Integer expressions of tasks and of switch conditions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/task/expr.h"

static bool value_of(const void *ctx, const char *name, size_t n, int64_t *out)
{
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"A", 3}, {"B", 0}, {"C", -7}, {"BIG", INT64_MAX}, {"MIN", INT64_MIN}};
    (void)ctx;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0) {
            *out = known[i].value;
            return true;
        }
    return false;
}

static bool is_defined(const void *ctx, const char *name, size_t n)
{
    (void)ctx;
    return n == 1 && (*name == 'A' || *name == 'C');
}

static const struct expr_env env = {value_of, is_defined, NULL};

static void gives(enum expr_kind kind, const char *text, int64_t want)
{
    int64_t v = 0;
    struct error e = {0};
    if (!expr_eval(text, strlen(text), kind, &env, &v, &e))
        fail_msg("%s: %s", text, e.msg);
    if (v != want)
        fail_msg("%s: %lld, not %lld", text, (long long)v, (long long)want);
}

static void refuses(enum expr_kind kind, const char *text, const char *says)
{
    int64_t v = 42;
    struct error e = {0};
    if (expr_eval(text, strlen(text), kind, &env, &v, &e))
        fail_msg("%s is taken as %lld", text, (long long)v);
    if (!strstr(e.msg, says))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, e.msg, says);
    assert_int_equal(v, 42);
    assert_int_equal(e.code, ERR_INPUT);
}

static void test_arithmetic(void **state)
{
    (void)state;
    gives(EXPR_ARITHMETIC, "1+2*3", 7);
    gives(EXPR_ARITHMETIC, "(1+2)*3", 9);
    gives(EXPR_ARITHMETIC, " 10 - 3 - 2 ", 5);
    gives(EXPR_ARITHMETIC, "12/2/3", 2);
    gives(EXPR_ARITHMETIC, "A*A-C", 16);
    gives(EXPR_ARITHMETIC, "-A+ +4", 1);
    gives(EXPR_ARITHMETIC, "--A", 3);
    gives(EXPR_ARITHMETIC, "9223372036854775807", INT64_MAX);
    gives(EXPR_ARITHMETIC, "0", 0);
}

static void test_refused(void **state)
{
    (void)state;
    refuses(EXPR_ARITHMETIC, "", "ends here");
    refuses(EXPR_ARITHMETIC, "1+", "column 3");
    refuses(EXPR_ARITHMETIC, "1 2", "operator");
    refuses(EXPR_ARITHMETIC, "(1", "\")\"");
    refuses(EXPR_ARITHMETIC, "1)", "operator");
    refuses(EXPR_ARITHMETIC, "A*X", "unknown name X");
    refuses(EXPR_ARITHMETIC, "7/2", "not a multiple");
    refuses(EXPR_ARITHMETIC, "1/B", "division by zero");
    refuses(EXPR_ARITHMETIC, "BIG+1", "64 bits");
    refuses(EXPR_ARITHMETIC, "BIG*2", "64 bits");
    refuses(EXPR_ARITHMETIC, "0-BIG-2", "64 bits");
    refuses(EXPR_ARITHMETIC, "-MIN", "64 bits");
    refuses(EXPR_ARITHMETIC, "MIN/(0-1)", "64 bits");
    refuses(EXPR_ARITHMETIC, "9223372036854775808", "64 bits");
    refuses(EXPR_ARITHMETIC, "0x10", "decimal");
    refuses(EXPR_ARITHMETIC, "16u", "decimal");
    refuses(EXPR_ARITHMETIC, "010", "octal");
    refuses(EXPR_ARITHMETIC, "A && A", "operator");
    refuses(EXPR_ARITHMETIC, "A < 4", "operator");
    refuses(EXPR_ARITHMETIC, "!A", "was expected");
    refuses(EXPR_ARITHMETIC, "A % 2", "operator");
}

static void test_conditions(void **state)
{
    (void)state;
    gives(EXPR_CONDITION, "A && !B", 1);
    gives(EXPR_CONDITION, "B || B", 0);
    gives(EXPR_CONDITION, "1 || 1 && 0", 1);
    gives(EXPR_CONDITION, "(1 || 1) && 0", 0);
    gives(EXPR_CONDITION, "A == 3 && C != 3", 1);
    gives(EXPR_CONDITION, "A<=3&&A>=3&&!(A<3)&&!(A>3)", 1);
    gives(EXPR_CONDITION, "1 + 1 == 2", 1);
    gives(EXPR_CONDITION, "2 < 1 == 0", 1);
    gives(EXPR_CONDITION, "!A == 0", 1);
    gives(EXPR_CONDITION, "7 / 2", 3);
    gives(EXPR_CONDITION, "7 % 4 == 3", 1);
    gives(EXPR_CONDITION, "defined(A) && !defined B && defined ( C )", 1);
    gives(EXPR_CONDITION, "B && 1/B", 0); /* decided before the division */
    gives(EXPR_CONDITION, "1 || 1/0", 1);
    gives(EXPR_CONDITION, "1 || NOBODY", 1);
    refuses(EXPR_CONDITION, "A = 3", "operator");
    refuses(EXPR_CONDITION, "A & 1", "operator");
    refuses(EXPR_CONDITION, "defined(", "after \"defined\"");
    refuses(EXPR_CONDITION, "defined(A", "\")\"");
    refuses(EXPR_CONDITION, "NOBODY", "unknown name");
    refuses(EXPR_CONDITION, "1 ? 2 : 3", "operator");
}

/* Deep nesting is an error, not a fault. */
static void test_deep(void **state)
{
    (void)state;
    const size_t n = 200000;
    const char *const kinds[] = {"(", "-", "!", "1+("};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        size_t unit = strlen(kinds[k]);
        char *text = xmalloc(n * unit + 1);
        for (size_t i = 0; i < n; i++)
            memcpy(text + i * unit, kinds[k], unit);
        text[n * unit] = '\0';
        refuses(EXPR_CONDITION, text, "deeper");
        free(text);
    }
}

/* Random expressions against the compiler's own arithmetic, through an independent evaluator that
 * works on the tree while the text is written. */
static int64_t grow(uint64_t *s, int depth, char *out, size_t *n, bool *bad)
{
    *s = hash_mix(*s, 5);
    if (depth == 0 || *s % 4 == 0) {
        int64_t v = (int64_t)(*s / 8 % 12);
        *n += (size_t)sprintf(out + *n, "%lld", (long long)v);
        return v;
    }
    static const char *const ops[] = {"+", "-", "*", "/", "%", "<", ">=", "==", "!=", "&&", "||"};
    size_t op = *s / 16 % ARRAY_LEN(ops);
    out[(*n)++] = '(';
    int64_t a = grow(s, depth - 1, out, n, bad);
    *n += (size_t)sprintf(out + *n, " %s ", ops[op]);
    int64_t b = grow(s, depth - 1, out, n, bad);
    out[(*n)++] = ')';
    out[*n] = '\0';
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        *bad |= !b;
        return b ? a / b : 0;
    case 4:
        *bad |= !b;
        return b ? a % b : 0;
    case 5:
        return a < b;
    case 6:
        return a >= b;
    case 7:
        return a == b;
    case 8:
        return a != b;
    case 9:
        return a && b;
    default:
        return a || b;
    }
}

static void test_random(void **state)
{
    (void)state;
    char text[4096];
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t s = i;
        size_t n = 0;
        bool bad = false;
        int64_t want = grow(&s, 5, text, &n, &bad);
        if (!bad)
            gives(EXPR_CONDITION, text, want);
    }
    /* Any bytes: an answer or an error, never a fault. */
    static const char bytes[] = "AB C12()+-*/%!&|=<>defined\n\t\"'\\";
    for (uint64_t i = 0; i < 20000; i++) {
        size_t n = hash_mix(i, 1) % 30;
        for (size_t k = 0; k < n; k++)
            text[k] = bytes[hash_mix(i, k + 2) % (sizeof bytes - 1)];
        int64_t v;
        struct error e = {0};
        if (!expr_eval(text, n, i & 1 ? EXPR_CONDITION : EXPR_ARITHMETIC, &env, &v, &e))
            assert_true(*e.msg);
    }
}

static void test_names(void **state)
{
    (void)state;
    const char *text = "0x1F + abc*16u(_d) 3.e5";
    size_t at = 0, n = expr_next_name(text, strlen(text), &at);
    assert_int_equal(n, 3);
    assert_memory_equal(text + at, "abc", 3);
    at += n;
    n = expr_next_name(text, strlen(text), &at);
    assert_int_equal(n, 2);
    assert_memory_equal(text + at, "_d", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_deep),
        cmocka_unit_test(test_random),     cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
