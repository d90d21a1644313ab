/* The fold: events in, run state out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/log/reader.h"
#include "core/log/state.h"
#include "tests/support/mkrun.h"
#include "tests/support/scratch.h"

#define S INT64_C(1000000000)

/* A state and the next event's seq and time. */
struct fold {
    struct run_state *s;
    int64_t seq, time;
};

static int set_up(void **state)
{
    struct fold *f = xcalloc(1, sizeof *f);
    f->s = state_new();
    f->time = 1000 * S;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fold *f = *state;
    state_free(f->s);
    free(f);
    return 0;
}

/* Apply an event one second after the one before. */
static void fold(struct fold *f, struct event ev)
{
    ev.seq = ++f->seq;
    ev.time = f->time += S;
    state_apply(f->s, &ev);
}

static struct event make(enum event_kind kind, int64_t id, int64_t ref, const char *text)
{
    struct event ev = event_make(kind);
    ev.id = id;
    ev.ref = ref;
    ev.text = text;
    return ev;
}

static void fold_code(struct fold *f, enum event_kind kind, int64_t id, int64_t ref, int code)
{
    struct event ev = make(kind, id, ref, "");
    ev.code = code;
    fold(f, ev);
}

static void fold_version(struct fold *f, int64_t id, const char *config)
{
    struct event ev = make(EV_VERSION, id, id - 1, config);
    struct hash source = hash_bytes(config, strlen(config));
    ev.hash = source.hex;
    fold(f, ev);
}

static void fold_try(struct fold *f, int64_t id, enum verdict verdict, double speedup, double gain,
                     const char *plan)
{
    struct event ev = make(EV_TRY, id, 1, "message");
    ev.code = verdict;
    ev.x = speedup;
    ev.lo = speedup - 0.1;
    ev.hi = speedup + 0.1;
    ev.y = gain;
    ev.hash = plan;
    fold(f, ev);
}

static void fold_record(struct fold *f, int64_t id, double speedup)
{
    struct event ev = make(EV_RECORD, id, 0, "");
    ev.x = speedup;
    ev.lo = speedup - 0.1;
    ev.hi = speedup + 0.1;
    fold(f, ev);
}

static void begin(struct fold *f)
{
    struct event ev = make(EV_RUN_CREATED, 0, 0, "tiny");
    ev.n = -1; /* a seed with its top bit set */
    ev.code = 3;
    ev.hash = "aa";
    fold(f, ev);
    fold_version(f, 0, "baseline");
    fold_version(f, 1, "start");
}

static void test_empty(void **state)
{
    struct run_state *s = ((struct fold *)*state)->s;
    assert_int_equal(s->incumbent, -1);
    assert_true(isnan(s->best) && isnan(s->baseline_ns));
    assert_string_equal(s->task, "");
    assert_null(s->parent_run);
    assert_null(state_version(s, 0));
    assert_null(state_goal(s));
    assert_null(state_effect(s, 1));
    assert_int_equal(state_find_plan(s, "x"), -1);
    assert_int_equal(state_find_config(s, "x"), -1);
    char *text = state_canonical(s);
    assert_non_null(strstr(text, "task="));
    free(text);
}

static void test_created(void **state)
{
    struct fold *f = *state;
    begin(f);
    assert_string_equal(f->s->task, "tiny");
    assert_string_equal(f->s->task_hash.hex, "aa");
    assert_true(f->s->seed == UINT64_MAX);
    assert_int_equal(f->s->jobs, 3);
    assert_int_equal(f->s->created, 1001 * S);
    assert_int_equal(f->s->nversions, 2);
    assert_int_equal(f->s->last_seq, 3);
    assert_int_equal(f->s->last_time, 1003 * S);
    fold(f, make(EV_RUN_CREATED, 0, 0, "again"));
    assert_string_equal(f->s->task, "tiny");
    assert_int_equal(f->s->unknown, 1);
}

