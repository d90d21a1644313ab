#include "gpu/c/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "gpu/c/evaluate.h"

#define BLOCKS      2                 /* of each shape in a set, */
#define ROUNDS      2                 /* each so often through all versions, */
#define LONG_NS     15000000          /* unless a call takes longer than this: then one of one */
#define BRIEF_SETS  (BLOCKS * ROUNDS) /* times as many of these are allowed */
#define EMPTY_CALLS (3 * BLOCKS * ROUNDS) /* before, amid and after each round */
#define TRIES       6  /* of a disturbed sample, with longer and longer pauses, */
#define PATIENCE    30 /* but of all samples together no more than this and twice as many */
#define SAMPLES_MAX (2 * BLOCKS * ROUNDS)
#define FUTILE_FROM 3        /* sets before a hopeless candidate is given up */
#define CHEAP_NS    10000000 /* a reference this fast checks every block */

/* A window may exceed the CPU time by this (timer interrupts and stolen time are not the child's):
 * 2 % and 300 us; measured on an undisturbed core: 25 us, and 0.5 % of a long call. */
#define GAP_SHARE 0.02
#define GAP_NS    300000.0

#define SCREEN_RATIO 1.05

/* The resolution: a share of the empty call, or its spread this many times. */
#define RESOLUTION_SHARE  0.1
#define RESOLUTION_SPREAD 3

/* What is run, in which order. */
struct plan {
    enum version order[6];
    size_t n;
    bool check; /* outputs are compared */
};

struct stage {
    struct evaluation *ev;
    struct plan plan;
    struct executor x[V_COUNT];
    bool on[V_COUNT];
    struct arena inputs, outputs, wide;
    double sample[TIMING_VERSIONS][SAMPLES_MAX];
    size_t nsamples[TIMING_VERSIONS];
    double empty[EMPTY_CALLS];
    size_t nempty;
    double least_ns;            /* the shortest empty call of all sets */
    float *kept[2][EV_BUFFERS]; /* the subject's outputs of both calls of a round */
    double *base[EV_BUFFERS];   /* the baseline's */
    int64_t reference_ns;       /* what a reference call took; 0: not known */
};

void timing_free(struct timing *t)
{
    free(t->shape);
    t->shape = NULL;
}

double timing_low_mean(const double *x, size_t n)
{
    size_t half = (n + 1) / 2;
    double sum = 0, top = stats_quantile(x, n, n > 1 ? (double)(half - 1) / (double)(n - 1) : 0);
    size_t below = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] < top && below < half) {
            sum += x[i];
            below++;
        }
    /* The rest of the half equals its largest. */
    return n ? (sum + (double)(half - below) * top) / (double)half : (double)NAN;
}

/* ---------------------------------------------------------------- what is told from nothing */

double timing_empty(const struct timing *t, size_t shape)
{
    return t->sets ? stats_median(t->shape[shape].empty, t->sets) : 0;
}

static double resolution(double empty, double spread)
{
    return fmax(1, fmax(RESOLUTION_SHARE * empty, RESOLUTION_SPREAD * spread));
}

double timing_resolution(const struct timing *t, size_t shape)
{
    return resolution(timing_empty(t, shape),
                      t->sets ? stats_median(t->shape[shape].spread, t->sets) : 0);
}

double timing_ns(const struct timing *t, size_t shape, int version, size_t set)
{
    return fmax(t->shape[shape].by_version[version].ns[set], timing_resolution(t, shape));
}

bool timing_below(const struct timing *t, size_t shape, int version)
{
    return t->sets && stats_median(t->shape[shape].by_version[version].ns, t->sets) <
                          timing_resolution(t, shape);
}

/* ---------------------------------------------------------------- the decision */

/* Mean over the shapes of log(time of b / time of a) in one set. */
static double log_ratio(const struct timing *t, size_t set, int a, int b)
{
    double sum = 0;
    for (size_t i = 0; i < t->nshapes; i++)
        sum += log(timing_ns(t, i, b, set) / timing_ns(t, i, a, set));
    return t->nshapes ? sum / (double)t->nshapes : 0;
}

static bool loses_on_a_shape(const struct timing *t, double max_loss)
{
    for (size_t i = 0; i < t->nshapes; i++) {
        double sum = 0;
        for (size_t s = 0; s < t->sets; s++)
            sum += log(timing_ns(t, i, V_INCUMBENT, s) / timing_ns(t, i, V_CANDIDATE, s));
        if (sum / (double)t->sets < log1p(-max_loss))
            return true;
    }
    return false;
}

