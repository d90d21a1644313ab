/* Statistics against textbook values, and the sequential decision against simulated null tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "gpu/c/evaluate.h"
#include "gpu/c/stats.h"

#define NEAR(a, b, tol) assert_true(fabs((a) - (b)) <= (tol))

static void test_order_statistics(void **state)
{
    (void)state;
    const double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {7};
    NEAR(stats_median(odd, 3), 3, 0);
    NEAR(stats_median(even, 4), 2.5, 0);
    NEAR(stats_median(one, 1), 7, 0);
    assert_true(isnan(stats_median(one, 0)));
    NEAR(stats_quantile(even, 4, 0), 1, 0);
    NEAR(stats_quantile(even, 4, 1), 4, 0);
    NEAR(stats_quantile(even, 4, 0.25), 1.75, 1e-12);
    NEAR(stats_sd(even, 4), 1.2909944487, 1e-9);
    NEAR(timing_low_mean(even, 4), 1.5, 1e-12);
    NEAR(timing_low_mean(odd, 3), 2, 1e-12);
    NEAR(timing_low_mean(one, 1), 7, 0);
    const double ties[] = {2, 2, 2, 9};
    NEAR(timing_low_mean(ties, 4), 2, 1e-12);
}

/* Student's t from published tables (two-sided 95 %, one-sided 99.9 %, 99.95 %). */
static void test_t_quantiles(void **state)
{
    (void)state;
    const struct {
        double p, df, t;
    } known[] = {{0.975, 1, 12.7062},  {0.975, 2, 4.30265},  {0.975, 4, 2.77645},
                 {0.975, 9, 2.26216},  {0.975, 30, 2.04227}, {0.95, 4, 2.13185},
                 {0.999, 4, 7.17318},  {0.9995, 4, 8.61030}, {0.999, 9, 4.29681},
                 {0.9995, 9, 4.78091}, {0.9995, 1, 636.619}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        double t = stats_t_quantile(known[i].p, known[i].df);
        NEAR(t / known[i].t, 1, 2e-6);
        NEAR(stats_t_cdf(t, known[i].df), known[i].p, 1e-9);
        NEAR(stats_t_quantile(1 - known[i].p, known[i].df), -t, 1e-6 * t);
    }
    NEAR(stats_t_cdf(0, 5), 0.5, 1e-12);
    NEAR(stats_beta(0.5, 2, 3), 0.6875, 1e-12);
    NEAR(stats_beta(0.25, 0.5, 0.5), 1.0 / 3, 1e-12);
}

static void test_intervals(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4, 5};
    struct stats_interval i = stats_mean_interval(x, 5, 0.95);
    NEAR(i.mean, 3, 1e-12);
    NEAR(i.hi - i.mean, 2.77645 * sqrt(2.5 / 5), 1e-5);
    NEAR(i.mean - i.lo, i.hi - i.mean, 1e-12);
    NEAR(stats_lower_bound(x, 5, 0.95), 3 - 2.13185 * sqrt(2.5 / 5), 1e-5);
    assert_true(isinf(stats_lower_bound(x, 1, 0.95)));
    NEAR(stats_look_level(6), 1 - 1e-3 / 6, 1e-15);
}

static void test_looks(void **state)
{
    (void)state;
    static const size_t want[] = {5, 7, 10, 14, 20, 28, 40};
    size_t k = 0;
    for (size_t n = 1; n <= 50; n++) {
        bool look = k < ARRAY_LEN(want) && n == want[k];
        assert_int_equal(stats_is_look(n, 5, 40), look);
        k += look;
    }
    assert_int_equal(stats_looks(5, 40), ARRAY_LEN(want));
    assert_int_equal(stats_looks(5, 10), 3);
    assert_int_equal(stats_looks(2, 3), 2);
    assert_int_equal(stats_looks(7, 7), 1);
    assert_true(stats_is_look(7, 7, 7));
    assert_true(stats_is_look(9, 7, 9)); /* the last is one, wherever it lies */
}

/* A timing with `n` sets of one shape, whose log gains are gain + sd * noise. */
struct world {
    struct timing t;
    struct timing_shape shape;
    struct ev_request r;
};

static double noise(uint64_t seed, uint64_t k)
{
    double s = 0; /* twelve uniforms: near enough to normal */
    for (uint64_t i = 0; i < 12; i++)
        s += (double)(hash_mix(seed, 12 * k + i) >> 11) * 0x1p-53;
    return s - 6;
}

static void begin(struct world *w, int min, int max)
{
    memset(w, 0, sizeof *w);
    w->t.shape = &w->shape;
    w->t.nshapes = 1;
    w->r.margin = 0.005;
    w->r.max_shape_loss = 0.03;
    w->r.sets_min = min;
    w->r.sets_max = max;
}

static bool one_set(struct world *w, double gain)
{
    size_t s = w->t.sets++;
    w->shape.by_version[V_CANDIDATE].ns[s] = 1e6;
    w->shape.by_version[V_INCUMBENT].ns[s] = 1e6 * exp(gain);
    w->shape.by_version[V_BASELINE].ns[s] = 2e6;
    w->t.samples += 12;
    return timing_decide(&w->t, &w->r, true);
}

/* brief: short sets, four times as many. */
static bool try_sets(uint64_t seed, double gain, double sd, bool brief, size_t *sets)
{
    struct world w;
    begin(&w, 5, 10);
    w.t.brief = brief;
    for (uint64_t k = 0; !one_set(&w, gain + sd * noise(seed, k)); k++)
        assert_true(w.t.sets < (brief ? 40 : 10));
    *sets = w.t.sets;
    return w.t.record;
}