static void test_versions(void **state)
{
    struct fold *f = *state;
    begin(f);
    fold_version(f, 3, "a gap");
    assert_int_equal(f->s->unknown, 1);
    fold_version(f, 2, "chunkwise CHUNK=16");
    struct event ev = make(EV_STRATEGY, 2, 0, "chunkwise");
    ev.x = 1.5;
    fold(f, ev);
    const struct version *v = state_version(f->s, 2);
    assert_int_equal(v->id, 2);
    assert_int_equal(v->parent, 1);
    assert_int_equal(v->seq, 5);
    assert_string_equal(v->config, "chunkwise CHUNK=16");
    assert_string_equal(v->strategy, "chunkwise");
    assert_true(v->predicted == 1.5 && isnan(v->speedup) && isnan(v->gain));
    assert_int_equal(v->verdict, VERDICT_NONE);
    assert_string_equal(v->source.hex, hash_bytes("chunkwise CHUNK=16", 18).hex);
    assert_string_equal(state_version(f->s, 1)->strategy, "");
    assert_null(state_version(f->s, 3));
    assert_null(state_version(f->s, -1));
    assert_int_equal(state_find_config(f->s, "chunkwise CHUNK=16"), 2);
    assert_int_equal(state_find_config(f->s, "chunkwise CHUNK=1"), -1);
    fold(f, make(EV_STRATEGY, 9, 0, "of nothing"));
    assert_int_equal(f->s->unknown, 2);
}

/* Strategy names are borrowed from a list that grows: they must stay where they are. */
static void test_many_strategies(void **state)
{
    struct fold *f = *state;
    char name[32];
    begin(f);
    for (int i = 2; i < 300; i++) {
        snprintf(name, sizeof name, "config %d", i);
        fold_version(f, i, name);
        snprintf(name, sizeof name, "strategy %d", i % 50);
        fold(f, make(EV_STRATEGY, i, 0, name));
    }
    assert_int_equal(f->s->nstrategies, 50);
    for (int i = 2; i < 300; i++) {
        snprintf(name, sizeof name, "strategy %d", i % 50);
        assert_string_equal(state_version(f->s, i)->strategy, name);
        snprintf(name, sizeof name, "config %d", i);
        assert_int_equal(state_find_config(f->s, name), i);
    }
}

static void test_effects(void **state)
{
    struct fold *f = *state;
    begin(f);
    struct event ev = make(EV_EFFECT, 1, 1, "");
    ev.code = EFFECT_BUILD;
    ev.n = 1;
    ev.hash = "source";
    fold(f, ev);
    fold_code(f, EV_EFFECT, 2, 1, EFFECT_BENCH);
    assert_int_equal(f->s->ninflight, 2);
    const struct effect *open = state_effect(f->s, 1);
    assert_int_equal(open->kind, EFFECT_BUILD);
    assert_int_equal(open->version, 1);
    assert_int_equal(open->attempt, 1);
    assert_int_equal(open->started, f->time - S);
    assert_string_equal(open->input.hex, "source");
    fold_code(f, EV_EFFECT, 2, 1, EFFECT_BENCH); /* a number given twice */
    assert_int_equal(f->s->unknown, 1);
    ev = make(EV_EFFECT_DONE, 1, 1, "");
    ev.code = VERDICT_OK;
    ev.n = 5 * S;
    ev.hash = "plan";
    fold(f, ev);
    int64_t built = f->seq;
    assert_int_equal(f->s->ninflight, 1);
    assert_null(state_effect(f->s, 1));
    assert_non_null(state_effect(f->s, 2));
    const struct version *v = state_version(f->s, 1);
    assert_int_equal(v->build, VERDICT_OK);
    assert_string_equal(v->plan.hex, "plan");
    assert_int_equal(v->time_ns, 5 * S);
    assert_int_equal(v->build_seq, built);
    fold(f, ev); /* finished twice */
    assert_int_equal(f->s->unknown, 2);
    assert_int_equal(state_version(f->s, 1)->time_ns, 5 * S);
    fold_code(f, EV_INTERRUPTED, 2, 1, 0);
    assert_int_equal(f->s->ninflight, 0);
    ev = make(EV_EFFECT_DONE, 2, 1, "");
    fold(f, ev); /* after it was given up */
    assert_int_equal(f->s->unknown, 3);
    assert_int_equal(f->s->neffects, 2);
}