/* Whether even a true gain at the optimistic end of what was seen (95 %, one-sided) could not be
 * proven with all the sets that are allowed. Stopping a hopeless try early makes no false record.
 */
static bool hopeless(const double *x, size_t n, size_t max, double level, double needed)
{
    if (n < FUTILE_FROM || n >= max)
        return false;
    double sd = stats_sd(x, n),
           best = stats_mean(x, n) + stats_t_quantile(0.95, (double)(n - 1)) * sd / sqrt((double)n);
    return best - stats_t_quantile(level, (double)(max - 1)) * sd / sqrt((double)max) < needed;
}

static size_t sets_limit(const struct timing *t, const struct ev_request *r)
{
    size_t max = (size_t)r->sets_max * (t->brief ? BRIEF_SETS : 1);
    return max < TIMING_SETS_MAX ? max : TIMING_SETS_MAX;
}

bool timing_decide(struct timing *t, const struct ev_request *r, bool has_incumbent)
{
    double speedup[TIMING_SETS_MAX], gain[TIMING_SETS_MAX], *versus;
    size_t n = t->sets, min = (size_t)r->sets_min, max = sets_limit(t, r);
    for (size_t s = 0; s < n; s++) {
        speedup[s] = log_ratio(t, s, V_CANDIDATE, V_BASELINE);
        gain[s] = has_incumbent ? log_ratio(t, s, V_CANDIDATE, V_INCUMBENT) : speedup[s];
    }
    versus = gain;
    t->has_gain = has_incumbent;
    t->speedup = stats_mean_interval(speedup, n, 0.95);
    t->gain = stats_mean_interval(versus, n, 0.95);
    t->record_level = stats_look_level(stats_looks(min, max));
    double lower = stats_lower_bound(versus, n, t->record_level), needed = log1p(r->margin);
    t->record_lower = exp(lower);
    t->shape_loss = has_incumbent && loses_on_a_shape(t, r->max_shape_loss);
    bool shared = t->disturbed * 5 > t->samples;
    bool proven = stats_is_look(n, min, max) && lower > needed;
    t->record = proven && !t->shape_loss && !shared;
    t->decided = proven || n >= max || t->gain.hi < needed ||
                 hopeless(versus, n, max, t->record_level, needed);
    if (n < FUTILE_FROM && n < max)
        t->decided = false;
    return t->decided;
}

/* ---------------------------------------------------------------- samples */

/* Window and CPU time must agree: 0 yes, 1 something else had the core, -1 impossible. */
static int agreement(const struct call *c)
{
    double window = (double)c->window_ns, cpu = (double)c->cpu_ns,
           room = GAP_SHARE * window + GAP_NS;
    if (c->cpu_ns < 0)
        return 0;
    if (cpu > window + room)
        return -1;
    return window > cpu + room;
}

/* One window, of a call or an empty call, taken again while something else had the core. */
static bool take_window(struct stage *g, const struct call_site *at, bool empty, double *window)
{
    struct evaluation *ev = g->ev;
    struct timing *t = &ev->timing;
    for (int attempt = 1;; attempt++) {
        struct call c = {.empty = empty};
        if (!evaluation_call(ev, &g->x[at->version], at, &g->outputs, &c))
            return false;
        *window = (double)c.window_ns;
        int agrees = agreement(&c);
        if (agrees < 0 && !empty && at->version == evaluation_subject(ev))
            return verdict_set(ev, VERDICT_IMPLAUSIBLE, at,
                               "its process used %.3f ms of CPU time in a window of %.3f ms",
                               (double)c.cpu_ns / 1e6, (double)c.window_ns / 1e6);
        if (agrees == 0)
            return true;
        if (attempt == TRIES || t->retried > PATIENCE + 2 * t->samples) {
            double gap = (double)(c.window_ns - c.cpu_ns);
            t->disturbed += !empty;
            t->disturbed_gap_ns = gap > t->disturbed_gap_ns ? gap : t->disturbed_gap_ns;
            return true;
        }
        t->retried++;
        clock_sleep_ns((int64_t)1000000 << attempt);
    }
}

