/* The time stage: process sets, blocks, samples, and whether it is a record.
 *
 * A set: fresh templates of every version, fresh memory. For each scored shape some blocks, each
 * with new inputs, of two rounds of calls in the order A B C C B A (candidate, incumbent, baseline;
 * without an incumbent A C C A), every second round inside out (C B A A B C): a drift touches all
 * versions alike, and no version is always the first after new inputs were made. Before each call
 * every input is read once by our own code: all versions find the caches alike, whatever the
 * call before did to them.
 *
 * Empty calls (the same path with nothing in it) stand among them, before, amid and after each
 * round. The time of a version in a set is the mean of the faster half of its windows less that of
 * the empty ones. What is shorter than the resolution, a tenth of an empty call or, if that is
 * more, three times the spread of the empty ones (median less shortest), cannot be told from
 * nothing: it counts as the resolution, so that a ratio to it is a bound and said to be one.
 *
 * Where a call is long (a round's calls take more than 15 ms on the average) a set is one block of
 * one round, and four times as many sets are allowed: the same calls in four times as many sets
 * decide sooner, since the interval of few sets is wide. Measured (an identical kernel of about
 * 15 ms as candidate and incumbent, two shapes, AVX2 machine with a spread of 7 %): five hopeless
 * tries end after 1.5 to 1.7 s each instead of 5.2 to 7.3 s.
 *
 * All samples are kept. The faster half, because noise on a shared machine is one-sided (another
 * tenant on the sibling thread of the core slows 20 to 30 % of all calls by up to 40 %). Measured
 * on such a machine, an identical kernel of 11 ms as candidate and incumbent, two shapes: the
 * spread between sets of the log ratio is with 8 samples of each 1.9 % for medians, 1.5 % for
 * means, 1.4 % for faster halves, and for these with 4, 8, 12 samples 2.0, 1.4, 1.1 %.
 *
 * A sample that did not have the core for itself (its CPU time is clearly less than its window and
 * it cannot sleep by itself) is taken again, at most five times. Sets are added from sets.min on
 * until the interval decides, or sets.max (for a baseline: sets.min, doubled if they are brief); a
 * candidate whose interval lies below the margin ends
 * after three. The decision is in stats.h. */
#ifndef WARPLOOP_GPU_C_TIMING_H
#define WARPLOOP_GPU_C_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/c/spec.h"
#include "gpu/c/stats.h"

#define TIMING_VERSIONS 3 /* candidate, incumbent, baseline */
#define TIMING_SETS_MAX 200

/* One version on one shape: its time in every set, empty calls taken off; may be about zero or
 * less: read it through timing_ns. */
struct timing_series {
    double ns[TIMING_SETS_MAX];
};

struct timing_shape {
    int shape; /* index in the request */
    struct timing_series by_version[TIMING_VERSIONS];
    double empty[TIMING_SETS_MAX], spread[TIMING_SETS_MAX]; /* of the empty calls, by set */
};

struct timing {
    size_t nshapes;
    struct timing_shape *shape; /* owned */
    size_t sets;
    bool brief; /* calls are long: a set is one block of one round */
    size_t samples, retried, disturbed;
    double disturbed_gap_ns; /* the largest gap between window and CPU time that was let pass */
    bool decided;
    struct stats_interval speedup, gain; /* of the log ratio: exp is taken when reported */
    bool has_gain;
    double record_lower, record_level; /* lower bound of the gain (not log) and its level */
    bool record;
    bool shape_loss; /* a scored shape is worse than the incumbent's by more than allowed */
};

struct evaluation;

/* Run the stage. Fills ev->timing; the verdict is set on `screened`, `implausible` and failures. */
bool timing_run(struct evaluation *ev);
void timing_free(struct timing *t);

/* The mean of the faster half (of n samples the (n + 1) / 2 smallest). */
double timing_low_mean(const double *x, size_t n);

/* The empty call on a shape, the median over the sets. */
double timing_empty(const struct timing *t, size_t shape);
/* The shortest time on a shape that is told from nothing. */
double timing_resolution(const struct timing *t, size_t shape);
/* A version's time in a set, at least the resolution. */
double timing_ns(const struct timing *t, size_t shape, int version, size_t set);
/* In half of the sets or more the version's time is below the resolution. */
bool timing_below(const struct timing *t, size_t shape, int version);

/* The decision after a set, a pure function of the series: fills the intervals of *t. `versus`:
 * the version the candidate must beat. Returns true when no further set is needed. */
bool timing_decide(struct timing *t, const struct ev_request *r, bool has_incumbent);

/* Null tries: the candidate is also the incumbent; `tries` evaluations of the time stage alone.
 * Prints one line a try to stdout when `verbose`. Returns the number of false records, -1 on
 * failure. */
long timing_null(struct evaluation *ev, long tries, bool verbose);

#endif
