/* The tuner against a made-up machine: multiplicative effects, interactions, noise, configurations
 * that fail. It must come near the optimum in few tries, and be a pure function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/loop/tuner.h"
#include "tests/support/tasks.h"

#define NOISE  0.002
#define MARGIN 0.005

static struct task *task;

/* ---------------------------------------------------------------- the made-up machine */

struct machine {
    double move[SWITCHES_MAX_MOVES]; /* log gains */
    double pair[SWITCHES_MAX_MOVES][SWITCHES_MAX_MOVES];
    double best[SWITCHES_MAX_TUNABLES], steep[SWITCHES_MAX_TUNABLES];
    uint64_t broken; /* with these moves on it computes something wrong */
    uint64_t seed;
};

static double unit(uint64_t *s)
{
    *s = hash_mix(*s, 1);
    return (double)(*s >> 11) * 0x1p-53;
}

static double normal(uint64_t *s)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += unit(s);
    return sum - 6;
}

static struct machine machine_new(uint64_t seed)
{
    struct machine m = {.seed = seed};
    uint64_t s = seed;
    for (size_t i = 0; i < task->nmoves; i++) {
        m.move[i] = log(task->moves[i].gain) + 0.2 * normal(&s);
        for (size_t k = 0; k < i; k++)
            if (unit(&s) < 0.3)
                m.pair[i][k] = 0.12 * normal(&s);
    }
    for (size_t i = 0; i < task->ntunables; i++) {
        m.best[i] = unit(&s) * (double)(task->tunables[i].nvalues - 1);
        m.steep[i] = 0.01 + 0.04 * unit(&s);
    }
    m.broken = (uint64_t)1 << (hash_mix(s, 2) % task->nmoves) |
               (uint64_t)1 << (hash_mix(s, 3) % task->nmoves);
    if (!(m.broken & (m.broken - 1)))
        m.broken = 0;
    return m;
}

/* log speedup; NaN: wrong. */
static double run(const struct machine *m, const struct config *c)
{
    double sum = 0;
    if (m->broken && (c->moves & m->broken) == m->broken)
        return (double)NAN;
    for (size_t i = 0; i < task->nmoves; i++)
        for (size_t k = 0; (c->moves >> i & 1) && k <= i; k++)
            if (c->moves >> k & 1)
                sum += k == i ? m->move[i] : m->pair[i][k];
    for (size_t i = 0; i < task->ntunables; i++) {
        size_t at = 0;
        while (task->tunables[i].values[at] != c->values[i])
            at++;
        double off = (double)at - m->best[i];
        if (config_applies(task, c, i))
            sum -= m->steep[i] * off * off;
    }
    return sum;
}

static void search_values(const struct machine *m, struct config *c, size_t tunable, double *best)
{
    if (tunable == task->ntunables) {
        double v = run(m, c);
        if (v > *best)
            *best = v;
        return;
    }
    if (!config_applies(task, c, tunable)) {
        search_values(m, c, tunable + 1, best);
        return;
    }
    for (size_t i = 0; i < task->tunables[tunable].nvalues; i++) {
        c->values[tunable] = task->tunables[tunable].values[i];
        search_values(m, c, tunable + 1, best);
    }
    c->values[tunable] = task->tunables[tunable].fallback;
}

static double optimum(const struct machine *m)
{
    double best = 0;
    for (uint64_t moves = 0; moves < (uint64_t)1 << task->nmoves; moves++) {
        struct config c = config_default(task);
        c.moves = moves;
        if (config_valid(task, &c))
            search_values(m, &c, 0, &best);
    }
    return best;
}

/* ---------------------------------------------------------------- a run, event by event */

struct world {
    struct run_state *s;
    struct machine m;
    int64_t seq;
    struct event *events; /* kept, for folding again */
    size_t n, cap;
};

static void happen(struct world *w, struct event ev)
{
    ev.seq = ++w->seq;
    ev.time = w->seq * 1000;
    ev.text = xstrdup(ev.text);
    VEC_ROOM(w->events, w->n, w->cap);
    w->events[w->n++] = ev;
    state_apply(w->s, &ev);
}

static void add_version(struct world *w, const char *config, const char *strategy, int64_t parent)
{
    struct event ev = event_make(EV_VERSION);
    ev.id = (int64_t)w->s->nversions;
    ev.ref = parent;
    ev.text = config;
    happen(w, ev);
    struct event st = event_make(EV_STRATEGY);
    st.id = ev.id;
    st.text = strategy;
    happen(w, st);
}

