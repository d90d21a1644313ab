/* What to try next: candidates around a configuration, ranked by what was measured and, where
 * nothing was, by what the task predicts. All gains are logarithms, so that effects add up. */
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/loop/tuner_private.h"

#define PRIOR_WEIGHT  0.25    /* of the task's prediction against one measurement on this base */
#define FADE          0.5     /* weight of a measurement for each move in which its base differs */
#define FADE_FAILURE  0.2     /* what fails with some moves often works with others */
#define CLEAR_LOSS    (-0.02) /* measured on the same moves: not tried again with other tunables */
#define FAILURE       (-0.7)  /* what a failed try counts as */
#define WORTH         0.005   /* predicted gain from which a single move comes before tunables */
#define NEIGHBOUR     0.01    /* hoped of a neighbouring value */
#define HOPELESS_DROP (-0.25) /* a move that gained this much stays on */
#define HOPELESS      (-0.5)  /* measured or predicted so bad: not tried again */
#define SECOND_MARGIN (-0.10) /* the second best is given up when it is further behind */
#define PAIRS_MAX     12      /* pairs tried around one configuration */

static int bits(uint64_t x)
{
    return __builtin_popcountll(x);
}

static bool on(uint64_t moves, size_t i)
{
    return moves >> i & 1;
}

static uint64_t bit(size_t i)
{
    return (uint64_t)1 << i;
}

static bool same_config(const struct tuner *u, const struct config *a, const struct config *b)
{
    return a->moves == b->moves &&
           memcmp(a->values, b->values, u->t->ntunables * sizeof *a->values) == 0;
}

bool tuner_tried(const struct tuner *u, const struct config *c)
{
    for (size_t i = 0; i < u->n; i++)
        if (same_config(u, &u->o[i].c, c))
            return true;
    return false;
}

/* ---------------------------------------------------------------- evidence */

/* Tunables that matter to both are equal. */
static bool comparable(const struct tuner *u, const struct config *a, const struct config *b)
{
    for (size_t i = 0; i < u->t->ntunables; i++)
        if (a->values[i] != b->values[i] && config_applies(u->t, a, i) &&
            config_applies(u->t, b, i))
            return false;
    return true;
}

/* How b does against a; false when it is not known. */
static bool difference(const struct observation *a, const struct observation *b, double *out)
{
    if (a->failed || isnan(a->value))
        return false;
    *out = FAILURE;
    if (b->failed)
        return true;
    if (b->against == a->version && !isnan(b->gain))
        *out = b->gain; /* measured side by side */
    else if (!isnan(b->value))
        *out = b->value - a->value;
    else
        return false;
    return true;
}

struct tally {
    double sum, weight;
    struct effect_evidence found;
};

static void count(struct tally *y, const struct tuner *u, const struct pair *p, int distance)
{
    const struct observation *a = &u->o[p->a], *b = &u->o[p->b];
    double w = pow(b->failed ? FADE_FAILURE : FADE, distance);
    y->sum += w * p->gain;
    y->weight += w;
    y->found.n++;
    /* of equally near ones the latest counts: it saw the best tunables */
    if (y->found.distance < 0 || distance <= y->found.distance) {
        y->found.distance = distance;
        y->found.nearest = p->gain;
        y->found.version = b->version;
        y->found.on = a->version;
        y->found.failed = b->failed;
    }
}

static struct effect_evidence settle(const struct tally *y, double prior, double prior_weight)
{
    struct effect_evidence e = y->found;
    e.gain = (y->sum + prior_weight * prior) / (y->weight + prior_weight);
    return e;
}

static struct tally tally_new(void)
{
    return (struct tally){.found = {.nearest = (double)NAN, .distance = -1}};
}

/* The tunable in which two configurations with the same moves differ; SIZE_MAX: none or several. */
static size_t only_value(const struct tuner *u, const struct config *a, const struct config *b)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < u->t->ntunables; i++) {
        if (a->values[i] == b->values[i])
            continue;
        if (found != SIZE_MAX)
            return SIZE_MAX;
        found = i;
    }
    return found;
}

