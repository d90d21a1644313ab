/* The input generators: each distribution's moments, each modifier, determinism, bad fills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "gpu/c/inputs.h"

#define NEAR(a, b, tol) assert_true(fabs((double)(a) - (double)(b)) <= (tol))

static struct fill *parse(const char *text)
{
    struct fill *f = NULL;
    struct error e;
    cJSON *o = cJSON_Parse(text);
    assert_non_null(o);
    bool ok = fill_parse(o, &f, &e);
    cJSON_Delete(o);
    if (!ok)
        print_error("%s\n", e.msg);
    assert_true(ok);
    return f;
}

static float *make(const char *text, uint64_t seed, const struct extent *x)
{
    struct fill *f = parse(text);
    float *out = xcalloc(extent_count(x) + 1, sizeof *out);
    out[extent_count(x)] = 12345;
    fill_make(f, seed, x, out);
    assert_true(out[extent_count(x)] == 12345); /* nothing behind the end */
    fill_free(f);
    return out;
}

struct moments {
    double mean, var, kurtosis, min, max;
};

static struct moments moments(const float *x, size_t n)
{
    struct moments m = {.min = 1e30, .max = -1e30};
    for (size_t i = 0; i < n; i++) {
        m.mean += (double)x[i] / (double)n;
        m.min = fmin(m.min, (double)x[i]);
        m.max = fmax(m.max, (double)x[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - m.mean;
        m.var += d * d / (double)n;
        m.kurtosis += d * d * d * d / (double)n;
    }
    m.kurtosis /= m.var * m.var;
    return m;
}

static const struct extent large = {.rank = 2, .n = {1000, 400}};

static void test_normal(void **state)
{
    (void)state;
    float *x = make("{\"dist\":\"normal\",\"mean\":2,\"std\":3}", 1, &large);
    struct moments m = moments(x, 400000);
    NEAR(m.mean, 2, 0.03);
    NEAR(m.var, 9, 0.15);
    NEAR(m.kurtosis, 3, 0.05);
    assert_true(m.max > 2 + 3 * 4.0 && m.max < 2 + 3 * 7.0); /* the tail is there */
    size_t within = 0;
    for (size_t i = 0; i < 400000; i++)
        within += fabs((double)x[i] - 2) < 3;
    NEAR((double)within / 400000, 0.6827, 0.004);
    free(x);
}

static void test_others(void **state)
{
    (void)state;
    float *x = make("{\"dist\":\"uniform\",\"lo\":-1,\"hi\":3}", 2, &large);
    struct moments m = moments(x, 400000);
    NEAR(m.mean, 1, 0.02);
    NEAR(m.var, 16.0 / 12, 0.02);
    assert_true(m.min >= -1 && m.max <= 3);
    free(x);
    x = make("{\"dist\":\"constant\",\"value\":-4.5}", 2, &large);
    m = moments(x, 400000);
    NEAR(m.min, -4.5, 0);
    NEAR(m.max, -4.5, 0);
    free(x);
    x = make("{\"dist\":\"choice\",\"values\":[-8,-4,0,8]}", 3, &large);
    m = moments(x, 400000);
    NEAR(m.mean, -1, 0.05);
    for (size_t i = 0; i < 400000; i++)
        assert_true(x[i] == -8 || x[i] == -4 || x[i] == 0 || x[i] == 8);
    free(x);
    x = make("{\"dist\":\"logsigmoid\"}", 4, &large);
    m = moments(x, 400000);
    NEAR(m.mean, -0.806, 0.01); /* E log sigmoid(N(0,1)) */
    assert_true(m.max <= 0);
    free(x);
    x = make("{\"dist\":\"logsigmoid\",\"scale\":0.1}", 4, &large);
    NEAR(moments(x, 400000).mean, -0.0806, 0.001);
    free(x);
    x = make("{\"dist\":\"arange\"}", 4, &large);
    NEAR(x[0], 0, 0);
    NEAR(x[1], 1.0 / 400000, 1e-12);
    free(x);
}

static void test_lower_bound(void **state)
{
    (void)state;
    const struct extent x = {.rank = 4, .n = {1, 50, 3, 8}};
    /* A = 1 and no bias: lb * sigmoid(raw). */
    float *g = make("{\"dist\":\"lower_bound\",\"lb\":-5,\"a_log\":[0,0],\"bias\":[0,0],"
                    "\"raw\":{\"dist\":\"constant\",\"value\":0}}",
                    5, &x);
    for (size_t i = 0; i < extent_count(&x); i++)
        NEAR(g[i], -2.5, 1e-6);
    free(g);
    /* One A a head and one bias a (head, channel): all rows alike when raw is constant. */
    g = make("{\"dist\":\"lower_bound\",\"raw\":{\"dist\":\"constant\",\"value\":1}}", 6, &x);
    for (size_t t = 1; t < 50; t++)
        assert_memory_equal(g, g + t * 24, 24 * sizeof *g);
    bool differ = false;
    for (size_t i = 0; i < extent_count(&x); i++) {
        assert_true(g[i] < 0 && g[i] > -5);
        differ = differ || g[i] != g[0];
    }
    assert_true(differ);
    free(g);
}

static void test_modifiers(void **state)
{
    (void)state;
    const struct extent rows = {.rank = 3, .n = {20, 30, 16}};
    size_t n = extent_count(&rows), zeros = 0, spikes = 0;
    float *x = make("{\"dist\":\"normal\",\"zero_fraction\":0.5,\"unit\":true}", 7, &rows);
    for (size_t r = 0; r < n / 16; r++) {
        double s = 0;
        for (size_t j = 0; j < 16; j++) {
            s += (double)x[r * 16 + j] * (double)x[r * 16 + j];
            zeros += x[r * 16 + j] == 0;
        }
        assert_true(s == 0 || fabs(s - 1) < 1e-5);
    }
    NEAR((double)zeros / (double)n, 0.5, 0.03);
    free(x);
    x = make("{\"dist\":\"constant\",\"value\":1,\"scale\":3,\"spike\":{\"fraction\":0.1,"
             "\"value\":1000}}",
             8, &rows);
    for (size_t i = 0; i < n; i++) {
        assert_true(x[i] == 3 || x[i] == 1000); /* spikes are not scaled */
        spikes += x[i] == 1000;
    }
    NEAR((double)spikes / (double)n, 0.1, 0.02);
    free(x);
    x = make("{\"dist\":\"normal\",\"repeat_rows\":4}", 9, &rows);
    for (size_t b = 0; b < 20; b++)
        for (size_t r = 0; r < 30; r++)
            assert_memory_equal(x + (b * 30 + r) * 16, x + (b * 30 + r - r % 4) * 16,
                                16 * sizeof *x);
    assert_true(memcmp(x, x + 4 * 16, 16 * sizeof *x) != 0);
    free(x);
}

static void test_seeds(void **state)
{
    (void)state;
    const char *text = "{\"dist\":\"normal\"}";
    float *a = make(text, 10, &large), *b = make(text, 10, &large), *c = make(text, 11, &large);
    assert_memory_equal(a, b, 400000 * sizeof *a);
    size_t same = 0;
    for (size_t i = 0; i < 400000; i++)
        same += a[i] == c[i];
    assert_true(same < 40);
    free(a);
    free(b);
    free(c);
}

static void test_bad(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"dist\":\"gaussian\"}",
        "{\"dist\":\"normal\",\"sigma\":1}",
        "{\"dist\":\"normal\",\"std\":\"1\"}",
        "{\"dist\":\"choice\"}",
        "{\"dist\":\"choice\",\"values\":[]}",
        "{\"dist\":\"choice\",\"values\":[1,\"x\"]}",
        "{\"dist\":\"lower_bound\",\"a_log\":[1]}",
        "{\"dist\":\"lower_bound\",\"raw\":{\"dist\":\"none\"}}",
        "{\"dist\":\"normal\",\"zero_fraction\":1.5}",
        "{\"dist\":\"normal\",\"repeat_rows\":1.5}",
        "{\"dist\":\"normal\",\"repeat_rows\":-1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct fill *f = NULL;
        struct error e = {0};
        cJSON *o = cJSON_Parse(bad[i]);
        assert_non_null(o);
        assert_false(fill_parse(o, &f, &e));
        assert_true(strlen(e.msg) > 5);
        cJSON_Delete(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),      cmocka_unit_test(test_others),
        cmocka_unit_test(test_lower_bound), cmocka_unit_test(test_modifiers),
        cmocka_unit_test(test_seeds),       cmocka_unit_test(test_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