static double measured(struct world *w, const struct config *c, int64_t id)
{
    uint64_t s = hash_mix(w->m.seed, (uint64_t)id + 77);
    return exp(run(&w->m, c) + NOISE * normal(&s));
}

static void judge(struct world *w, int64_t id)
{
    struct config c;
    struct error e = {0};
    if (!config_parse(task, w->s->versions[id].config, &c, &e))
        fail_msg("%s", e.msg);
    struct event ev = event_make(EV_TRY);
    ev.id = id;
    ev.ref = w->s->incumbent;
    ev.x = measured(w, &c, id);
    ev.code = isnan(ev.x) ? VERDICT_WRONG : VERDICT_OK;
    ev.lo = ev.x * 0.997;
    ev.hi = ev.x * 1.003;
    if (w->s->incumbent >= 0)
        ev.y = ev.x / w->s->best;
    bool record = ev.code == VERDICT_OK && !(w->s->incumbent >= 0 && ev.y < 1 + MARGIN);
    if (w->s->incumbent >= 0 && ev.y < 0.9)
        ev.code = VERDICT_SCREENED;
    happen(w, ev);
    if (record) {
        struct event r = event_make(EV_RECORD);
        r.id = id;
        r.x = ev.x;
        r.lo = ev.lo;
        r.hi = ev.hi;
        happen(w, r);
    }
}

static struct world world_new(uint64_t seed)
{
    struct world w = {.s = state_new(), .m = machine_new(seed)};
    struct event ev = event_make(EV_RUN_CREATED);
    ev.text = task->name;
    happen(&w, ev);
    add_version(&w, "baseline", "", -1);
    add_version(&w, "start", "", 0);
    judge(&w, 1);
    return w;
}

static void world_free(struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        free((char *)(uintptr_t)w->events[i].text);
    free(w->events);
    state_free(w->s);
}

static int64_t oldest_open(const struct run_state *s)
{
    for (size_t i = 1; i < s->nversions; i++)
        if (s->versions[i].verdict == VERDICT_NONE)
            return (int64_t)i;
    return -1;
}

static void same_proposal(const struct proposal *a, const struct proposal *b)
{
    assert_string_equal(a->config, b->config);
    assert_string_equal(a->strategy, b->strategy);
    assert_string_equal(a->hypothesis, b->hypothesis);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->source.len, b->source.len);
    assert_memory_equal(a->source.s, b->source.s, a->source.len);
}

/* One more proposal, asked twice, never of a configuration that is there; false: none. */
static enum agent_answer propose(struct world *w, bool show)
{
    struct proposal p = {0}, again = {0};
    struct error e = {0};
    enum agent_answer a = tuner_propose(task, w->s, &p, &e);
    if (a == AGENT_FAILED)
        fail_msg("%s", e.msg);
    if (a != AGENT_PROPOSES)
        return a;
    assert_int_equal(tuner_propose(task, w->s, &again, &e), AGENT_PROPOSES);
    same_proposal(&p, &again);
    assert_int_equal(state_find_config(w->s, p.config), -1);
    assert_null(strchr(p.hypothesis, '\n'));
    assert_true(p.predicted > 0 && p.parent >= 1);
    if (show)
        printf("v%zu  %-60s  %s\n", w->s->nversions, p.config, p.hypothesis);
    add_version(w, p.config, p.strategy, p.parent);
    proposal_free(&p);
    proposal_free(&again);
    return a;
}

/* Runs until the tuner is finished; returns the tries, with *at: those until within 5 % of best. */
static size_t climb(struct world *w, int jobs, double best, size_t *at, bool show)
{
    *at = SIZE_MAX;
    for (size_t tries = 0; tries < 400;) {
        int open = 0;
        for (size_t i = 1; i < w->s->nversions; i++)
            open += w->s->versions[i].verdict == VERDICT_NONE;
        enum agent_answer a = open < jobs ? propose(w, show) : AGENT_WAITS;
        if (a == AGENT_PROPOSES)
            continue;
        if (a == AGENT_FINISHED) {
            assert_int_equal(open, 0);
            return tries;
        }
        int64_t id = oldest_open(w->s);
        assert_true(id >= 0); /* never waits for nothing */
        judge(w, id);
        tries++;
        if (show)
            printf("    v%lld %s %.3f\n", (long long)id,
                   w->s->versions[id].verdict == VERDICT_OK ? "ok" : "not",
                   w->s->versions[id].speedup);
        struct config c;
        if (*at == SIZE_MAX &&
            config_parse(task, w->s->versions[w->s->incumbent].config, &c, NULL) &&
            run(&w->m, &c) > best + log(0.95))
            *at = tries;
    }
    fail_msg("the tuner does not come to an end");
    return 0;
}

