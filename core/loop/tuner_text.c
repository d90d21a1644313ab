/* What the tuner says about a try: the change, the prediction, why, and what was measured before.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/loop/tuner_private.h"

static bool on(uint64_t moves, size_t i)
{
    return moves >> i & 1;
}

static void percent(struct buf *b, double gain)
{
    buf_addf(b, "%+.1f %%", 100 * (exp(gain) - 1));
}

static const char *move_name(const struct tuner *u, size_t i)
{
    return u->t->moves[i].name;
}

char *tuner_strategy(const struct tuner *u, const struct candidate *k)
{
    switch (k->change) {
    case CHANGE_ADD:
        return xstrdup(move_name(u, k->a));
    case CHANGE_DROP:
        return xasprintf("without %s", move_name(u, k->a));
    case CHANGE_TUNE:
        return xstrdup(u->t->tunables[k->a].name);
    case CHANGE_PAIR:
        return xasprintf("%s%s + %s%s", on(k->c.moves, k->a) ? "" : "without ", move_name(u, k->a),
                         on(k->c.moves, k->b) ? "" : "without ", move_name(u, k->b));
    case CHANGE_MODEL:
        return xstrdup(COMBINATION);
    case CHANGE_TUNE_PAIR:
        break;
    }
    return xasprintf("%s + %s", u->t->tunables[k->a].name, u->t->tunables[k->b].name);
}

/* "; residual comes with it, subblocks gives way" */
static void company(const struct tuner *u, const struct candidate *k, struct buf *b)
{
    for (size_t i = 0; i < u->t->nmoves; i++) {
        if (i == k->a || (k->change == CHANGE_PAIR && i == k->b) ||
            on(k->c.moves, i) == on(k->from->c.moves, i))
            continue;
        buf_addf(b, "; %s %s", move_name(u, i), on(k->c.moves, i) ? "comes with it" : "gives way");
    }
}

static void evidence(const struct effect_evidence *e, const char *what, struct buf *b)
{
    if (e->distance < 0)
        return;
    buf_addf(b, "; %s ", what);
    if (e->failed)
        buf_adds(b, "failed");
    else
        percent(b, e->nearest);
    buf_addf(b, " on v%lld (v%lld)", (long long)e->on, (long long)e->version);
    if (e->n > 1)
        buf_addf(b, ", %zu measured in all", e->n);
}

static void say_move(const struct tuner *u, const struct candidate *k, size_t i, struct buf *b)
{
    const struct move *m = &u->t->moves[i];
    bool adds = on(k->c.moves, i);
    struct effect_evidence e = tuner_move_effect(u, i, k->from->c.moves);
    if (adds)
        buf_addf(b, "; %s", m->why);
    evidence(&e, adds ? "measured" : "when added it brought", b);
}

static void say_value(const struct tuner *u, const struct candidate *k, size_t i, struct buf *b)
{
    const struct tunable *v = &u->t->tunables[i];
    struct effect_evidence e =
        tuner_value_effect(u, i, k->from->c.values[i], k->c.values[i], &k->from->c);
    buf_addf(b, "; %s", v->why);
    evidence(&e, "that step was", b);
    for (size_t n = 0; n < v->nvalues; n++) { /* the other side, when it is known */
        if (v->values[n] == k->c.values[i] || v->values[n] == k->from->c.values[i])
            continue;
        struct effect_evidence other =
            tuner_value_effect(u, i, k->from->c.values[i], v->values[n], &k->from->c);
        if (other.distance != 0 || other.failed)
            continue;
        buf_addf(b, "; %lld gave ", (long long)v->values[n]);
        percent(b, other.nearest);
        break;
    }
}

static void subject(const struct tuner *u, const struct candidate *k, struct buf *b)
{
    const struct task *t = u->t;
    switch (k->change) {
    case CHANGE_ADD:
        buf_adds(b, t->moves[k->a].title);
        return;
    case CHANGE_DROP:
        buf_addf(b, "without: %s", t->moves[k->a].title);
        return;
    case CHANGE_PAIR:
        buf_addf(b, "together: %s%s; %s%s", on(k->c.moves, k->a) ? "" : "without ",
                 t->moves[k->a].title, on(k->c.moves, k->b) ? "" : "without ",
                 t->moves[k->b].title);
        return;
    case CHANGE_MODEL:
        buf_adds(b, "another combination");
        for (size_t i = 0; i < t->nmoves; i++)
            if (on(k->c.moves, i) != on(k->from->c.moves, i))
                buf_addf(b, ", %s %s", on(k->c.moves, i) ? "with" : "without", t->moves[i].name);
        return;
    case CHANGE_TUNE:
    case CHANGE_TUNE_PAIR:
        break;
    }
    buf_addf(b, "%s %lld -> %lld", t->tunables[k->a].name, (long long)k->from->c.values[k->a],
             (long long)k->c.values[k->a]);
    if (k->change == CHANGE_TUNE_PAIR)
        buf_addf(b, " with %s %lld -> %lld", t->tunables[k->b].name,
                 (long long)k->from->c.values[k->b], (long long)k->c.values[k->b]);
}

char *tuner_hypothesis(const struct tuner *u, const struct candidate *k)
{
    struct buf b = {0};
    subject(u, k, &b);
    buf_addf(&b, ": predicts %.2fx over v%lld", exp(k->gain), (long long)k->from->version);
    if (k->change == CHANGE_MODEL) {
        buf_addf(&b, " (%.2f to %.2f), from all %zu tries together", exp(k->gain - k->spread),
                 exp(k->gain + k->spread), u->n);
        return buf_take(&b);
    }
    if (k->from == &u->second)
        buf_adds(&b, ", the best with other moves");
    company(u, k, &b);
    if (k->change == CHANGE_TUNE || k->change == CHANGE_TUNE_PAIR) {
        say_value(u, k, k->a, &b);
        if (k->change == CHANGE_TUNE_PAIR)
            say_value(u, k, k->b, &b);
    } else {
        say_move(u, k, k->a, &b);
        if (k->change == CHANGE_PAIR)
            say_move(u, k, k->b, &b);
    }
    return buf_take(&b);
}