static bool take_sample(struct stage *g, const struct call_site *at)
{
    g->ev->timing.samples++;
    return take_window(g, at, false, &g->sample[at->version][g->nsamples[at->version]++]);
}

/* An empty call in the template of version v. */
static bool take_empty(struct stage *g, enum version v, const struct call_site *site)
{
    struct call_site at = *site;
    double *ns = &g->empty[g->nempty++];
    at.version = v;
    if (!take_window(g, &at, true, ns))
        return false;
    g->least_ns = fmin(g->least_ns, *ns);
    return true;
}

static double empty_ns(const struct stage *g)
{
    return timing_low_mean(g->empty, g->nempty);
}

/* Of the faster half, which is what empty_ns is made of. */
static double empty_spread(const struct stage *g)
{
    return stats_median(g->empty, g->nempty) - stats_quantile(g->empty, g->nempty, 0);
}

/* A version's time on the shape of now. */
static double net_ns(const struct stage *g, enum version v)
{
    return timing_low_mean(g->sample[v], g->nsamples[v]) - empty_ns(g);
}

/* ---------------------------------------------------------------- outputs of the timed launches */

static void keep_outputs(struct stage *g, enum version v, size_t which)
{
    const struct ev_request *r = g->ev->r;
    for (size_t i = 0; i < r->nbuffers; i++) {
        if (r->buffer[i].kind != EV_OUTPUT)
            continue;
        const float *from = arena_data(&g->outputs, i);
        size_t n = g->outputs.slot[i].bytes / sizeof *from;
        if (v == evaluation_subject(g->ev))
            memcpy(g->kept[which][i], from, n * sizeof *from);
        if (v == V_BASELINE && which == 0)
            for (size_t k = 0; k < n; k++)
                g->base[i][k] = (double)from[k];
    }
}

static void free_outputs(struct stage *g)
{
    for (size_t i = 0; i < EV_BUFFERS; i++) {
        free(g->kept[0][i]);
        free(g->kept[1][i]);
        free(g->base[i]);
        g->kept[0][i] = g->kept[1][i] = NULL;
        g->base[i] = NULL;
    }
}

static void room_for_outputs(struct stage *g, const struct ev_shape *s)
{
    const struct ev_request *r = g->ev->r;
    free_outputs(g);
    for (size_t i = 0; i < r->nbuffers; i++) {
        if (r->buffer[i].kind != EV_OUTPUT)
            continue;
        g->kept[0][i] = xcalloc(s->count[i], sizeof(float));
        g->kept[1][i] = xcalloc(s->count[i], sizeof(float));
        g->base[i] = xcalloc(s->count[i], sizeof(double));
    }
}

/* Both calls of the subject in this round against the baseline's call. */
static bool compare_with_baseline(struct stage *g, const struct call_site *at)
{
    struct evaluation *ev = g->ev;
    size_t shape = (size_t)(at->shape - ev->r->shape);
    for (size_t i = 0; i < ev->r->nbuffers; i++) {
        if (ev->r->buffer[i].kind != EV_OUTPUT)
            continue;
        const struct check_ratios *known = &ev->baseline_off[shape][i];
        double hard = ev->r->buffer[i].hard;
        /* Until float64 was asked, the baseline may be off by the hard limit. */
        struct check_ratios off = {.whole = known->finite ? known->whole : hard,
                                   .block = known->finite ? known->block : hard};
        for (size_t which = 0; which < 2; which++)
            if (!evaluation_judge(ev, at, i, g->base[i], g->kept[which][i], &off, &off))
                return false;
    }
    return true;
}

static bool need_reference(struct stage *g, const struct ev_shape *s)
{
    if (g->on[V_REFERENCE])
        return true;
    if (!evaluation_start(g->ev, V_REFERENCE, &g->x[V_REFERENCE]))
        return false;
    g->on[V_REFERENCE] = true;
    return evaluation_arena(g->ev, s, ARENA_OUTPUTS, true, &g->wide) &&
           evaluation_map(g->ev, &g->x[V_REFERENCE], s, &g->inputs, &g->wide);
}

