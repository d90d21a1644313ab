/* Wire requests made from tasks: what warploop-bench reads out of them is what the task says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/task/spec.h"
#include "gpu/c/spec.h"
#include "tests/support/tasks.h"

static struct buf object = {(char[]){"\177ELF object"}, 11, 0};

static struct wire_msg evaluate(const struct task *t, enum eval_mode mode, struct spec_opts o)
{
    struct wire_msg m;
    struct error e = {0};
    struct eval_parts parts = {.candidate = &object, .baseline = &object, .reference = &object};
    if (!spec_evaluate(t, mode, &parts, &o, &m, &e))
        fail_msg("%s", e.msg);
    return m;
}

static void test_build(void **state)
{
    (void)state;
    struct task *t = tasks_load("kda");
    static const char *const roles[] = {"candidate", "baseline", "reference"};
    for (int r = 0; r < 3; r++) {
        struct wire_msg m;
        struct spec_opts o = {.id = (int64_t)1 << 60, .jail = "none"};
        spec_build(t, (enum build_role)r, "int x;", 6, &o, &m);
        assert_string_equal(json_str(m.head, "op", ""), "build");
        assert_string_equal(json_str(m.head, "id", ""), "1152921504606846976");
        assert_string_equal(json_str(m.head, "role", ""), roles[r]);
        assert_string_equal(json_str(m.head, "backend", ""), "c");
        assert_string_equal(json_str(m.head, "task", ""), "kda");
        assert_string_equal(json_str(m.head, "entry", ""), "kda_fwd");
        assert_string_equal(json_str(m.head, "symbol", ""), r == 2 ? "kda_fwd_ref" : "kda_fwd");
        assert_string_equal(json_str(m.head, "jail", ""), "none");
        assert_true(json_i64(m.head, "timeout_ms", 0) > 0);
        const cJSON *headers = cJSON_GetObjectItem(m.head, "headers");
        assert_int_equal(cJSON_GetArraySize(headers), (int)t->c.nheaders);
        assert_string_equal(buf_str(wire_part(&m, "source")), "int x;");
        assert_non_null(
            strstr(buf_str(wire_part(&m, "header")), "void kda_fwd(int B, int T, int H"));
        assert_int_equal(!strstr(buf_str(wire_part(&m, "shim")), "kda_fwd_ref("), r != 2);
        wire_msg_free(&m);
    }
    task_free(t);
}

/* Everything that the bench parses out of the request. */
static void compare(const struct task *t, const struct ev_request *r)
{
    size_t b = 0;
    assert_int_equal(r->nshapes, t->nshapes);
    assert_int_equal(r->nfamilies, (size_t)cJSON_GetArraySize(t->families));
    assert_true(r->margin == t->margin && r->max_shape_loss == t->max_shape_loss);
    assert_int_equal(r->call_ns, t->c.call_ms * 1000000);
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        if (p->kind == PARAM_DIM || p->kind == PARAM_SCALAR)
            continue;
        const struct ev_buffer *eb = &r->buffer[b];
        assert_string_equal(eb->name, p->name);
        if (p->kind == PARAM_OUTPUT) {
            assert_true(eb->soft == p->soft && eb->hard == p->hard);
            assert_int_equal(eb->head_axis, p->head_axis);
            assert_int_equal(eb->block_axis, p->block_axis);
            assert_int_equal(eb->block, p->block);
        }
        for (size_t s = 0; s < t->nshapes; s++) {
            int64_t n = 1, v = 0;
            if (p->kind == PARAM_WORKSPACE)
                assert_true(task_eval(t, &t->shapes[s], p->bytes, &n, NULL));
            for (size_t k = 0; k < p->nextents; k++) {
                assert_true(task_eval(t, &t->shapes[s], p->extents[k], &v, NULL));
                assert_int_equal(r->shape[s].extent[b].n[k], (size_t)v);
                n *= v;
            }
            assert_int_equal(r->shape[s].count[b], (size_t)n);
        }
        b++;
    }
    assert_int_equal(r->nbuffers, b);
    for (size_t s = 0; s < t->nshapes; s++) {
        const struct ev_shape *es = &r->shape[s];
        int64_t flop = 0;
        assert_string_equal(es->name, t->shapes[s].name);
        assert_int_equal(es->role, (int)t->shapes[s].role);
        for (size_t k = 0; k < r->ndims; k++)
            assert_int_equal(es->dims[k], t->shapes[s].dims[k]);
        assert_true(task_eval(t, &t->shapes[s], t->flop, &flop, NULL));
        assert_true(es->flop == (double)flop && es->bytes > 0);
    }
}

static void test_evaluate(void **state)
{
    (void)state;
    static const char *const names[] = {"kda", "mla-decode", "tiny", "search"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct task *t = tasks_load(names[i]);
        struct ev_request r;
        struct error e = {0};
        struct spec_opts o = {
            .id = 8, .jail = "auto", .seed = UINT64_MAX - 1, .sets_min = 3, .sets_max = 7};
        struct wire_msg m = evaluate(t, EVAL_FULL, o);
        char *line = json_text(m.head);
        assert_true(strlen(line) < WIRE_LINE_MAX / 4);
        cJSON *head = cJSON_Parse(line); /* what the other side sees */
        if (!ev_request_parse(head, &r, &e))
            fail_msg("%s: %s", names[i], e.msg);
        compare(t, &r);
        assert_string_equal(r.id, "8");
        assert_true(r.seed == UINT64_MAX - 1);
        assert_int_equal(r.sets_min, 3);
        assert_int_equal(r.sets_max, 7);
        assert_int_equal(r.mode, EV_MODE_FULL);
        assert_true(r.profile && !r.jail_none);
        assert_true(r.timeout_ns >= 60 * r.call_ns && r.timeout_ns >= 120000000000);
        assert_non_null(wire_part(&m, "candidate"));
        assert_null(wire_part(&m, "incumbent"));
        ev_request_free(&r);
        cJSON_Delete(head);
        free(line);
        wire_msg_free(&m);
        task_free(t);
    }
}

static void test_modes(void **state)
{
    (void)state;
    struct task *t = tasks_load("tiny");
    struct ev_request r;
    struct error e = {0};
    struct wire_msg m = evaluate(t, EVAL_CHECK, (struct spec_opts){.id = 1});
    assert_true(ev_request_parse(m.head, &r, &e));
    assert_int_equal(r.mode, EV_MODE_CHECK);
    assert_false(r.profile);
    assert_int_equal(r.sets_min, 5); /* the bench's default */
    ev_request_free(&r);
    wire_msg_free(&m);
    struct eval_parts none = {.baseline = &object},
                      lacks = {.baseline = &object, .reference = &object};
    struct spec_opts o = {.id = 1, .jail = "none"};
    assert_true(spec_evaluate(t, EVAL_BASELINE, &none, &o, &m, &e));
    assert_true(ev_request_parse(m.head, &r, &e));
    assert_int_equal(r.mode, EV_MODE_BASELINE);
    assert_true(r.jail_none);
    ev_request_free(&r);
    wire_msg_free(&m);
    assert_false(spec_evaluate(t, EVAL_FULL, &lacks, &o, &m, &e));
    assert_non_null(strstr(e.msg, "candidate"));
    assert_false(spec_evaluate(t, EVAL_CHECK, &none, &o, &m, &e));
    task_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_evaluate),
        cmocka_unit_test(test_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