static void test_baseline(void **state)
{
    struct fold *f = *state;
    begin(f);
    struct event ev = make(EV_BASELINE, 0, 0, "");
    ev.x = 5e7;
    ev.lo = 4e7;
    ev.hi = 6e7;
    ev.y = 0.2;
    fold(f, ev);
    assert_true(f->s->have_baseline);
    assert_true(f->s->baseline_ns == 5e7 && f->s->baseline_lo == 4e7 && f->s->baseline_hi == 6e7 &&
                f->s->baseline_peak == 0.2);
    assert_int_equal(f->s->baseline_seq, f->seq);
    assert_int_equal(state_version(f->s, 0)->verdict, VERDICT_NONE);
}

static void test_tries_and_records(void **state)
{
    struct fold *f = *state;
    begin(f);
    for (int i = 2; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        fold_version(f, i, name);
        fold(f, make(EV_STRATEGY, i, 0, "vblock"));
    }
    fold_record(f, 2, 1.5); /* not tried yet */
    assert_int_equal(f->s->unknown, 1);
    assert_int_equal(f->s->incumbent, -1);
    fold_try(f, 2, VERDICT_OK, 1.5, 1.2, "plan-2");
    fold_record(f, 2, 1.5);
    assert_int_equal(f->s->incumbent, 2);
    assert_true(f->s->best == 1.5 && f->s->best_lo == 1.4 && f->s->best_hi == 1.6);
    assert_int_equal(f->s->tries_since_record, 0);
    fold_try(f, 3, VERDICT_WRONG, (double)NAN, (double)NAN, "plan-3");
    fold_record(f, 3, 9); /* a wrong one is never a record */
    assert_int_equal(f->s->incumbent, 2);
    assert_int_equal(f->s->unknown, 2);
    fold_try(f, 4, VERDICT_SCREENED, 0.5, 0.3, "plan-4");
    fold_try(f, 5, VERDICT_OK, 1.8, 1.25, "plan-5");
    assert_int_equal(f->s->tries_since_record, 3);
    fold_record(f, 5, 1.8);
    assert_int_equal(f->s->nrecords, 2);
    assert_int_equal(f->s->records[0], 2);
    assert_int_equal(f->s->records[1], 5);
    const struct version *v = state_version(f->s, 5);
    assert_true(v->record && v->speedup == 1.8 && v->gain == 1.25);
    assert_int_equal(v->against, 1);
    const struct strategy *g = &f->s->strategies[0];
    assert_string_equal(g->name, "vblock");
    assert_int_equal(g->tries, 4);
    assert_int_equal(g->failed, 1);
    assert_int_equal(g->records, 2);
    assert_int_equal(g->last_version, 5);
    assert_true(g->best == 1.25 && g->worst == 0.3);
    fold_try(f, 77, VERDICT_OK, 1, 1, "");
    assert_int_equal(f->s->unknown, 3);
    /* Scored again under another goal: the numbers are new, the try is not counted twice. */
    fold_try(f, 5, VERDICT_OK, 1.7, 1, "plan-5");
    assert_true(state_version(f->s, 5)->speedup == 1.7);
    assert_int_equal(f->s->strategies[0].tries, 4);
}