void tuner_compare(struct tuner *u)
{
    for (size_t i = 0; i < u->n * u->n; i++) {
        const struct observation *a = &u->o[i / u->n], *b = &u->o[i % u->n];
        struct pair p = {.a = i / u->n, .b = i % u->n};
        uint64_t differ = a->c.moves ^ b->c.moves;
        if (differ & (differ - 1) || a == b || b->open || (differ & a->c.moves))
            continue;
        p.value = !differ;
        p.which = differ ? (size_t)__builtin_ctzll(differ) : only_value(u, &a->c, &b->c);
        if (p.which == SIZE_MAX || (differ && !comparable(u, &a->c, &b->c)) ||
            !difference(a, b, &p.gain))
            continue;
        VEC_ROOM(u->pairs, u->npairs, u->cap_pairs);
        u->pairs[u->npairs++] = p;
    }
}

struct effect_evidence tuner_move_effect(const struct tuner *u, size_t move, uint64_t moves)
{
    struct tally y = tally_new();
    for (size_t i = 0; i < u->npairs; i++) {
        const struct pair *p = &u->pairs[i];
        if (!p->value && p->which == move)
            count(&y, u, p, bits((u->o[p->a].c.moves ^ moves) & ~bit(move)));
    }
    return settle(&y, log(u->t->moves[move].gain), PRIOR_WEIGHT);
}

struct effect_evidence tuner_value_effect(const struct tuner *u, size_t tunable, int64_t from,
                                          int64_t to, const struct config *base)
{
    struct tally y = tally_new();
    for (size_t i = 0; i < u->npairs; i++) {
        const struct pair *p = &u->pairs[i];
        const struct config *a = &u->o[p->a].c, *b = &u->o[p->b].c;
        if (p->value && p->which == tunable && a->values[tunable] == from &&
            b->values[tunable] == to)
            count(&y, u, p, bits(a->moves ^ base->moves));
    }
    return settle(&y, 0, 2 * PRIOR_WEIGHT);
}

double tuner_moves_gain(const struct tuner *u, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (size_t i = 0; i < u->t->nmoves; i++)
        if (on(from, i) != on(to, i)) {
            double gain = tuner_move_effect(u, i, from).gain;
            sum += on(to, i) ? gain : -gain;
        }
    return sum;
}

/* ---------------------------------------------------------------- candidates */

/* Take moves out, with all that require them. */
static uint64_t without(const struct task *t, uint64_t moves, uint64_t gone)
{
    uint64_t before = 0;
    moves &= ~gone;
    while (moves != before) {
        before = moves;
        for (size_t i = 0; i < t->nmoves; i++)
            for (size_t k = 0; on(moves, i) && k < t->moves[i].nrequires; k++)
                if (!on(moves, t->moves[i].requires[k]))
                    moves &= ~bit(i);
    }
    return moves;
}

/* Switch a move on, with what it requires and without what these exclude. */
static uint64_t with(const struct task *t, uint64_t moves, size_t move)
{
    uint64_t added = config_closure(t, move), gone = 0;
    for (size_t i = 0; i < t->nmoves; i++)
        for (size_t k = 0; k < t->moves[i].nexcludes; k++) {
            size_t other = t->moves[i].excludes[k];
            if (on(added, i) && !on(added, other))
                gone |= bit(other);
            if (on(added, other) && !on(added, i))
                gone |= bit(i);
        }
    return without(t, moves, gone) | added;
}

static uint64_t toggled(const struct task *t, uint64_t moves, size_t move)
{
    return on(moves, move) ? without(t, moves, bit(move)) : with(t, moves, move);
}

/* The one that comes first: earlier phase, then larger prediction, then earlier in the task. */
static void offer(const struct tuner *u, struct candidate *best, struct candidate k)
{
    config_normalise(u->t, &k.c);
    k.over_best = k.gain + (isnan(u->best) || isnan(k.from->value) ? 0 : k.from->value - u->best);
    if (k.phase > best->phase || (k.phase == best->phase && k.over_best <= best->over_best + 1e-9))
        return;
    if (config_valid(u->t, &k.c) && !tuner_tried(u, &k.c))
        *best = k;
}

/* The very change was a clear loss on the same moves with other tunables. */
static bool dead(const struct effect_evidence *e, double sign)
{
    return e->distance == 0 && (e->failed || sign * e->nearest < CLEAR_LOSS);
}

