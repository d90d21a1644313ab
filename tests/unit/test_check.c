/* Error ratios, blocks and limits; the request parser's bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "gpu/c/check.h"
#include "tests/support/benchtest.h"

#define NEAR(a, b, tol) assert_true(fabs((double)(a) - (double)(b)) <= (tol))

/* [B 2][T 130][H 3][V 8], blocks of 64 along T, heads along H. */
static const struct extent shape = {.rank = 4, .n = {2, 130, 3, 8}};
static const struct ev_buffer o = {
    .kind = EV_OUTPUT, .hard = 1e-4, .soft = 1e-5, .head_axis = 2, .block_axis = 1, .block = 64};
#define COUNT          (2 * 130 * 3 * 8)
#define AT(b, t, h, v) ((((size_t)(b)*130 + (t)) * 3 + (h)) * 8 + (v))

static double ref[COUNT];
static float x[COUNT];

static int reset(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = (float)sin((double)i) + 2;
        ref[i] = (double)x[i];
    }
    return 0;
}

static const struct check_ratios exact = {.finite = true, .reference_finite = true};

static void test_ratio(void **state)
{
    (void)state;
    struct check_ratios r;
    check_ratios(&o, &shape, ref, x, &r);
    NEAR(r.whole, 0, 0);
    NEAR(r.block, 0, 0);
    assert_true(r.finite && r.reference_finite);
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (float)(ref[i] * 1.5);
    check_ratios(&o, &shape, ref, x, &r);
    NEAR(r.whole, 0.5, 1e-6);
    NEAR(r.block, 0.5, 1e-6);
    memset(x, 0, sizeof x);
    check_ratios(&o, &shape, ref, x, &r);
    NEAR(r.whole, 1, 1e-6); /* zeros are wrong by all there is */
    for (size_t i = 0; i < COUNT; i++)
        ref[i] = 0;
    x[5] = 1e-3f;
    check_ratios(&o, &shape, ref, x, &r);
    NEAR(r.whole, 1e-3 / sqrt(COUNT) / 1e-8, 1e-6 * r.whole);
}

/* A wrong tail of one head is small in the whole and large in its block. */
static void test_block_shows_a_wrong_tail(void **state)
{
    (void)state;
    struct check_ratios r;
    struct check_result j;
    x[AT(1, 129, 2, 3)] += 0.004f;
    check_ratios(&o, &shape, ref, x, &r);
    assert_true(r.block > 15 * r.whole);
    check_judge(&o, &shape, ref, x, &exact, NULL, &j);
    assert_false(j.ok);
    assert_int_equal(j.index, AT(1, 129, 2, 3));
    NEAR(j.got, x[j.index], 0);
    NEAR(j.want, ref[j.index], 0);
    char text[100];
    check_index_text(&shape, j.index, text, sizeof text);
    assert_string_equal(text, "[1,129,2,3]");
}

static void test_nearly_nothing_is_not_an_error(void **state)
{
    (void)state;
    struct check_ratios r;
    for (size_t t = 64; t < 128; t++)
        for (size_t v = 0; v < 8; v++) {
            ref[AT(0, t, 1, v)] = 1e-9;
            x[AT(0, t, 1, v)] = 1.2e-9f;
        }
    check_ratios(&o, &shape, ref, x, &r);
    assert_true(r.block < 1e-6);
    for (size_t t = 64; t < 128; t++)
        x[AT(0, t, 1, 0)] = 0.01f; /* small, but not what it should be */
    check_ratios(&o, &shape, ref, x, &r);
    assert_true(r.block > 0.05);
}

static void test_limits(void **state)
{
    (void)state;
    NEAR(check_limit(&o, 0), 1e-5, 0);
    NEAR(check_limit(&o, 2e-5), 3e-5, 1e-12);
    NEAR(check_limit(&o, 1), 1e-4, 0);
    NEAR(check_limit(&o, (double)NAN), 1e-5, 0);
    struct check_result j;
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (float)(ref[i] * (1 + 2e-5));
    check_judge(&o, &shape, ref, x, &exact, NULL, &j);
    assert_false(j.ok);
    assert_false(j.wrong); /* inaccurate */
    struct check_ratios base = {.whole = 2e-5, .block = 2e-5, .finite = true};
    check_judge(&o, &shape, ref, x, &base, NULL, &j);
    assert_true(j.ok); /* the honest kernel is no better */
    struct check_ratios off = {.whole = 1.5e-5, .block = 1.5e-5, .finite = true};
    check_judge(&o, &shape, ref, x, &exact, &off, &j);
    assert_true(j.ok); /* compared with a baseline that may be off itself */
    for (size_t i = 0; i < COUNT; i++)
        x[i] = (float)(ref[i] * 1.002);
    check_judge(&o, &shape, ref, x, &base, NULL, &j);
    assert_true(!j.ok && j.wrong);
}

static void test_not_finite(void **state)
{
    (void)state;
    struct check_result j;
    x[777] = (float)NAN;
    check_judge(&o, &shape, ref, x, &exact, NULL, &j);
    assert_true(!j.ok && j.wrong);
    assert_int_equal(j.index, 777);
    reset(NULL);
    x[778] = (float)INFINITY;
    check_judge(&o, &shape, ref, x, &exact, NULL, &j);
    assert_true(!j.ok && j.wrong);
    assert_int_equal(j.index, 778);
    reset(NULL);
    struct check_ratios r;
    ref[3] = (double)NAN;
    check_ratios(&o, &shape, ref, x, &r);
    assert_false(r.reference_finite);
}

