/* Input generators: what a task.json's `fill` means, carried out in float32.
 *
 * Distributions (`dist`, with defaults):
 *   normal       mean 0, std 1
 *   uniform      [lo, hi), lo 0, hi 1
 *   constant     value
 *   choice       one of `values`, each as likely
 *   logsigmoid   log(sigmoid(n)), n normal with mean 0, std 1: a log decay; <= 0
 *   lower_bound  lb * sigmoid(exp(A) * (raw + bias)); lb -5; A uniform in a_log ([0,1]), one for
 *                each index of the second-last axis; bias uniform in `bias` ([0,1]), one for each
 *                (second-last, last) index; raw: a fill of its own (default normal)
 *   arange       index / number of elements
 * Modifiers, applied afterwards in this order:
 *   zero_fraction p        each element becomes 0 with probability p
 *   unit true              each row of the last axis is scaled to L2 norm 1 (a zero row stays)
 *   scale s                multiplied by s (this is also logsigmoid's scale)
 *   spike {fraction,value} each element becomes value with probability fraction
 *   repeat_rows n          along the second axis, each block of n rows copies its first
 *
 * The stream is a function of the seed alone; two seeds share nothing. Not a cryptographic
 * generator: candidate code never sees a seed. */
#ifndef WARPLOOP_GPU_C_INPUTS_H
#define WARPLOOP_GPU_C_INPUTS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/fills.h"

#define EXTENT_RANK 8

struct extent {
    int rank;
    size_t n[EXTENT_RANK];
};

#define FILL_ID(id, name) FILL_##id,
enum fill_dist { FILL_DISTS(FILL_ID) FILL_COUNT };
#undef FILL_ID

struct fill {
    enum fill_dist dist;
    double mean, std, lo, hi, value, lb;
    double a_log[2], bias[2];
    double *values; /* choice; owned */
    size_t nvalues;
    struct fill *raw; /* lower_bound; owned; may be NULL */
    double zero_fraction;
    bool unit;
    double scale;
    double spike_fraction, spike_value;
    size_t repeat_rows;
};

/* Parse one fill; an unknown dist, member or a bad number is an error that names it. */
bool fill_parse(const cJSON *o, struct fill **out, struct error *e) WARN_UNUSED;
void fill_free(struct fill *f);

/* Elements of an extent (1 for rank 0). */
size_t extent_count(const struct extent *x);

/* Write extent_count(x) floats. */
void fill_make(const struct fill *f, uint64_t seed, const struct extent *x, float *out);

#endif