/* The same launches against float64, on the inputs that are still there. */
static bool compare_with_reference(struct stage *g, const struct call_site *site)
{
    struct evaluation *ev = g->ev;
    struct call_site at = *site;
    struct call c = {.empty = false};
    size_t shape = (size_t)(at.shape - ev->r->shape);
    at.version = V_REFERENCE;
    if (!need_reference(g, at.shape) || !evaluation_call(ev, &g->x[V_REFERENCE], &at, &g->wide, &c))
        return false;
    g->reference_ns = c.window_ns;
    for (size_t i = 0; i < ev->r->nbuffers; i++) {
        const struct ev_buffer *b = &ev->r->buffer[i];
        if (b->kind != EV_OUTPUT)
            continue;
        const double *ref = arena_data(&g->wide, i);
        float *base = xcalloc(at.shape->count[i], sizeof *base);
        for (size_t k = 0; k < at.shape->count[i]; k++)
            base[k] = (float)g->base[i][k];
        struct check_ratios ratios, *off = &ev->baseline_off[shape][i];
        check_ratios(b, &at.shape->extent[i], ref, base, &ratios);
        free(base);
        off->whole = ratios.whole > off->whole ? ratios.whole : off->whole;
        off->block = ratios.block > off->block ? ratios.block : off->block;
        off->finite = true;
        for (size_t which = 0; which < 2; which++)
            if (!evaluation_judge(ev, site, i, ref, g->kept[which][i], &ratios, NULL))
                return false;
    }
    return true;
}

/* Chosen after the launches: always where it is cheap and at the end of a shape's first set, else
 * one block in eight; of the block, its last round. */
static bool chosen(struct stage *g, size_t set, bool last)
{
    if (set == 0)
        return last;
    return g->reference_ns < CHEAP_NS ? last : evaluation_seed(g->ev) % 8 == 0;
}

/* ---------------------------------------------------------------- block, shape, set */

/* Every version twice; `inside_out`: the second half of the order first. */
static bool run_round(struct stage *g, const struct ev_family *f, const struct ev_shape *s,
                      bool inside_out)
{
    size_t seen[V_COUNT] = {0}, n = g->plan.n;
    struct call_site at = {.version = evaluation_subject(g->ev), .family = f, .shape = s};
    for (size_t k = 0; k < n; k++) {
        enum version v = g->plan.order[inside_out ? (k + n / 2) % n : k];
        at.version = v;
        if ((k == 0 || k == n / 2) && !take_empty(g, v, &at))
            return false;
        if (!take_sample(g, &at))
            return false;
        if (g->plan.check)
            keep_outputs(g, v, seen[v]);
        seen[v]++;
    }
    at.version = evaluation_subject(g->ev);
    return take_empty(g, g->plan.order[n / 2], &at) &&
           (!g->plan.check || compare_with_baseline(g, &at));
}

/* New inputs, and the rounds with them. The stage's first round shows whether calls are long. */
static bool run_block(struct stage *g, const struct ev_family *f, const struct ev_shape *s,
                      size_t number)
{
    struct timing *t = &g->ev->timing;
    evaluation_fill(g->ev, f, s, &g->inputs);
    for (size_t i = 0; i < ROUNDS; i++) {
        int64_t begin = clock_mono_ns();
        bool first = t->samples == 0;
        if (!run_round(g, f, s, (number + i) % 2 != 0))
            return false;
        if (first)
            t->brief = clock_mono_ns() - begin > LONG_NS * (int64_t)g->plan.n;
        if (t->brief)
            break;
    }
    return true;
}

/* Clearly slower than the incumbent on the first shape of the first set: the rest would be a waste
 * of time. The first version of all has no one to be screened by: it is measured to the end. */
static bool screened(struct stage *g)
{
    const double *a = g->sample[V_CANDIDATE], *b = g->sample[V_INCUMBENT];
    size_t na = g->nsamples[V_CANDIDATE], nb = g->nsamples[V_INCUMBENT];
    if (g->ev->r->mode != EV_MODE_FULL || !g->on[V_INCUMBENT] || !g->plan.check || na < 2 || nb < 2)
        return false;
    double ta = net_ns(g, V_CANDIDATE), tb = net_ns(g, V_INCUMBENT);
    /* Of a call much shorter than an empty one, four samples say little. */
    if (ta - tb < empty_ns(g) / 2)
        return false;
    return ta > SCREEN_RATIO * fmax(tb, 1) &&
           stats_quantile(a, na, 0.25) > stats_quantile(b, nb, 0.75);
}