/* ---------------------------------------------------------------- requests */

static cJSON *good(void)
{
    struct wire_msg m;
    struct benchtest_options opt = {.mode = "full"};
    benchtest_request(NULL, NULL, NULL, &opt, &m);
    cJSON *head = cJSON_Duplicate(m.head, true);
    wire_msg_free(&m);
    return head;
}

static void test_request(void **state)
{
    (void)state;
    struct ev_request r;
    struct error e;
    cJSON *h = good();
    cJSON_ReplaceItemInObject(h, "seed", cJSON_CreateString("18446744073709551615"));
    assert_true(ev_request_parse(h, &r, &e));
    assert_true(r.seed == UINT64_MAX);
    assert_int_equal(r.ndims, 2);
    assert_int_equal(r.nbuffers, 5);
    assert_int_equal(r.buffer[4].kind, EV_WORKSPACE);
    assert_int_equal(r.shape[0].role, EV_SCORED);
    assert_int_equal(r.shape[2].count[0], 33 * 17);
    assert_int_equal(r.shape[2].extent[2].n[1], 17);
    assert_int_equal(ev_buffer_bytes(&r, &r.shape[2], 2, false), 4 * 33 * 17);
    assert_int_equal(ev_buffer_bytes(&r, &r.shape[2], 2, true), 8 * 33 * 17);
    assert_int_equal(ev_buffer_bytes(&r, &r.shape[2], 4, true), 4096);
    assert_false(r.family[1].shapes[0]); /* scored shapes are checked where they are timed */
    assert_true(r.family[1].shapes[1] && r.family[1].shapes[2]);
    assert_non_null(r.family[1].fill[0]); /* from the first family */
    assert_null(r.family[1].fill[2]);
    ev_request_free(&r);
    cJSON_Delete(h);
}

/* Each edit of a good request must be refused: PATH = JSON. */
static void test_bad_requests(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int index;
        const char *key, *value;
    } edits[] = {
        {NULL, 0, "mode", "\"fast\""},
        {NULL, 0, "params", "[]"},
        {NULL, 0, "shapes", "[]"},
        {NULL, 0, "families", "[]"},
        {NULL, 0, "margin", "-1"},
        {NULL, 0, "call_ms", "0"},
        {NULL, 0, "sets", "{\"min\":-3}"},
        {"shapes", 0, "counts", "[\"1\"]"},
        {"shapes", 0, "counts", "[\"32769\",\"512\",\"32768\",\"512\",\"0\"]"},
        {"shapes", 0, "counts", "[\"-1\",\"512\",\"32768\",\"512\",\"0\"]"},
        {"shapes", 0, "counts", "[\"32768\",\"512\",\"32768\",\"512\",\"99999999999\"]"},
        {"shapes", 0, "counts", "[\"32768\",\"512\",\"32768\",\"512\",\"12x\"]"},
        {"shapes", 0, "extents", "[[64,512],[512],[64,512]]"},
        {"shapes", 0, "extents", "[[64,512],[512],[4294967296,4294967296],[512],[]]"},
        {"shapes", 0, "dims", "[64]"},
        {"shapes", 0, "dims", "[64,3000000000]"},
        {"shapes", 0, "dims", "[64,0.5]"},
        {"shapes", 0, "role", "\"main\""},
        {"shapes", 0, "name", "\"\""},
        {"shapes", 0, "family", "\"nobody\""},
        {"params", 2, "type", "\"f64\""},
        {"params", 2, "kind", "\"in\""},
        {"params", 4, "block", "0"},
        {"params", 4, "block_axis", "5"},
        {"params", 4, "head_axis", "7"},
        {"params", 4, "hard", "0"},
        {"params", 4, "soft", "1"},
        {"families", 0, "fill", "{}"},
        {"families", 0, "fill", "{\"x\":{\"dist\":\"?\"},\"s0\":{\"dist\":\"normal\"}}"},
        {"families", 1, "shapes", "[\"nowhere\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        struct ev_request r;
        struct error e = {0};
        cJSON *h = good(), *at = h;
        if (edits[i].list)
            at = cJSON_GetArrayItem(cJSON_GetObjectItem(h, edits[i].list), edits[i].index);
        cJSON_DeleteItemFromObject(at, edits[i].key);
        cJSON_AddItemToObject(at, edits[i].key, cJSON_Parse(edits[i].value));
        if (ev_request_parse(h, &r, &e))
            fail_msg("accepted %s = %s", edits[i].key, edits[i].value);
        assert_true(strlen(e.msg) > 10);
        cJSON_Delete(h);
    }
}

static int done(void **state)
{
    (void)state;
    benchtest_free();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ratio, reset),
        cmocka_unit_test_setup(test_block_shows_a_wrong_tail, reset),
        cmocka_unit_test_setup(test_nearly_nothing_is_not_an_error, reset),
        cmocka_unit_test_setup(test_limits, reset),
        cmocka_unit_test_setup(test_not_finite, reset),
        cmocka_unit_test(test_request),
        cmocka_unit_test(test_bad_requests),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
