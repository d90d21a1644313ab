#include "gpu/c/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"

#define FLOOR 1e-8

/* How a tensor falls into blocks: `runs` stretches of `inner` contiguous elements, each in one. */
struct blocking {
    size_t runs, inner, blocks;
    int last;                /* last axis that keeps blocks apart; -1: one block */
    size_t per[EXTENT_RANK]; /* steps of each axis up to `last` */
};

static void block_up(const struct ev_buffer *b, const struct extent *x, struct blocking *k)
{
    *k = (struct blocking){.runs = 1, .inner = 1, .blocks = 1};
    k->last = b->head_axis > b->block_axis ? b->head_axis : b->block_axis;
    for (int i = 0; i < x->rank; i++) {
        if (i > k->last) {
            k->inner *= x->n[i];
            continue;
        }
        k->per[i] = i == b->block_axis ? (size_t)b->block : 1;
        k->runs *= x->n[i];
        k->blocks *= (x->n[i] + k->per[i] - 1) / k->per[i];
    }
}

/* The block of stretch `run`. */
static size_t block_of(const struct blocking *k, const struct extent *x, size_t run)
{
    size_t block = 0, scale = 1;
    for (int i = k->last; i >= 0; i--) {
        size_t at = run % x->n[i];
        run /= x->n[i];
        block += at / k->per[i] * scale;
        scale *= (x->n[i] + k->per[i] - 1) / k->per[i];
    }
    return block;
}

struct sums {
    double error, reference;
    size_t n;
};

/* Sums of squares of one stretch, in four lanes so that the additions overlap. */
static void add_run(const double *ref, const float *x, size_t n, struct sums *s)
{
    double e[4] = {0}, r[4] = {0};
    for (size_t i = 0; i < n; i++) {
        double d = ref[i] - (double)x[i];
        e[i & 3] += d * d;
        r[i & 3] += ref[i] * ref[i];
    }
    s->error += e[0] + e[1] + e[2] + e[3];
    s->reference += r[0] + r[1] + r[2] + r[3];
    s->n += n;
}

static double ratio_of(const struct sums *s, double least)
{
    if (s->n == 0)
        return 0;
    double rms = sqrt(s->reference / (double)s->n);
    double ratio = sqrt(s->error / (double)s->n) / ((rms > least ? rms : least) + FLOOR);
    return isfinite(ratio) ? ratio : (double)INFINITY;
}

void check_ratios(const struct ev_buffer *b, const struct extent *shape, const double *ref,
                  const float *x, struct check_ratios *out)
{
    struct blocking k;
    block_up(b, shape, &k);
    struct sums *s = xcalloc(k.blocks, sizeof *s), whole = {0, 0, 0};
    for (size_t run = 0; run < k.runs; run++)
        add_run(ref + run * k.inner, x + run * k.inner, k.inner, &s[block_of(&k, shape, run)]);
    for (size_t i = 0; i < k.blocks; i++) {
        whole.error += s[i].error;
        whole.reference += s[i].reference;
        whole.n += s[i].n;
    }
    *out = (struct check_ratios){.whole = ratio_of(&whole, 0),
                                 .finite = isfinite(whole.error),
                                 .reference_finite = isfinite(whole.reference)};
    double least = whole.n ? sqrt(whole.reference / (double)whole.n) / 100 : 0;
    for (size_t i = 0; i < k.blocks; i++) {
        double r = ratio_of(&s[i], least);
        if (r > out->block) {
            out->block = r;
            out->worst_block = i;
        }
    }
    free(s);
}

double check_limit(const struct ev_buffer *b, double baseline)
{
    double limit = 1.5 * baseline;
    if (!(limit > b->soft))
        limit = b->soft;
    return limit < b->hard ? limit : b->hard;
}

/* The element to show: anywhere, or in one block. */
static void find_worst(const struct ev_buffer *b, const struct extent *shape, const double *ref,
                       const float *x, bool any, size_t block, struct check_result *out)
{
    struct blocking k;
    double worst = -1;
    block_up(b, shape, &k);
    for (size_t run = 0; run < k.runs; run++) {
        if (!any && block_of(&k, shape, run) != block)
            continue;
        for (size_t i = run * k.inner; i < (run + 1) * k.inner; i++) {
            double d = fabs(ref[i] - (double)x[i]);
            if (isfinite(d) && d <= worst)
                continue;
            worst = d;
            out->index = i;
            out->got = (double)x[i];
            out->want = ref[i];
            if (!isfinite(d))
                return;
        }
    }
}

void check_judge(const struct ev_buffer *b, const struct extent *shape, const double *ref,
                 const float *x, const struct check_ratios *baseline,
                 const struct check_ratios *off, struct check_result *out)
{
    struct check_ratios r;
    check_ratios(b, shape, ref, x, &r);
    double whole = check_limit(b, baseline->whole) + (off ? off->whole : 0),
           block = check_limit(b, baseline->block) + (off ? off->block : 0);
    bool by_block = r.block / block > r.whole / whole;
    *out = (struct check_result){.error = by_block ? r.block : r.whole,
                                 .limit = by_block ? block : whole,
                                 .baseline = by_block ? baseline->block : baseline->whole};
    out->ok = r.finite && out->error <= out->limit;
    out->wrong = !r.finite || !(out->error <= 10 * b->hard);
    if (!out->ok)
        find_worst(b, shape, ref, x, !r.finite || !by_block, r.worst_block, out);
}

void check_index_text(const struct extent *shape, size_t index, char *out, size_t size)
{
    size_t at[EXTENT_RANK] = {0}, used = 0;
    for (int i = shape->rank - 1; i >= 0; i--) {
        at[i] = index % shape->n[i];
        index /= shape->n[i];
    }
    for (int i = 0; i < shape->rank && used + 24 < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%c%zu", i ? ',' : '[', at[i]);
    snprintf(out + used, size - used, used ? "]" : "[]");
}