static void test_find_plan(void **state)
{
    struct fold *f = *state;
    static const struct {
        enum verdict verdict;
        bool holds; /* the stored result answers another version with this plan */
    } cases[] = {{VERDICT_OK, true},     {VERDICT_SCREENED, true},   {VERDICT_WRONG, true},
                 {VERDICT_FAULT, true},  {VERDICT_TIMEOUT, true},    {VERDICT_INACCURATE, true},
                 {VERDICT_INFRA, false}, {VERDICT_CANCELLED, false}, {VERDICT_SAME, false},
                 {VERDICT_DEAD, false}};
    char name[32];
    begin(f);
    for (int i = 0; i < (int)ARRAY_LEN(cases); i++) {
        snprintf(name, sizeof name, "plan-%d", i);
        fold_version(f, i + 2, name);
        fold_try(f, i + 2, cases[i].verdict, 1, 1, name);
        assert_int_equal(state_find_plan(f->s, name), cases[i].holds ? i + 2 : -1);
    }
    fold_version(f, 12, "same as plan-0");
    fold_try(f, 12, VERDICT_OK, 1, 1, "plan-0");
    assert_int_equal(state_find_plan(f->s, "plan-0"), 2); /* the first */
    assert_int_equal(state_find_plan(f->s, ""), -1);
}

static void test_people(void **state)
{
    struct fold *f = *state;
    begin(f);
    struct event ev = make(EV_GOAL, 1, 0, "be fast");
    ev.x = 3;
    fold(f, ev);
    assert_true(state_goal(f->s)->hours == 0 && state_goal(f->s)->calls == 0);
    ev.id = 2;
    ev.text = "be faster";
    ev.lo = 8;
    ev.n = 200;
    fold(f, ev);
    const struct goal *g = state_goal(f->s);
    assert_int_equal(g->id, 2);
    assert_string_equal(g->text, "be faster");
    assert_true(g->target == 3 && g->hours == 8 && g->calls == 200);
    fold(f, make(EV_STEER, 1, 0, "try wide vectors"));
    fold(f, make(EV_STEER, 2, 0, "and blocks"));
    fold(f, make(EV_STEER, 2, 0, "again"));
    assert_int_equal(f->s->nsteers, 2);
    assert_int_equal(f->s->unknown, 1);
    fold_code(f, EV_STEER_SEEN, 1, 2, 0);
    assert_int_equal(f->s->steers[0].seen, f->seq);
    assert_int_equal(f->s->steers[1].seen, 0);
    fold_code(f, EV_STEER_SEEN, 1, 2, 0);
    fold_code(f, EV_STEER_SEEN, 7, 2, 0);
    assert_int_equal(f->s->unknown, 3);
    fold(f, make(EV_NOTE, 1, 0, "a note"));
    fold_code(f, EV_CALL, 1, 0, TOOL_SUBMIT);
    assert_int_equal(f->s->ncalls, 1);
    assert_int_equal(f->s->ncalls_done, 0);
    fold_code(f, EV_CALL_DONE, 1, 0, VERDICT_OK);
    fold_code(f, EV_CALL_DONE, 1, 0, VERDICT_OK); /* once too often */
    assert_int_equal(f->s->ncalls_done, 1);
    assert_int_equal(f->s->unknown, 4);
    assert_int_equal(f->s->nnotes, 1);
    struct event pause = make(EV_PAUSED, 0, 0, "ann");
    pause.code = 1;
    fold(f, pause);
    assert_true(f->s->paused && f->s->pause_code == 1);
    assert_string_equal(f->s->pause_cause, "ann");
    fold(f, make(EV_RESUMED, 0, 0, "ann"));
    assert_false(f->s->paused);
    fold_code(f, EV_ENDED, 0, 0, END_BUDGET);
    assert_true(f->s->ended && f->s->reason == END_BUDGET);
    fold(f, make(EV_REOPENED, 0, 0, "ann"));
    assert_false(f->s->ended);
    assert_int_equal(f->s->reason, END_NONE);
}

static void start_engine(struct fold *f, int64_t id)
{
    struct event ev = make(EV_ENGINE_STARTED, id, 0, "host");
    ev.n = 100 + id;
    fold(f, ev);
}

