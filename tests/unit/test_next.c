/* The next step as a pure function: the order of things, and that no sequence of events makes it
 * start what it must not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/hash.h"
#include "core/loop/next.h"

#define HOUR INT64_C(3600000000000)

struct world {
    struct run_state *s;
    int64_t seq, effect, call;
    uint64_t dice;
};

static void put(struct world *w, struct event ev)
{
    ev.seq = ++w->seq;
    ev.time = w->seq * 1000;
    state_apply(w->s, &ev);
}

static void put_simple(struct world *w, enum event_kind kind)
{
    put(w, event_make(kind));
}

static void put_goal(struct world *w, double target, double hours, int64_t calls)
{
    struct event ev = event_make(EV_GOAL);
    ev.id = (int64_t)w->s->ngoals + 1;
    ev.x = target;
    ev.lo = hours;
    ev.n = calls;
    put(w, ev);
}

static void put_version(struct world *w)
{
    struct event ev = event_make(EV_VERSION);
    char name[32];
    ev.id = (int64_t)w->s->nversions;
    ev.n = ev.id > 1 ? ++w->call : 0;
    if (ev.n) {
        struct event call = event_make(EV_CALL);
        call.id = ev.n;
        put(w, call);
    }
    snprintf(name, sizeof name, "config %lld", (long long)ev.id);
    ev.text = name;
    put(w, ev);
}

static void put_effect(struct world *w, enum effect_kind kind, int64_t version)
{
    struct event ev = event_make(EV_EFFECT);
    ev.id = ++w->effect;
    ev.code = (int)kind;
    ev.ref = version;
    put(w, ev);
}

static struct hash plan_of(int64_t n)
{
    return hash_bytes(&n, sizeof n);
}

static void put_done(struct world *w, size_t i, enum verdict v, int64_t plan)
{
    struct effect f = w->s->inflight[i];
    struct hash h = plan_of(plan);
    struct event ev = event_make(EV_EFFECT_DONE);
    ev.id = f.id;
    ev.ref = f.version;
    ev.code = (int)v;
    ev.hash = v == VERDICT_OK && f.kind == EFFECT_BUILD ? h.hex : "";
    put(w, ev);
}

static void put_try(struct world *w, int64_t version, enum verdict v, double x, bool record)
{
    struct event ev = event_make(EV_TRY);
    ev.id = version;
    ev.code = (int)v;
    ev.x = x;
    ev.lo = x * 0.99;
    ev.hi = x * 1.01;
    put(w, ev);
    if (record) {
        struct event r = event_make(EV_RECORD);
        r.id = version;
        r.x = ev.x;
        r.lo = ev.lo;
        r.hi = ev.hi;
        put(w, r);
    }
}

static struct world begin(int jobs)
{
    struct world w = {.s = state_new(), .dice = 1};
    struct event ev = event_make(EV_RUN_CREATED);
    ev.text = "t";
    ev.code = jobs;
    put(&w, ev);
    put_goal(&w, (double)NAN, 8, 0);
    put_version(&w);
    put_version(&w);
    put_simple(&w, EV_ENGINE_STARTED);
    return w;
}

static struct step step_of(const struct world *w)
{
    return next_step(w->s, 0, false, false);
}

static void expect(const struct world *w, enum step_kind kind, int64_t version)
{
    struct step s = step_of(w);
    assert_int_equal(s.kind, kind);
    if (kind != STEP_WAIT && kind != STEP_PROPOSE && kind != STEP_END)
        assert_int_equal(s.version, version);
}

/* Baseline and start built and measured. */
static struct world ready(int jobs)
{
    struct world w = begin(jobs);
    for (int64_t v = 0; v < 2; v++) {
        put_effect(&w, EFFECT_BUILD, v);
        put_done(&w, 0, VERDICT_OK, v);
    }
    put_effect(&w, EFFECT_BASELINE, 0);
    put_done(&w, 0, VERDICT_OK, 0);
    struct event base = event_make(EV_BASELINE);
    base.x = 1e6;
    put(&w, base);
    put_effect(&w, EFFECT_BENCH, 1);
    put_done(&w, 0, VERDICT_OK, 0);
    put_try(&w, 1, VERDICT_OK, 1, true);
    return w;
}