static void offer_move(const struct tuner *u, const struct observation *from, size_t i,
                       struct candidate *best)
{
    struct candidate k = {.c = from->c, .from = from, .a = i};
    uint64_t moves = from->c.moves;
    bool drop = on(moves, i);
    k.change = drop ? CHANGE_DROP : CHANGE_ADD;
    k.c.moves = toggled(u->t, moves, i);
    k.gain = tuner_moves_gain(u, moves, k.c.moves);
    struct effect_evidence e = tuner_move_effect(u, i, moves);
    if (drop && e.n && !e.failed) /* it brought less than was predicted: the rest may do without */
        k.gain += fmax(0, e.gain - e.nearest);
    if (dead(&e, drop ? -1 : 1) || (drop && k.gain < HOPELESS_DROP) || (e.n && k.gain < HOPELESS))
        return;
    k.phase = k.gain > WORTH ? PHASE_MOVES : PHASE_REST_MOVES;
    offer(u, best, k);
}

/* Values between `from` and `to` (in the task's order) that lost clearly on this configuration. */
static int losses_between(const struct tuner *u, const struct config *base, size_t tunable,
                          size_t from, size_t to)
{
    const struct tunable *v = &u->t->tunables[tunable];
    int n = 0;
    for (size_t i = from; i != to; i += to > from ? 1 : SIZE_MAX) {
        if (i == from)
            continue;
        struct effect_evidence e =
            tuner_value_effect(u, tunable, v->values[from], v->values[i], base);
        n += dead(&e, 1);
    }
    return n;
}

/* Where the value before this one was worse, half of that is hoped of the next. */
static double slope(const struct tuner *u, const struct config *base, size_t tunable, size_t at,
                    size_t to)
{
    const struct tunable *v = &u->t->tunables[tunable];
    size_t before = to > at ? at - 1 : at + 1;
    if (before >= v->nvalues)
        return 0;
    struct effect_evidence e =
        tuner_value_effect(u, tunable, v->values[before], v->values[at], base);
    return e.distance == 0 && !e.failed && e.nearest > 0 ? fmin(e.nearest / 2, 0.1) : 0;
}

static size_t value_index(const struct tunable *v, int64_t value)
{
    size_t i = 0;
    while (i + 1 < v->nvalues && v->values[i] != value)
        i++;
    return i;
}

static void offer_values(const struct tuner *u, const struct observation *from, size_t tunable,
                         bool all, struct candidate *best)
{
    const struct tunable *v = &u->t->tunables[tunable];
    if (!config_applies(u->t, &from->c, tunable))
        return;
    size_t at = value_index(v, from->c.values[tunable]);
    for (size_t i = 0; i < v->nvalues; i++) {
        size_t steps = i > at ? i - at : at - i;
        struct effect_evidence e =
            tuner_value_effect(u, tunable, v->values[at], v->values[i], &from->c);
        if (!steps || (steps > 1 && !all) || dead(&e, 1) ||
            losses_between(u, &from->c, tunable, at, i) > 1)
            continue;
        struct candidate k = {.c = from->c, .from = from, .change = CHANGE_TUNE, .a = tunable};
        k.c.values[tunable] = v->values[i];
        k.gain = e.gain + (steps == 1 ? NEIGHBOUR + slope(u, &from->c, tunable, at, i) : 0);
        k.phase = steps == 1 && k.gain > 0 ? PHASE_TUNE : PHASE_REST_TUNE;
        offer(u, best, k);
    }
}

/* ---------------------------------------------------------------- pairs */

/* Tries that differ from the base in two tunables or moves at once count against the limit. */
static size_t pairs_tried(const struct tuner *u, const struct config *base, bool tunables)
{
    size_t n = 0;
    for (size_t i = 0; i < u->n; i++) {
        const struct config *c = &u->o[i].c;
        size_t differ = 0;
        for (size_t k = 0; k < u->t->ntunables; k++)
            differ += c->values[k] != base->values[k];
        n += tunables ? c->moves == base->moves && differ == 2
                      : bits(c->moves ^ base->moves) > 1 && comparable(u, c, base);
    }
    return n;
}

static void offer_pair(const struct tuner *u, size_t a, size_t b, struct candidate *best)
{
    const struct observation *from = &u->base;
    uint64_t moves = from->c.moves;
    struct candidate k = {
        .c = from->c, .from = from, .change = CHANGE_PAIR, .a = a, .b = b, .phase = PHASE_PAIRS};
    if (on(moves, a) && on(moves, b))
        return;
    k.c.moves = toggled(u->t, toggled(u->t, moves, a), b);
    if (on(k.c.moves, a) == on(moves, a) || on(k.c.moves, b) == on(moves, b) ||
        bits(k.c.moves ^ moves) < 2)
        return;
    double hope = 0; /* what the task predicts: alone they have been tried, together not */
    for (size_t i = 0; i < u->t->nmoves; i++)
        if (on(k.c.moves, i) != on(moves, i))
            hope += on(k.c.moves, i) ? log(u->t->moves[i].gain) : -log(u->t->moves[i].gain);
    k.gain = (tuner_moves_gain(u, moves, k.c.moves) + hope) / 2;
    if (k.gain > HOPELESS_DROP)
        offer(u, best, k);
}