static void test_time_at_work(void **state)
{
    struct fold *f = *state;
    begin(f);
    assert_int_equal(f->s->active_ns, 0);
    assert_int_equal(state_active_ns(f->s, f->time + 50 * S), 0); /* no engine yet */
    start_engine(f, 1);
    assert_int_equal(f->s->engine_start, f->time);
    assert_int_equal(f->s->driver_pid, 101);
    assert_string_equal(f->s->driver_host, "host");
    fold(f, make(EV_SAY, 0, 0, "a"));
    fold(f, make(EV_SAY, 0, 0, "b"));
    assert_int_equal(f->s->active_ns, 2 * S);
    assert_int_equal(state_active_ns(f->s, f->time + 5 * S), 7 * S);
    assert_int_equal(state_active_ns(f->s, f->time - 5 * S), 2 * S); /* a clock set back */
    f->time += 3600 * S; /* it died; an hour later another goes on */
    start_engine(f, 2);
    assert_int_equal(f->s->active_ns, 2 * S);
    fold(f, make(EV_SAY, 0, 0, "c"));
    assert_int_equal(f->s->active_ns, 3 * S);
    fold(f, make(EV_PAUSED, 0, 0, "ann"));
    f->time += 3600 * S;
    assert_int_equal(state_active_ns(f->s, f->time), 4 * S);
    fold(f, make(EV_RESUMED, 0, 0, "ann"));
    assert_int_equal(f->s->active_ns, 4 * S);
    fold(f, make(EV_ENGINE_STOPPED, 2, 0, "left"));
    assert_true(f->s->stopped);
    assert_int_equal(f->s->active_ns, 5 * S);
    f->time += 3600 * S;
    fold(f, make(EV_SAY, 0, 0, "d"));
    assert_int_equal(f->s->active_ns, 5 * S);
    assert_int_equal(f->s->engines, 2);
}

static void test_fork(void **state)
{
    struct fold *f = *state;
    begin(f);
    start_engine(f, 1);
    f->time += 1000 * S;
    fold(f, make(EV_FORKED, 0, 1, "tiny-1"));
    assert_string_equal(f->s->parent_run, "tiny-1");
    assert_int_equal(f->s->forked_from, 1);
    assert_int_equal(state_active_ns(f->s, f->time + 9 * S), f->s->active_ns);
}

static void test_unknown_kinds(void **state)
{
    struct fold *f = *state;
    begin(f);
    char *before = state_canonical(f->s);
    size_t says = f->s->nsays;
    fold_code(f, (enum event_kind)EV_COUNT, 1, 1, 1);
    fold_code(f, (enum event_kind)12345, 1, 1, 1);
    fold_code(f, (enum event_kind) - 1, 1, 1, 1);
    fold_code(f, EV_NONE, 1, 1, 1);
    assert_int_equal(f->s->unknown, 4);
    assert_int_equal(f->s->last_seq, 7);
    assert_int_equal(f->s->nsays, says);
    f->s->unknown = 0;
    char *after = state_canonical(f->s);
    assert_string_equal(before, after);
    free(before);
    free(after);
}

static void test_says(void **state)
{
    struct fold *f = *state;
    begin(f);
    size_t before = f->s->nsays;
    fold(f, make(EV_SAY, 0, 0, "x"));
    fold(f, make(EV_STEER, 1, 0, "y"));
    fold_try(f, 1, VERDICT_OK, 1, 1, "");
    fold_record(f, 1, 1);
    fold(f, make(EV_PAUSED, 0, 0, "z"));
    fold(f, make(EV_FAULT, 0, 0, "w"));
    assert_int_equal(f->s->nsays, before + 6);
    assert_int_equal(f->s->says[before], 4);
    fold_code(f, EV_EFFECT, 1, 1, EFFECT_BUILD);
    fold_code(f, EV_CALL, 1, 1, TOOL_SUBMIT);
    assert_int_equal(f->s->nsays, before + 6);
}