/* Above the peak of the core: whatever was measured, it was not this work. */
static bool plausible(struct stage *g, const struct call_site *at)
{
    struct evaluation *ev = g->ev;
    enum version v = evaluation_subject(ev);
    /* At its longest: neither slow empty calls nor what cannot be resolved may make a short call
     * look impossible. */
    double ns = fmax(timing_low_mean(g->sample[v], g->nsamples[v]) - g->least_ns, 0) +
                resolution(empty_ns(g), empty_spread(g)),
           gflops = at->shape->flop / ns;
    if (ev->machine->peak_gflops <= 0 || gflops <= 1.1 * ev->machine->peak_gflops)
        return true;
    return verdict_set(ev, VERDICT_IMPLAUSIBLE, at,
                       "%.0f GFLOP/s on shape %s; the core's measured peak is %.0f", gflops,
                       at->shape->name, ev->machine->peak_gflops);
}

static void store(struct stage *g, size_t index)
{
    struct timing *t = &g->ev->timing;
    struct timing_shape *x = &t->shape[index];
    for (int v = 0; v < TIMING_VERSIONS; v++)
        x->by_version[v].ns[t->sets] = g->nsamples[v] ? net_ns(g, (enum version)v) : 1;
    x->empty[t->sets] = empty_ns(g);
    x->spread[t->sets] = empty_spread(g);
}

/* Map the shape in every template. */
static bool open_shape(struct stage *g, const struct ev_shape *s)
{
    struct evaluation *ev = g->ev;
    arena_free(&g->inputs);
    arena_free(&g->outputs);
    arena_free(&g->wide);
    if (g->on[V_REFERENCE])
        executor_stop(&g->x[V_REFERENCE]);
    g->on[V_REFERENCE] = false;
    if (!evaluation_arena(ev, s, ARENA_INPUTS, false, &g->inputs) ||
        !evaluation_arena(ev, s, ARENA_OUTPUTS, false, &g->outputs))
        return false;
    g->nempty = 0;
    for (int v = 0; v < TIMING_VERSIONS; v++) {
        g->nsamples[v] = 0;
        if (g->on[v] && !evaluation_map(ev, &g->x[v], s, &g->inputs, &g->outputs))
            return false;
    }
    if (g->plan.check)
        room_for_outputs(g, s);
    return true;
}

static bool run_shape(struct stage *g, size_t index)
{
    struct evaluation *ev = g->ev;
    struct timing *t = &ev->timing;
    const struct ev_shape *s = &ev->r->shape[t->shape[index].shape];
    const struct ev_family *f = &ev->r->family[s->family];
    struct call_site at = {.version = evaluation_subject(ev), .family = f, .shape = s};
    if (!open_shape(g, s))
        return false;
    for (size_t b = 0; b < BLOCKS; b++) {
        if (!run_block(g, f, s, t->sets + b))
            return false;
        bool last = b + 1 == BLOCKS || t->brief;
        if (last && t->sets == 0 && index == 0 && screened(g)) {
            store(g, index);
            t->nshapes = 1;
            t->sets = 1;
            timing_decide(t, ev->r, true);
            return verdict_set(ev, VERDICT_SCREENED, &at,
                               "clearly slower than the incumbent on %s (%.2fx): timing cut "
                               "short",
                               s->name, exp(t->gain.mean));
        }
        if (g->plan.check && chosen(g, t->sets, last) && !compare_with_reference(g, &at))
            return false;
        if (last)
            break;
    }
    if (!plausible(g, &at))
        return false;
    store(g, index);
    return true;
}

static void close_set(struct stage *g)
{
    for (int v = 0; v < V_COUNT; v++) {
        if (g->on[v])
            executor_stop(&g->x[v]);
        g->on[v] = false;
    }
    arena_free(&g->inputs);
    arena_free(&g->outputs);
    arena_free(&g->wide);
}

static void waiting(void *ctx)
{
    evaluation_progress(ctx, "wait", 0, 1, "waiting for the measuring core");
}

