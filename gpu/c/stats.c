#include "gpu/c/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double stats_quantile(const double *x, size_t n, double q)
{
    if (n == 0)
        return (double)NAN;
    double *s = xmalloc(n * sizeof *s);
    memcpy(s, x, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    double result = i + 1 < n ? s[i] + (at - (double)i) * (s[i + 1] - s[i]) : s[n - 1];
    free(s);
    return result;
}

double stats_median(const double *x, size_t n)
{
    return stats_quantile(x, n, 0.5);
}

double stats_mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return n ? sum / (double)n : (double)NAN;
}

double stats_sd(const double *x, size_t n)
{
    if (n < 2)
        return 0;
    double mean = stats_mean(x, n), sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)(n - 1));
}

/* The continued fraction of the incomplete beta function (Numerical Recipes 6.4, Lentz). */
static double beta_fraction(double x, double a, double b)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < 500; m++) {
        double m2 = 2.0 * m, step = m * (b - m) * x / ((a + m2 - 1) * (a + m2));
        d = 1 + step * d;
        c = 1 + step / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        step = -(a + m) * (a + b + m) * x / ((a + m2) * (a + m2 + 1));
        d = 1 + step * d;
        c = 1 + step / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

double stats_beta(double x, double a, double b)
{
    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double stats_t_cdf(double t, double df)
{
    double tail = 0.5 * stats_beta(df / (df + t * t), df / 2, 0.5);
    return t > 0 ? 1 - tail : tail;
}

double stats_t_quantile(double p, double df)
{
    /* Solve for the upper tail, where the small number keeps its digits. */
    double tail = p < 0.5 ? p : 1 - p, lo = 0, hi = 1;
    while (0.5 * stats_beta(df / (df + hi * hi), df / 2, 0.5) > tail && hi < 1e12)
        hi *= 2;
    for (int i = 0; i < 200 && hi - lo > 1e-10 * hi; i++) {
        double mid = (lo + hi) / 2;
        if (0.5 * stats_beta(df / (df + mid * mid), df / 2, 0.5) > tail)
            lo = mid;
        else
            hi = mid;
    }
    return p < 0.5 ? -(lo + hi) / 2 : (lo + hi) / 2;
}

static size_t next_look(size_t n, size_t max)
{
    size_t next = n + (2 * n + 4) / 5; /* rounded up */
    return next < max ? next : max;
}

size_t stats_looks(size_t min, size_t max)
{
    size_t looks = 1;
    for (size_t n = min; n < max; n = next_look(n, max))
        looks++;
    return looks;
}

bool stats_is_look(size_t n, size_t min, size_t max)
{
    size_t look = min;
    while (look < n && look < max)
        look = next_look(look, max);
    return look == n;
}

double stats_look_level(size_t looks)
{
    return 1 - STATS_ALPHA_TRY / (double)(looks ? looks : 1);
}

struct stats_interval stats_mean_interval(const double *x, size_t n, double level)
{
    struct stats_interval r = {stats_mean(x, n), -(double)INFINITY, (double)INFINITY};
    if (n < 2)
        return r;
    double half =
        stats_t_quantile(1 - (1 - level) / 2, (double)(n - 1)) * stats_sd(x, n) / sqrt((double)n);
    r.lo = r.mean - half;
    r.hi = r.mean + half;
    return r;
}

double stats_lower_bound(const double *x, size_t n, double level)
{
    if (n < 2)
        return -(double)INFINITY;
    return stats_mean(x, n) -
           stats_t_quantile(level, (double)(n - 1)) * stats_sd(x, n) / sqrt((double)n);
}
