/* What all measurements together say: a Gaussian process over configurations, with an effect for
 * each move, an interaction for each pair of moves and a smooth effect of each tunable (Rasmussen &
 * Williams, Gaussian Processes for Machine Learning, algorithm 2.1). It comes last, when no change
 * of one or two things is left, and proposes combinations that lie further off. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/loop/tuner_private.h"

#define MOVE_SD     0.20  /* how far a move's effect may lie from the task's prediction, log */
#define PAIR_SD     0.12  /* how much two moves may help or hinder each other */
#define TUNE_SD     0.06  /* and how much a tunable matters */
#define NOISE_SD    0.004 /* of one measurement */
#define OBSERVED    200   /* the newest measurements that are used */
#define SURE        2.0   /* standard deviations that a hope may add */
#define SUSPECT     0.7   /* what certain failure counts as */
#define TRIES_MAX   24    /* of this kind in one run */
#define CHEAP_MOVES 16

struct model {
    const struct tuner *u;
    size_t n, *used;
    double *l, *alpha; /* lower triangle; weights */
    double *k, *v;     /* scratch of one prediction */
};

static bool on(uint64_t moves, size_t i)
{
    return moves >> i & 1;
}

static double tunable_likeness(const struct task *t, size_t i, int64_t a, int64_t b)
{
    const struct tunable *v = &t->tunables[i];
    double at = 0, bt = 0;
    for (size_t k = 0; k < v->nvalues; k++) {
        if (v->values[k] == a)
            at = (double)k;
        if (v->values[k] == b)
            bt = (double)k;
    }
    return exp(-(at - bt) * (at - bt) / 4.5);
}

static double likeness(const struct tuner *u, const struct config *a, const struct config *b)
{
    double common = __builtin_popcountll(a->moves & b->moves);
    double k = MOVE_SD * MOVE_SD * common + PAIR_SD * PAIR_SD * common * (common - 1) / 2;
    for (size_t i = 0; i < u->t->ntunables; i++)
        if (config_applies(u->t, a, i) && config_applies(u->t, b, i))
            k += TUNE_SD * TUNE_SD * tunable_likeness(u->t, i, a->values[i], b->values[i]);
    return k;
}

static double prior(const struct task *t, uint64_t moves)
{
    double sum = 0;
    for (size_t i = 0; i < t->nmoves; i++)
        if (on(moves, i))
            sum += log(t->moves[i].gain);
    return sum;
}

/* L L' = K + noise, in place. */
static bool factor(struct model *m)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = m->l[i * m->n + j];
            for (size_t k = 0; k < j; k++)
                sum -= m->l[i * m->n + k] * m->l[j * m->n + k];
            if (i == j && !(sum > 0))
                return false;
            m->l[i * m->n + j] = i == j ? sqrt(sum) : sum / m->l[j * m->n + j];
        }
    return true;
}

static void solve_lower(const struct model *m, double *x)
{
    for (size_t i = 0; i < m->n; i++) {
        for (size_t k = 0; k < i; k++)
            x[i] -= m->l[i * m->n + k] * x[k];
        x[i] /= m->l[i * m->n + i];
    }
}

static void solve_upper(const struct model *m, double *x)
{
    for (size_t i = m->n; i-- > 0;) {
        for (size_t k = i + 1; k < m->n; k++)
            x[i] -= m->l[k * m->n + i] * x[k];
        x[i] /= m->l[i * m->n + i];
    }
}

static void model_free(struct model *m)
{
    free(m->used);
    free(m->l);
    free(m->alpha);
    free(m->k);
    free(m->v);
}

static bool model_fit(struct model *m, const struct tuner *u)
{
    *m = (struct model){.u = u, .used = xcalloc(OBSERVED, sizeof *m->used)};
    for (size_t i = u->n; i-- > 0 && m->n < OBSERVED;)
        if (!u->o[i].failed && !isnan(u->o[i].value))
            m->used[m->n++] = i;
    m->l = xcalloc(m->n * m->n + 1, sizeof *m->l);
    m->alpha = xcalloc(m->n + 1, sizeof *m->alpha);
    m->k = xcalloc(m->n + 1, sizeof *m->k);
    m->v = xcalloc(m->n + 1, sizeof *m->v);
    for (size_t i = 0; i < m->n; i++) {
        const struct observation *a = &u->o[m->used[i]];
        for (size_t j = 0; j <= i; j++)
            m->l[i * m->n + j] = likeness(u, &a->c, &u->o[m->used[j]].c);
        m->l[i * m->n + i] += NOISE_SD * NOISE_SD;
        m->alpha[i] = a->value - prior(u->t, a->c.moves);
    }
    if (!factor(m))
        return false;
    solve_lower(m, m->alpha);
    solve_upper(m, m->alpha);
    return true;
}