/* ---------------------------------------------------------------- tests */

static void test_finds(void **state)
{
    (void)state;
    bool show = getenv("SHOW") != NULL;
    int seeds = show ? 1 : 100, late = 0;
    size_t sum = 0, worst_end = 0;
    for (int seed = 1; seed <= seeds; seed++) {
        struct world w = world_new(show ? (uint64_t)atoi(getenv("SHOW")) : (uint64_t)seed);
        double best = optimum(&w.m);
        size_t at, end = climb(&w, 1, best, &at, show);
        if (at > 80) {
            late++;
            printf("seed %d: best %.3f, found %.3f (%.1f %% below) in %zu tries\n", seed, exp(best),
                   w.s->best, 100 * (1 - w.s->best / exp(best)), end);
        }
        sum += at > 400 ? 400 : at;
        worst_end = end > worst_end ? end : worst_end;
        world_free(&w);
    }
    printf(
        "within 5 %% of the optimum after %.1f tries on average; %d of %d later than 80; at most "
        "%zu tries in all\n",
        (double)sum / seeds, late, seeds, worst_end);
    assert_true(late <= 8 * seeds / 100);
    assert_true(worst_end <= 150);
}

/* With several in flight: as good, in little more tries. */
static void test_jobs(void **state)
{
    (void)state;
    int found = 0;
    for (int seed = 1; seed <= 20; seed++) {
        struct world w = world_new((uint64_t)seed);
        size_t at;
        climb(&w, 3, optimum(&w.m), &at, false);
        found += at <= 90;
        world_free(&w);
    }
    assert_true(found >= 17);
}

/* Folded again from its events, a run gets the very proposals that it got. */
static void test_replays(void **state)
{
    (void)state;
    struct world w = world_new(7);
    size_t at;
    climb(&w, 2, optimum(&w.m), &at, false);
    struct run_state *s = state_new();
    size_t asked = 0;
    for (size_t i = 0; i < w.n; i++) {
        const struct event *ev = &w.events[i];
        if (ev->kind == EV_VERSION && ev->id > 1) {
            struct proposal p = {0};
            struct error e = {0};
            assert_int_equal(tuner_propose(task, s, &p, &e), AGENT_PROPOSES);
            assert_string_equal(p.config, ev->text);
            assert_int_equal(p.parent, ev->ref);
            proposal_free(&p);
            asked++;
        }
        state_apply(s, ev);
    }
    assert_true(asked > 30);
    state_free(s);
    world_free(&w);
}