static void test_order(void **state)
{
    (void)state;
    struct world w = begin(2);
    expect(&w, STEP_BUILD, 0);
    put_effect(&w, EFFECT_BUILD, 0);
    expect(&w, STEP_BUILD, 1);
    put_effect(&w, EFFECT_BUILD, 1);
    expect(&w, STEP_WAIT, 0);
    put_done(&w, 0, VERDICT_OK, 0);
    expect(&w, STEP_WAIT, 0); /* no measurement while something is built */
    put_done(&w, 0, VERDICT_OK, 1);
    expect(&w, STEP_BASELINE, 0);
    put_effect(&w, EFFECT_BASELINE, 0);
    expect(&w, STEP_WAIT, 0);
    put_done(&w, 0, VERDICT_OK, 0);
    put_simple(&w, EV_BASELINE);
    expect(&w, STEP_BENCH, 1);
    put_effect(&w, EFFECT_BENCH, 1);
    expect(&w, STEP_WAIT, 0); /* nothing is proposed before the start is known */
    put_done(&w, 0, VERDICT_OK, 0);
    put_try(&w, 1, VERDICT_OK, 1, true);
    expect(&w, STEP_PROPOSE, 0);
    state_free(w.s);
}

static void test_builds_run_ahead(void **state)
{
    (void)state;
    struct world w = ready(2);
    put_version(&w); /* v2 */
    expect(&w, STEP_BUILD, 2);
    put_effect(&w, EFFECT_BUILD, 2);
    expect(&w, STEP_PROPOSE, 0);
    put_version(&w); /* v3 */
    put_effect(&w, EFFECT_BUILD, 3);
    expect(&w, STEP_WAIT, 0);
    put_done(&w, 1, VERDICT_OK, 3); /* v3 is ready first */
    expect(&w, STEP_WAIT, 0);       /* and waits for v2 */
    put_done(&w, 0, VERDICT_OK, 2);
    expect(&w, STEP_BENCH, 2);
    put_effect(&w, EFFECT_BENCH, 2);
    expect(&w, STEP_WAIT, 0); /* two open versions are enough */
    put_done(&w, 0, VERDICT_OK, 0);
    put_try(&w, 2, VERDICT_WRONG, (double)NAN, false);
    expect(&w, STEP_BENCH, 3);
    state_free(w.s);
}

static void test_judged_in_order(void **state)
{
    (void)state;
    struct world w = ready(3);
    for (int i = 0; i < 3; i++)
        put_version(&w);
    for (int64_t v = 2; v <= 4; v++)
        put_effect(&w, EFFECT_BUILD, v);
    put_done(&w, 1, VERDICT_BUILD, 0); /* v3 does not compile */
    expect(&w, STEP_WAIT, 0);          /* but v2 comes first */
    put_done(&w, 0, VERDICT_OK, 2);
    put_effect(&w, EFFECT_BENCH, 2);
    put_done(&w, 1, VERDICT_OK, 0);
    put_try(&w, 2, VERDICT_OK, 1.5, true);
    expect(&w, STEP_JUDGE, 3);
    put_try(&w, 3, VERDICT_BUILD, (double)NAN, false);
    put_done(&w, 0, VERDICT_OK, 2); /* v4 is the same program as v2 */
    expect(&w, STEP_JUDGE, 4);
    assert_int_equal(next_same_plan(w.s, state_version(w.s, 4)), 2);
    state_free(w.s);
}

static void test_known_plans(void **state)
{
    (void)state;
    struct world w = ready(1);
    put_version(&w);
    put_effect(&w, EFFECT_BUILD, 2);
    put_done(&w, 0, VERDICT_OK, 0); /* the baseline's program: needs a number of its own */
    expect(&w, STEP_BENCH, 2);
    put_try(&w, 2, VERDICT_INFRA, (double)NAN, false);
    put_version(&w);
    put_effect(&w, EFFECT_BUILD, 3);
    put_done(&w, 0, VERDICT_OK, 0); /* v2 failed through no fault of its own: measured anew */
    expect(&w, STEP_BENCH, 3);
    state_free(w.s);
}