static void predict(struct model *m, const struct config *c, double *mean, double *sd)
{
    *mean = prior(m->u->t, c->moves);
    for (size_t i = 0; i < m->n; i++) {
        m->k[i] = likeness(m->u, c, &m->u->o[m->used[i]].c);
        *mean += m->k[i] * m->alpha[i];
    }
    memcpy(m->v, m->k, m->n * sizeof *m->v);
    solve_lower(m, m->v);
    double var = likeness(m->u, c, c);
    for (size_t i = 0; i < m->n; i++)
        var -= m->v[i] * m->v[i];
    *sd = sqrt(fmax(var, 0));
}

/* Whether two moves were on together in a try that was right. */
static bool together(const struct tuner *u, uint64_t pair)
{
    for (size_t i = 0; i < u->n; i++)
        if (!u->o[i].failed && !u->o[i].open && (u->o[i].c.moves & pair) == pair)
            return true;
    return false;
}

/* How likely it is that some failure comes back: the share of its pairs of moves, none of which was
 * ever right, that this set has too. */
static double suspicion(const struct tuner *u, uint64_t moves)
{
    double worst = 0;
    for (size_t f = 0; f < u->n; f++) {
        double all = 0, here = 0;
        for (size_t i = 0; u->o[f].failed && i < u->t->nmoves; i++)
            for (size_t k = 0; k <= i; k++) {
                uint64_t pair = (uint64_t)1 << i | (uint64_t)1 << k;
                if ((u->o[f].c.moves & pair) != pair || together(u, pair))
                    continue;
                all++;
                here += (moves & pair) == pair;
            }
        if (all > 0 && here / all > worst)
            worst = here / all;
    }
    return worst;
}

/* Every set of moves within `left` toggles of this one. */
static void explore(struct model *m, uint64_t moves, size_t first, int left, double goal,
                    struct candidate *best)
{
    const struct tuner *u = m->u;
    struct candidate k = {
        .c = u->base.c, .from = &u->base, .change = CHANGE_MODEL, .phase = PHASE_MODEL};
    k.c.moves = moves;
    config_normalise(u->t, &k.c);
    if (config_valid(u->t, &k.c) && !tuner_tried(u, &k.c)) {
        double mean, sd;
        predict(m, &k.c, &mean, &sd);
        if (mean + SURE * sd > goal) /* else not worth the look at failures */
            mean -= SUSPECT * suspicion(u, moves);
        k.over_best = mean + SURE * sd;
        k.gain = mean - u->base.value;
        k.spread = sd;
        if (k.over_best > goal && k.over_best > best->over_best + 1e-9)
            *best = k;
    }
    for (size_t i = first; left > 0 && i < u->t->nmoves; i++)
        explore(m, moves ^ (uint64_t)1 << i, i + 1, left - 1, goal, best);
}

struct candidate tuner_combination(const struct tuner *u)
{
    struct candidate best = {.phase = PHASE_NONE, .over_best = -HUGE_VAL};
    for (size_t i = 0; i < u->s->nstrategies; i++)
        if (strcmp(u->s->strategies[i].name, COMBINATION) == 0 &&
            u->s->strategies[i].tries >= TRIES_MAX)
            return best;
    if (isnan(u->best) || isnan(u->base.value))
        return best;
    struct model m;
    int depth = u->t->nmoves <= CHEAP_MOVES ? 4 : 2;
    if (model_fit(&m, u))
        explore(&m, u->base.c.moves, 0, depth, u->best + log1p(u->t->margin), &best);
    model_free(&m);
    best.over_best = best.gain + u->base.value - u->best;
    return best;
}
