/* Agents by name, and the one that proposes a recorded run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/log/log.h"
#include "core/loop/agent.h"
#include "tests/support/scratch.h"
#include "tests/support/tasks.h"

static struct task *task;

static void put_version(struct log *log, int64_t id, const char *config, const char *source,
                        const char *hypothesis)
{
    struct error e = {0};
    struct hash h;
    struct event ev = event_make(EV_VERSION), st = event_make(EV_STRATEGY);
    char *body = xasprintf("{\"hypothesis\":\"%s\"}", hypothesis);
    assert_true(log_put_blob(log, source, strlen(source), &h, &e));
    ev.id = id;
    ev.ref = id - 1;
    ev.text = config;
    ev.hash = h.hex;
    ev.body = body;
    assert_true(log_append(log, &ev, &e));
    st.id = id;
    st.text = "idea";
    st.x = 1.25;
    assert_true(log_append(log, &st, &e));
    free(body);
}

/* A recorded run with baseline, start and three versions. */
static void record(const char *path, const char *of)
{
    struct error e = {0};
    struct log *log = log_create(path, &e);
    if (!log || !log_lock(log, &e))
        fail_msg("%s", e.msg);
    log_begin(log);
    struct event ev = event_make(EV_RUN_CREATED);
    ev.text = of;
    log_append(log, &ev, &e);
    put_version(log, 0, "baseline", "int b;", "");
    put_version(log, 1, "start", "int s;", "");
    put_version(log, 2, "interchange", "int two;", "second idea");
    put_version(log, 3, "mine.c", "int three;", "third \\\"idea\\\"");
    put_version(log, 4, "interchange tiled TILE=64", "int four;", "");
    assert_true(log_commit(log, &e));
    log_close(log);
}

static void add(struct run_state *s, const char *config)
{
    struct event ev = event_make(EV_VERSION);
    ev.id = (int64_t)s->nversions;
    ev.text = config;
    ev.seq = s->last_seq + 1;
    state_apply(s, &ev);
}

static void expect(const struct agent *a, const struct run_state *s, const char *config,
                   const char *source, const char *hypothesis)
{
    for (int again = 0; again < 2; again++) { /* pure: asked again, the same */
        struct proposal p = {0};
        struct error e = {0};
        if (a->propose(a->self, s, &p, &e) != AGENT_PROPOSES)
            fail_msg("%s", e.msg);
        assert_string_equal(p.config, config);
        assert_string_equal(buf_str(&p.source), source);
        assert_string_equal(p.hypothesis, hypothesis);
        assert_string_equal(p.strategy, "idea");
        assert_true(p.predicted == 1.25);
        assert_int_equal(p.parent, (int64_t)s->nversions - 1);
        proposal_free(&p);
        assert_null(p.config);
    }
}

static void test_replays(void **state)
{
    (void)state;
    char *dir = scratch_new();
    const char *path = scratch_path(dir, "old.warp");
    record(path, "tiny");
    char *name = xasprintf("replay:%s", path);
    struct agent a;
    struct error e = {0};
    if (!agent_open(name, task, &a, &e))
        fail_msg("%s", e.msg);
    assert_string_equal(a.name, "replay");
    struct run_state *s = state_new();
    add(s, "baseline");
    add(s, "start");
    expect(&a, s, "interchange", "int two;", "second idea");
    add(s, "interchange");
    expect(&a, s, "mine.c", "int three;", "third \"idea\"");
    agent_close(&a); /* a restarted engine: the place is in the state */
    assert_true(agent_open(name, task, &a, &e));
    add(s, "mine.c");
    expect(&a, s, "interchange tiled TILE=64", "int four;", "");
    add(s, "interchange tiled TILE=64");
    struct proposal p = {0};
    assert_int_equal(a.propose(a.self, s, &p, &e), AGENT_FINISHED);
    agent_close(&a);
    assert_null(a.propose);
    state_free(s);
    free(name);
    scratch_free(dir);
}

static void test_refuses(void **state)
{
    (void)state;
    char *dir = scratch_new();
    const char *path = scratch_path(dir, "other.warp");
    record(path, "kda");
    struct agent a;
    struct error e = {0};
    char *other = xasprintf("replay:%s", path), *none = xasprintf("replay:%s/none.warp", dir);
    assert_false(agent_open(other, task, &a, &e));
    assert_non_null(strstr(e.msg, "a run of task \"kda\", not of \"tiny\""));
    assert_false(agent_open(none, task, &a, &e));
    assert_true(*e.msg);
    assert_false(agent_open("replay:", task, &a, &e));
    assert_true(fs_write(scratch_path(dir, "junk.warp"), "junk", 4, &e));
    free(none);
    none = xasprintf("replay:%s/junk.warp", dir);
    assert_false(agent_open(none, task, &a, &e));
    assert_false(agent_open("tunerr", task, &a, &e));
    assert_non_null(strstr(e.msg, "tuner (built in)"));
    free(other);
    free(none);
    scratch_free(dir);
}

static void test_built_in(void **state)
{
    (void)state;
    struct agent a;
    struct error e = {0};
    struct proposal p = {0};
    struct run_state *s = state_new();
    add(s, "baseline");
    add(s, "start");
    assert_true(agent_open("outside", task, &a, &e));
    assert_int_equal(a.propose(a.self, s, &p, &e), AGENT_WAITS);
    agent_close(&a);
    assert_true(agent_open("tuner", task, &a, &e));
    assert_int_equal(a.propose(a.self, s, &p, &e), AGENT_PROPOSES);
    assert_non_null(strstr(p.config, "interchange"));
    proposal_free(&p);
    agent_close(&a);
    agent_close(&a); /* harmless */
    state_free(s);
}

int main(void)
{
    task = tasks_load("tiny");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replays),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_built_in),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    task_free(task);
    return rc;
}