static void test_pause_and_end(void **state)
{
    (void)state;
    struct world w = ready(2);
    expect(&w, STEP_PROPOSE, 0);
    put_simple(&w, EV_PAUSED);
    expect(&w, STEP_WAIT, 0);
    put_simple(&w, EV_RESUMED);
    expect(&w, STEP_PROPOSE, 0);
    struct step s = next_step(w.s, 0, true, false);
    assert_int_equal(s.kind, STEP_WAIT);
    s = next_step(w.s, 0, false, true);
    assert_int_equal(s.kind, STEP_END);
    assert_int_equal(s.reason, END_STALLED);
    s = next_step(w.s, 8 * HOUR, false, false);
    assert_int_equal(s.reason, END_BUDGET);
    put_simple(&w, EV_PAUSED); /* a pause outlives the budget */
    assert_int_equal(next_step(w.s, 8 * HOUR, false, false).kind, STEP_WAIT);
    put_simple(&w, EV_RESUMED);
    put_version(&w); /* what was accepted is answered before the run ends */
    assert_int_equal(next_step(w.s, 8 * HOUR, false, false).kind, STEP_BUILD);
    put_effect(&w, EFFECT_BUILD, 2);
    assert_int_equal(next_step(w.s, 8 * HOUR, false, true).kind, STEP_WAIT);
    put_simple(&w, EV_ENDED);
    assert_int_equal(next_step(w.s, 0, false, false).kind, STEP_WAIT);
    state_free(w.s);
}

static void test_target_and_calls(void **state)
{
    (void)state;
    struct world w = ready(1);
    put_goal(&w, 1.2, 8, 2);
    put_version(&w);
    put_effect(&w, EFFECT_BUILD, 2);
    put_done(&w, 0, VERDICT_OK, 2);
    put_effect(&w, EFFECT_BENCH, 2);
    put_done(&w, 0, VERDICT_OK, 0);
    put_try(&w, 2, VERDICT_OK, 1.205, true); /* its lower end is 1.193 */
    expect(&w, STEP_PROPOSE, 0);
    put_version(&w);
    put_effect(&w, EFFECT_BUILD, 3);
    put_done(&w, 0, VERDICT_OK, 3);
    put_effect(&w, EFFECT_BENCH, 3);
    put_done(&w, 0, VERDICT_OK, 0);
    put_try(&w, 3, VERDICT_OK, 1.1, false);
    assert_int_equal(step_of(&w).reason, END_BUDGET); /* two calls are spent */
    put_goal(&w, 1.19, 8, 2);
    assert_int_equal(step_of(&w).reason, END_TARGET_MET);
    put_goal(&w, (double)NAN, 0, 0);
    expect(&w, STEP_PROPOSE, 0); /* an edited goal goes on, without limits */
    assert_int_equal(next_step(w.s, 1000 * HOUR, false, false).kind, STEP_PROPOSE);
    state_free(w.s);
}

static void test_baseline_broken(void **state)
{
    (void)state;
    struct world w = begin(2);
    put_effect(&w, EFFECT_BUILD, 0);
    put_effect(&w, EFFECT_BUILD, 1);
    put_done(&w, 0, VERDICT_BUILD, 0);
    expect(&w, STEP_WAIT, 0);
    put_done(&w, 0, VERDICT_OK, 1);
    assert_int_equal(step_of(&w).kind, STEP_END);
    assert_int_equal(step_of(&w).reason, END_ERROR);
    state_free(w.s);
}

/* ---- random sequences -------------------------------------------------------------------------
 */

static unsigned roll(struct world *w, unsigned n)
{
    w->dice = hash_mix(w->dice, 7);
    return (unsigned)(w->dice >> 33) % n;
}

static size_t on_device(const struct run_state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ninflight; i++)
        n += s->inflight[i].kind == EFFECT_BENCH || s->inflight[i].kind == EFFECT_BASELINE;
    return n;
}

static bool building(const struct run_state *s, int64_t version)
{
    for (size_t i = 0; i < s->ninflight; i++)
        if (s->inflight[i].version == version)
            return true;
    return false;
}