static struct proposal ask(struct world *w)
{
    struct proposal p = {0};
    struct error e = {0};
    if (tuner_propose(task, w->s, &p, &e) != AGENT_PROPOSES)
        fail_msg("no proposal: %s", e.msg);
    return p;
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* A try with a given outcome. */
static void outcome(struct world *w, const char *config, enum verdict v, double speedup,
                    double gain, bool record)
{
    struct event ev = event_make(EV_TRY);
    ev.id = (int64_t)w->s->nversions;
    add_version(w, config, "x", 1);
    ev.ref = w->s->incumbent;
    ev.code = (int)v;
    ev.x = ev.lo = ev.hi = speedup;
    ev.y = gain;
    happen(w, ev);
    if (!record)
        return;
    struct event r = event_make(EV_RECORD);
    r.id = ev.id;
    r.x = r.lo = r.hi = speedup;
    happen(w, r);
}

static struct world quiet_world(void)
{
    struct world w = {.s = state_new()};
    struct event ev = event_make(EV_RUN_CREATED);
    happen(&w, ev);
    add_version(&w, "baseline", "", -1);
    outcome(&w, "start", VERDICT_OK, 1, (double)NAN, true);
    return w;
}

/* The first line names title, prediction, base, what comes with it and why. */
static void test_says(void **state)
{
    (void)state;
    struct world w = quiet_world();
    struct proposal p = ask(&w);
    assert_string_equal(p.config, "chunkwise subblocks CHUNK=16"); /* 1.4 x 1.15 > 1.5 */
    assert_string_equal(p.strategy, "subblocks");
    has(p.hypothesis, "decays of pairs meet at sub-block boundaries: predicts 1.61x over v1");
    has(p.hypothesis, "chunkwise comes with it");
    has(p.hypothesis, "keys decay once every four tokens");
    assert_true(fabs(p.predicted - 1.61) < 1e-9);
    assert_int_equal(p.parent, 1);
    assert_null(strstr(buf_str(&p.source), "CHUNKWISE"));
    has(buf_str(&p.source), "#define CHUNK 16\n");
    proposal_free(&p);
    world_free(&w);
}

/* What lost on another base comes later, with its evidence quoted. */
static void test_learns(void **state)
{
    (void)state;
    struct world w = quiet_world();
    outcome(&w, "fused", VERDICT_OK, 0.8, 0.8, false);
    outcome(&w, "vectors LANES=2", VERDICT_OK, 1.5, 1.5, true);
    bool quoted = false;
    for (int i = 0; i < 60 && !quoted; i++) {
        struct proposal p = ask(&w);
        if (strcmp(p.strategy, "fused") == 0) {
            assert_true(i > 4); /* the other moves come before it */
            has(p.hypothesis, "measured -20.0 % on v1 (v2)");
            quoted = true;
        }
        outcome(&w, p.config, VERDICT_OK, 1.45, 1.45 / 1.5, false);
        proposal_free(&p);
    }
    assert_true(quoted);
    world_free(&w);
}

/* Failures of ours are no verdict on a move, but the same configuration is not asked for twice; a
 * version from outside may lead without stopping the search. */
static void test_others(void **state)
{
    (void)state;
    struct world w = quiet_world();
    struct proposal first = ask(&w);
    outcome(&w, first.config, VERDICT_INFRA, (double)NAN, (double)NAN, false);
    struct proposal p = ask(&w);
    assert_string_not_equal(p.config, first.config);
    proposal_free(&first);
    proposal_free(&p);
    outcome(&w, "vectors LANES=2", VERDICT_OK, 1.5, 1.5, true);
    outcome(&w, "mine.c", VERDICT_OK, 3, 2, true);
    p = ask(&w);
    has(p.config, "vectors");
    assert_int_equal(p.parent, 3);
    assert_true(p.predicted < 1.2); /* over the incumbent, which is twice as fast as its base */
    proposal_free(&p);
    world_free(&w);
}

static void test_no_moves(void **state)
{
    (void)state;
    struct world w = quiet_world();
    struct task bare = *task;
    bare.nmoves = bare.ntunables = 0;
    bare.c.moves = NULL;
    struct proposal p = {0};
    struct error e = {0};
    assert_int_equal(tuner_propose(&bare, w.s, &p, &e), AGENT_FINISHED);
    has(e.msg, "warploop submit");
    world_free(&w);
}

/* A proposal costs little CPU, also late in a run. */
static void test_cheap(void **state)
{
    (void)state;
    struct world w = world_new(3);
    size_t at;
    size_t tries = climb(&w, 1, optimum(&w.m), &at, false);
    w.s->nversions = tries * 2 / 3; /* an earlier moment */
    int64_t t0 = clock_thread_cpu_ns();
    for (int i = 0; i < 20; i++) {
        struct proposal p = {0};
        struct error e = {0};
        if (tuner_propose(task, w.s, &p, &e) == AGENT_PROPOSES)
            proposal_free(&p);
    }
    int64_t each = (clock_thread_cpu_ns() - t0) / 20;
    w.s->nversions = tries + 2;
    printf("%.3f ms of CPU a proposal after %zu tries\n", (double)each / 1e6, tries * 2 / 3);
    assert_true(each < 20000000);
    world_free(&w);
}

int main(void)
{
    task = tasks_load("search");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds),    cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_replays),  cmocka_unit_test(test_says),
        cmocka_unit_test(test_learns),   cmocka_unit_test(test_others),
        cmocka_unit_test(test_no_moves), cmocka_unit_test(test_cheap),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    task_free(task);
    return rc;
}