/* ---- canonical ---------------------------------------------------------------------------------
 */

/* A short run with everything in it; `skew` moves what must not count: times, pids, hosts,
 * durations, and a crash in the middle (its effect is done again under another number). */
static void play(struct fold *f, int64_t skew)
{
    f->time += skew;
    begin(f);
    struct event ev = make(EV_ENGINE_STARTED, 1, 0, skew ? "other" : "host");
    ev.n = 100 + skew;
    fold(f, ev);
    ev = make(EV_GOAL, 1, 0, "be fast");
    ev.x = 3;
    fold(f, ev);
    fold_version(f, 2, "chunkwise");
    fold(f, make(EV_STRATEGY, 2, 0, "chunkwise"));
    fold_code(f, EV_EFFECT, 1, 2, EFFECT_BUILD);
    int64_t effect = 1;
    if (skew) {
        ev.kind = EV_ENGINE_STARTED;
        ev.text = "third";
        fold(f, ev);
        fold_code(f, EV_INTERRUPTED, 1, 2, 0);
        fold_code(f, EV_EFFECT, ++effect, 2, EFFECT_BUILD);
    }
    ev = make(EV_EFFECT_DONE, effect, 2, "");
    ev.code = VERDICT_OK;
    ev.n = 5 + skew;
    ev.hash = "plan";
    fold(f, ev);
    fold_try(f, 2, VERDICT_OK, 1.5, 1.5, "plan");
    fold_record(f, 2, 1.5);
    fold(f, make(EV_STEER, 1, 0, "go on"));
    fold(f, make(EV_NOTE, 1, 0, "n"));
}

static char *played(int64_t skew, void (*change)(struct fold *f))
{
    struct fold f = {.s = state_new(), .time = 1000 * S};
    play(&f, skew);
    if (change)
        change(&f);
    char *text = state_canonical(f.s);
    state_free(f.s);
    return text;
}

static void change_pause(struct fold *f)
{
    fold(f, make(EV_PAUSED, 0, 0, "ann"));
}
static void change_version(struct fold *f)
{
    fold_version(f, 3, "another");
}
static void change_try(struct fold *f)
{
    fold_try(f, 2, VERDICT_OK, 1.5000000000000002, 1.5, "plan");
}
static void change_verdict(struct fold *f)
{
    fold_try(f, 1, VERDICT_WRONG, (double)NAN, (double)NAN, "");
}
static void change_seen(struct fold *f)
{
    fold_code(f, EV_STEER_SEEN, 1, 2, 0);
}
static void change_goal(struct fold *f)
{
    fold(f, make(EV_GOAL, 2, 0, "be faster"));
}
static void change_effect(struct fold *f)
{
    fold_code(f, EV_EFFECT, 50, 2, EFFECT_BENCH);
}
static void change_end(struct fold *f)
{
    fold_code(f, EV_ENDED, 0, 0, END_STALLED);
}
static void change_call(struct fold *f)
{
    fold_code(f, EV_CALL, 1, 2, TOOL_SUBMIT);
}
static void change_note(struct fold *f)
{
    fold(f, make(EV_NOTE, 2, 0, ""));
}
static void change_baseline(struct fold *f)
{
    struct event ev = make(EV_BASELINE, 0, 0, "");
    ev.x = 5;
    fold(f, ev);
}
static void change_unknown(struct fold *f)
{
    fold_code(f, EV_EFFECT_DONE, 999, 2, 0);
}

static void test_canonical(void **state)
{
    (void)state;
    static void (*const changes[])(struct fold *) = {
        change_pause, change_version, change_try,      change_verdict,
        change_seen,  change_goal,    change_effect,   change_end,
        change_call,  change_note,    change_baseline, change_unknown};
    char *a = played(0, NULL), *b = played(777 * S, NULL);
    assert_string_equal(a, b);
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        free(b);
        b = played(0, changes[i]);
        if (strcmp(a, b) == 0)
            fail_msg("change %zu makes no difference to the canonical text", i);
    }
    free(a);
    free(b);
}