static bool try_once(uint64_t seed, double gain, double sd, size_t *sets)
{
    return try_sets(seed, gain, sd, false, sets);
}

/* Short sets keep the level too, and find a gain that ten such sets could not show. */
static void test_brief_sets(void **state)
{
    (void)state;
    size_t records = 0, found = 0, most = 0, tries = 30000, sets;
    for (uint64_t i = 0; i < tries; i++)
        records += try_sets(i + 1, log1p(0.005), 0.04, true, &sets);
    print_message("on the margin: %zu of %zu\n", records, tries);
    assert_true(records <= 45); /* 30 expected at most; 2.7 sigma */
    for (uint64_t i = 0; i < 200; i++) {
        found += try_sets(i + 1, 0.05, 0.04, true, &sets);
        most = sets > most ? sets : most;
    }
    print_message("found: %zu of 200, at most %zu sets\n", found, most);
    assert_true(found >= 150 && most == 40);
}

/* 200,000 simulated tries exactly on the margin: at most ALPHA of them are records. */
static void test_false_records(void **state)
{
    (void)state;
    size_t records = 0, null_records = 0, tries = 100000, sets, total = 0;
    for (uint64_t i = 0; i < tries; i++) {
        records += try_once(i + 1, log1p(0.005), 0.02, &sets);
        null_records += try_once(i + 7000001, 0, 0.004, &sets);
        total += sets;
    }
    print_message("on the margin: %zu of %zu; identical: %zu; %.1f sets a try\n", records, tries,
                  null_records, (double)total / (double)tries);
    assert_true(records <= 125); /* 100 expected at most; 2.5 sigma */
    assert_true(null_records <= records);
}

static void test_true_records(void **state)
{
    (void)state;
    size_t found = 0, sets;
    for (uint64_t i = 0; i < 200; i++)
        found += try_once(i + 1, 0.1, 0.01, &sets);
    assert_true(found >= 198);
}

static void test_hopeless_ends_early(void **state)
{
    (void)state;
    size_t sets;
    assert_false(try_once(3, -0.05, 0.01, &sets));
    assert_int_equal(sets, 3);
}

static void test_shape_loss_and_disturbance(void **state)
{
    (void)state;
    struct world w;
    struct timing_shape two[2];
    begin(&w, 5, 10);
    memset(two, 0, sizeof two);
    w.t.shape = two;
    w.t.nshapes = 2;
    for (size_t s = 0; s < 5; s++) {
        for (int i = 0; i < 2; i++) {
            two[i].by_version[V_CANDIDATE].ns[s] = 1e6 + (double)s;
            two[i].by_version[V_BASELINE].ns[s] = 2e6;
            two[i].by_version[V_INCUMBENT].ns[s] = i ? 0.95e6 : 1.5e6;
        }
        w.t.sets++;
    }
    w.t.samples = 60;
    assert_true(timing_decide(&w.t, &w.r, true));
    assert_true(w.t.record_lower > 1.1);
    assert_true(w.t.shape_loss);
    assert_false(w.t.record);
    w.r.max_shape_loss = 0.06;
    timing_decide(&w.t, &w.r, true);
    assert_true(w.t.record);
    w.t.disturbed = 20; /* a third of the samples did not have the core for themselves */
    timing_decide(&w.t, &w.r, true);
    assert_false(w.t.record);
}

/* What is too short to be told from an empty call counts as the resolution. */
static void test_resolution(void **state)
{
    (void)state;
    struct world w;
    begin(&w, 5, 10);
    for (size_t s = 0; s < 5; s++) {
        w.shape.by_version[V_CANDIDATE].ns[s] = s % 2 ? -3000 : 2000;
        w.shape.by_version[V_INCUMBENT].ns[s] = s % 2 ? 4000 : 9000;
        w.shape.by_version[V_BASELINE].ns[s] = 100000;
        w.shape.empty[s] = 120000;
        w.shape.spread[s] = s == 2 ? 90000 : 1000; /* one bad set does not set it */
        w.t.sets++;
    }
    w.t.samples = 60;
    NEAR(timing_empty(&w.t, 0), 120000, 0);
    NEAR(timing_resolution(&w.t, 0), 12000, 1e-9);
    NEAR(timing_ns(&w.t, 0, V_CANDIDATE, 1), 12000, 1e-9);
    NEAR(timing_ns(&w.t, 0, V_BASELINE, 1), 100000, 0);
    assert_true(timing_below(&w.t, 0, V_CANDIDATE));
    assert_false(timing_below(&w.t, 0, V_BASELINE));
    timing_decide(&w.t, &w.r, true);
    NEAR(exp(w.t.speedup.mean), 100.0 / 12, 1e-9);
    NEAR(w.t.gain.mean, 0, 1e-12); /* two that are both too short are equal */
    assert_false(w.t.record);
    for (size_t s = 0; s < 5; s++)
        w.shape.spread[s] = 7000;
    NEAR(timing_resolution(&w.t, 0), 21000, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_statistics),
        cmocka_unit_test(test_t_quantiles),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_intervals),
        cmocka_unit_test(test_brief_sets),
        cmocka_unit_test(test_false_records),
        cmocka_unit_test(test_true_records),
        cmocka_unit_test(test_hopeless_ends_early),
        cmocka_unit_test(test_shape_loss_and_disturbance),
        cmocka_unit_test(test_resolution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
