/* Small statistics for measurements: medians, Student-t intervals, the level of a sequential test.
 *
 * How a record is decided. Let x_s be, for process set s, the mean over the scored shapes of
 * log(median incumbent / median candidate). Sets are independent, so with n of them
 *     lower(n) = mean - t(1 - a, n - 1) * sd / sqrt(n)
 * exceeds the true log gain with probability a. Sets are added one by one, and the question is
 * asked anew at L of them: at sets.min, then each time that there are two fifths more, and at
 * sets.max (5, 7, 10; fewer looks, each sharper, than one after every set). By Bonferroni the
 * chance that any look says "record" although the true gain does not exceed 1 + margin is at most
 * L a, however the looks depend on one another. With a = ALPHA_TRY / L that is ALPHA_TRY = 1e-3 per
 * try: of a thousand tries that lie exactly on the margin one false record is expected. An
 * identical kernel lies a whole margin below that border, so its chance is smaller still: with a
 * set spread (sd) of 0.15 % and 5 sets, the 0.5 % margin alone is 7 standard errors. */
#ifndef WARPLOOP_GPU_C_STATS_H
#define WARPLOOP_GPU_C_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Chance of a false record of one whole try, all its looks together. */
#define STATS_ALPHA_TRY 1e-3

/* Median (mean of the middle two for an even n); sorts a copy. NaN for n = 0. */
double stats_median(const double *x, size_t n);
/* Quantile q in 0..1 by linear interpolation between order statistics. NaN for n = 0. */
double stats_quantile(const double *x, size_t n, double q);
double stats_mean(const double *x, size_t n);
/* Sample standard deviation (n - 1); 0 for n < 2. */
double stats_sd(const double *x, size_t n);

/* P(T <= t) of Student's t with df >= 1 degrees of freedom, through the regularised incomplete beta
 * function (continued fraction, modified Lentz). */
double stats_t_cdf(double t, double df);
/* t with stats_t_cdf(t, df) = p, 0 < p < 1; by bisection to 1e-10. */
double stats_t_quantile(double p, double df);
/* Regularised incomplete beta I_x(a, b). */
double stats_beta(double x, double a, double b);

/* The looks from min to max sets (1 <= min <= max): how many there are, and whether there is one at
 * n sets. */
size_t stats_looks(size_t min, size_t max);
bool stats_is_look(size_t n, size_t min, size_t max);
/* The level 1 - a of one look, so that `looks` looks together err with chance STATS_ALPHA_TRY. */
double stats_look_level(size_t looks);

struct stats_interval {
    double mean, lo, hi;
};
/* Two-sided Student-t interval of the mean at `level` (0.95). n < 2: lo = -inf, hi = inf. */
struct stats_interval stats_mean_interval(const double *x, size_t n, double level);
/* One-sided lower bound of the mean at `level`. n < 2: -inf. */
double stats_lower_bound(const double *x, size_t n, double level);

#endif