/* The lines that a real clock makes different are marked. */
static void test_canonical_marks_measurements(void **state)
{
    (void)state;
    char *text = played(0, NULL);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, "speedup=") || strstr(line, "best=") || strstr(line, "record") ||
            strstr(line, "verdict="))
            assert_true(line[0] == '~' && line[1] == ' ');
    free(text);
}

/* Time travel: an earlier moment is the fold of a prefix, and lists only grow. */
struct travel {
    struct run_state *s;
    size_t versions, says, records;
};

static bool only_grows(void *ctx, const struct event *ev)
{
    struct travel *t = ctx;
    state_apply(t->s, ev);
    assert_true(t->s->nversions >= t->versions && t->s->nsays >= t->says &&
                t->s->nrecords >= t->records);
    t->versions = t->s->nversions;
    t->says = t->s->nsays;
    t->records = t->s->nrecords;
    return true;
}

static void test_prefix(void **state)
{
    (void)state;
    char *dir = scratch_new();
    struct error e = {0};
    struct mkrun_opts o = {.calls = 30};
    assert_true(mkrun(scratch_path(dir, "a-1.warp"), &o, NULL, &e));
    struct log *log = log_open_read(scratch_path(dir, "a-1.warp"), &e);
    struct travel all = {.s = state_new()}, half = {.s = state_new()};
    assert_true(log_each(log, 0, 0, false, only_grows, &all, &e));
    assert_int_equal(all.s->unknown, 0);
    assert_int_equal(all.s->nversions, 32);
    assert_true(all.s->nrecords > 0 && all.s->nstrategies > 3);
    int64_t cut = all.s->versions[16].seq;
    assert_true(log_each(log, 0, cut, false, only_grows, &half, &e));
    assert_int_equal(half.s->nversions, 17);
    for (size_t i = 0; i < half.s->nsays; i++)
        assert_int_equal(half.s->says[i], all.s->says[i]);
    state_free(all.s);
    state_free(half.s);
    log_close(log);
    scratch_free(dir);
}

static void test_names(void **state)
{
    (void)state;
    for (int k = 1; k < EV_COUNT; k++)
        assert_string_not_equal(event_kind_name((enum event_kind)k), "?");
    assert_string_equal(event_kind_name(EV_RUN_CREATED), "run-created");
    assert_string_equal(event_kind_name((enum event_kind) - 5), "?");
    assert_string_equal(event_kind_name((enum event_kind)4000), "?");
    for (int v = 0; v < VERDICT_COUNT; v++)
        assert_int_equal(verdict_of(verdict_name((enum verdict)v)), v);
    assert_int_equal(verdict_of("nonsense"), VERDICT_NONE);
    assert_string_equal(verdict_name((enum verdict)99), "?");
    assert_string_equal(end_reason_name(END_TARGET_MET), "target met");
    assert_string_equal(end_reason_name((enum end_reason)99), "?");
    assert_string_equal(effect_name(EFFECT_BENCH), "bench");
    assert_string_equal(effect_name((enum effect_kind) - 1), "?");
    struct event ev = event_make(EV_SAY);
    assert_true(isnan(ev.x) && isnan(ev.lo) && isnan(ev.hi) && isnan(ev.y));
    assert_string_equal(ev.text, "");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_empty),
        T(test_created),
        T(test_versions),
        T(test_many_strategies),
        T(test_effects),
        T(test_baseline),
        T(test_tries_and_records),
        T(test_find_plan),
        T(test_people),
        T(test_time_at_work),
        T(test_fork),
        T(test_unknown_kinds),
        T(test_says),
        T(test_canonical),
        T(test_canonical_marks_measurements),
        T(test_prefix),
        T(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