/* Carry the step out, checking that it may be. */
static void carry_out(struct world *w, struct step step)
{
    struct run_state *s = w->s;
    bool starts = step.kind == STEP_BUILD || step.kind == STEP_BASELINE || step.kind == STEP_BENCH;
    if (step.kind != STEP_WAIT) {
        assert_false(s->paused);
        assert_false(s->ended);
    }
    if (starts) {
        assert_true(s->ninflight < (size_t)s->jobs);
        assert_false(building(s, step.version));
    }
    if (step.kind == STEP_BENCH || step.kind == STEP_JUDGE)
        for (int64_t v = 1; v < step.version; v++)
            assert_int_not_equal(state_version(s, v)->verdict, VERDICT_NONE);
    switch (step.kind) {
    case STEP_BUILD:
        assert_int_equal(state_version(s, step.version)->build, VERDICT_NONE);
        put_effect(w, EFFECT_BUILD, step.version);
        break;
    case STEP_BASELINE:
        assert_int_equal(on_device(s), 0);
        put_effect(w, EFFECT_BASELINE, 0);
        break;
    case STEP_BENCH:
        assert_int_equal(on_device(s), 0);
        assert_true(s->have_baseline);
        put_effect(w, EFFECT_BENCH, step.version);
        break;
    case STEP_JUDGE:
        put_try(w, step.version, VERDICT_BUILD, (double)NAN, false);
        break;
    case STEP_PROPOSE:
        put_version(w);
        break;
    case STEP_END:
        assert_int_equal(s->ninflight, 0);
        put_simple(w, EV_ENDED);
        break;
    case STEP_WAIT:
        break;
    }
    assert_true(on_device(s) <= 1);
    assert_true(s->ninflight <= (size_t)s->jobs);
}

static void finish_one(struct world *w)
{
    struct run_state *s = w->s;
    if (!s->ninflight)
        return;
    size_t i = roll(w, (unsigned)s->ninflight);
    struct effect f = s->inflight[i];
    if (roll(w, 10) == 0) {
        struct event ev = event_make(EV_INTERRUPTED);
        ev.id = f.id;
        ev.ref = f.version;
        put(w, ev);
        return;
    }
    bool good = f.kind != EFFECT_BUILD || f.version < 2 || roll(w, 4);
    put_done(w, i, good ? VERDICT_OK : VERDICT_BUILD, (int64_t)roll(w, 40));
    if (f.kind == EFFECT_BASELINE)
        put_simple(w, EV_BASELINE);
    if (f.kind == EFFECT_BENCH)
        put_try(w, f.version, roll(w, 2) ? VERDICT_OK : VERDICT_WRONG, 1, false);
}

static void test_random(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct world w = begin(1 + (int)(seed % 4));
        w.dice = seed;
        for (int i = 0; i < 300; i++) {
            switch (roll(&w, 12)) {
            case 0:
                put_simple(&w, roll(&w, 3) ? EV_RESUMED : EV_PAUSED);
                break;
            case 1:
                if (w.s->nversions < 100 && roll(&w, 3) == 0)
                    put_version(&w); /* somebody submits */
                break;
            case 2:
                put_simple(&w, EV_REOPENED);
                break;
            case 3:
            case 4:
            case 5:
                finish_one(&w);
                break;
            default:
                carry_out(&w, next_step(w.s, roll(&w, 100) ? 0 : 9 * HOUR, roll(&w, 5) == 0,
                                        roll(&w, 20) == 0));
            }
        }
        /* Left alone, it comes to an end: nothing is stuck. */
        put_simple(&w, EV_RESUMED);
        put_simple(&w, EV_REOPENED);
        for (int i = 0; i < 5000 && !w.s->ended; i++) {
            struct step step = next_step(w.s, 9 * HOUR, false, true);
            carry_out(&w, step);
            if (step.kind == STEP_WAIT)
                finish_one(&w);
        }
        assert_true(w.s->ended);
        assert_int_equal(w.s->unknown, 0);
        state_free(w.s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),           cmocka_unit_test(test_builds_run_ahead),
        cmocka_unit_test(test_judged_in_order), cmocka_unit_test(test_known_plans),
        cmocka_unit_test(test_pause_and_end),   cmocka_unit_test(test_target_and_calls),
        cmocka_unit_test(test_baseline_broken), cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