static bool run_set(struct stage *g)
{
    struct evaluation *ev = g->ev;
    struct timing *t = &ev->timing;
    struct device_lock lock;
    struct error e;
    if (!device_lock_take(ev->machine, ev->wire, waiting, ev, &lock, &e))
        return verdict_infra(ev, &e, "");
    bool ok = true;
    for (size_t k = 0; ok && k < g->plan.n; k++) {
        enum version v = g->plan.order[k];
        if (g->on[v])
            continue;
        ok = evaluation_start(ev, v, &g->x[v]);
        g->on[v] = ok;
    }
    size_t shapes = t->nshapes;
    for (size_t i = 0; ok && i < shapes; i++)
        ok = run_shape(g, i);
    t->sets += ok;
    close_set(g);
    device_lock_release(&lock);
    return ok;
}

/* ---------------------------------------------------------------- the stage */

static void take_shapes(struct evaluation *ev)
{
    struct timing *t = &ev->timing;
    *t = (struct timing){.shape = xcalloc(ev->r->nshapes, sizeof *t->shape)};
    for (size_t i = 0; i < ev->r->nshapes; i++)
        if (ev->r->shape[i].role == EV_SCORED)
            t->shape[t->nshapes++].shape = (int)i;
}

static bool run_sets(struct evaluation *ev, const struct plan *plan)
{
    struct stage g = {.ev = ev, .plan = *plan, .least_ns = (double)INFINITY};
    struct timing *t = &ev->timing;
    bool has_incumbent = false;
    g.inputs.fd = g.outputs.fd = g.wide.fd = -1;
    for (size_t k = 0; k < plan->n; k++)
        has_incumbent = has_incumbent || plan->order[k] == V_INCUMBENT;
    bool ok = true, decided = false;
    while (ok && !decided && t->sets < sets_limit(t, ev->r)) {
        ok = run_set(&g);
        if (!ok)
            break;
        if (ev->r->mode == EV_MODE_BASELINE) {
            decided = t->sets >= (size_t)ev->r->sets_min * (t->brief ? 2 : 1);
        } else {
            decided = timing_decide(t, ev->r, has_incumbent);
        }
        if (plan->check) {
            char text[100];
            snprintf(text, sizeof text,
                     has_incumbent ? "%.3fx the incumbent" : "%.3fx the baseline",
                     exp(has_incumbent ? t->gain.mean : t->speedup.mean));
            evaluation_progress(ev, "time", t->sets, sets_limit(t, ev->r),
                                ev->r->mode == EV_MODE_BASELINE ? "the baseline" : text);
        }
    }
    free_outputs(&g);
    return ok;
}

bool timing_run(struct evaluation *ev)
{
    static const struct plan three = {
        {V_CANDIDATE, V_INCUMBENT, V_BASELINE, V_BASELINE, V_INCUMBENT, V_CANDIDATE}, 6, true};
    static const struct plan two = {{V_CANDIDATE, V_BASELINE, V_BASELINE, V_CANDIDATE}, 4, true};
    static const struct plan one = {{V_BASELINE, V_BASELINE}, 2, true};
    take_shapes(ev);
    if (ev->timing.nshapes == 0)
        return true;
    evaluation_progress(ev, "time", 0, (size_t)ev->r->sets_max, "timing");
    if (ev->r->mode == EV_MODE_BASELINE)
        return run_sets(ev, &one);
    return run_sets(ev, ev->object[V_INCUMBENT] >= 0 ? &three : &two);
}

long timing_null(struct evaluation *ev, long tries, bool verbose)
{
    static const struct plan same = {
        {V_CANDIDATE, V_INCUMBENT, V_INCUMBENT, V_CANDIDATE}, 4, false};
    long records = 0;
    if (ev->object[V_INCUMBENT] >= 0)
        close(ev->object[V_INCUMBENT]);
    ev->object[V_INCUMBENT] = dup(ev->object[V_CANDIDATE]);
    for (long i = 0; i < tries; i++) {
        int64_t begin = clock_mono_ns();
        timing_free(&ev->timing);
        take_shapes(ev);
        ev->deadline_ns = begin + ev->r->timeout_ns;
        if (!run_sets(ev, &same))
            return -1;
        const struct timing *t = &ev->timing;
        records += t->record;
        if (verbose)
            printf("%ld\t%zu sets\tgain %.4f [%.4f, %.4f]\tlower %.4f\t%s\t%.2f s\n", i + 1,
                   t->sets, exp(t->gain.mean), exp(t->gain.lo), exp(t->gain.hi), t->record_lower,
                   t->record ? "RECORD" : "-", (double)(clock_mono_ns() - begin) / 1e9);
        fflush(stdout);
    }
    return records;
}