/* The neighbour of a value in one direction that is no clear loss by itself; false: none. */
static bool step_value(const struct tuner *u, const struct config *c, size_t tunable, int direction,
                       int64_t *value, double *gain)
{
    const struct tunable *v = &u->t->tunables[tunable];
    size_t at = value_index(v, c->values[tunable]), to = at + (size_t)direction;
    if (!config_applies(u->t, c, tunable) || to >= v->nvalues)
        return false;
    struct effect_evidence e = tuner_value_effect(u, tunable, v->values[at], v->values[to], c);
    *value = v->values[to];
    *gain = e.distance == 0 ? e.nearest : e.gain;
    return !(e.distance == 0 && (e.failed || e.nearest < 3 * CLEAR_LOSS));
}

static void offer_value_pair(const struct tuner *u, size_t a, size_t b, struct candidate *best)
{
    for (int d = 0; d < 4; d++) {
        struct candidate k = {.c = u->base.c,
                              .from = &u->base,
                              .change = CHANGE_TUNE_PAIR,
                              .a = a,
                              .b = b,
                              .phase = PHASE_PAIRS};
        double ga, gb;
        if (!step_value(u, &u->base.c, a, d & 1 ? 1 : -1, &k.c.values[a], &ga) ||
            !step_value(u, &u->base.c, b, d & 2 ? 1 : -1, &k.c.values[b], &gb))
            continue;
        k.gain = ga + gb;
        offer(u, best, k);
    }
}

/* A move that failed and was never right: does it work at all, with nothing but what it needs? */
static void offer_alone(const struct tuner *u, size_t move, struct candidate *best)
{
    bool failed = false;
    for (size_t i = 0; i < u->n; i++) {
        if (!on(u->o[i].c.moves, move))
            continue;
        if (!u->o[i].failed)
            return;
        failed = true;
    }
    if (!failed || u->start.version < 0)
        return;
    struct candidate k = {.c = config_default(u->t),
                          .from = &u->start,
                          .change = CHANGE_ADD,
                          .a = move,
                          .phase = PHASE_PAIRS};
    k.c.moves = config_closure(u->t, move);
    k.gain = tuner_moves_gain(u, 0, k.c.moves);
    offer(u, best, k);
}

static void offer_pairs(const struct tuner *u, struct candidate *best)
{
    const struct task *t = u->t;
    bool moves = pairs_tried(u, &u->base.c, false) < PAIRS_MAX,
         values = pairs_tried(u, &u->base.c, true) < PAIRS_MAX;
    for (size_t a = 0; a < t->nmoves && moves; a++)
        for (size_t b = a + 1; b < t->nmoves; b++)
            offer_pair(u, a, b, best);
    for (size_t a = 0; a < t->ntunables && values; a++)
        for (size_t b = a + 1; b < t->ntunables; b++)
            offer_value_pair(u, a, b, best);
}

struct candidate tuner_best(const struct tuner *u)
{
    struct candidate best = {.phase = PHASE_NONE, .over_best = -HUGE_VAL};
    for (size_t i = 0; i < u->t->nmoves; i++)
        offer_move(u, &u->base, i, &best);
    for (size_t i = 0; i < u->t->ntunables; i++)
        offer_values(u, &u->base, i, true, &best);
    if (best.phase != PHASE_NONE)
        return best;
    for (size_t i = 0; i < u->t->nmoves; i++)
        offer_alone(u, i, &best);
    if (best.phase == PHASE_NONE)
        offer_pairs(u, &best);
    if (best.phase != PHASE_NONE)
        return best;
    struct candidate next = {.phase = PHASE_NONE, .over_best = -HUGE_VAL};
    for (size_t i = 0; i < u->t->nmoves && u->second.version >= 0; i++)
        offer_move(u, &u->second, i, &next);
    for (size_t i = 0; i < u->t->ntunables && u->second.version >= 0; i++)
        offer_values(u, &u->second, i, false, &next);
    if (next.phase == PHASE_NONE || next.over_best <= SECOND_MARGIN)
        return tuner_combination(u);
    next.phase = PHASE_SECOND;
    return next;
}
