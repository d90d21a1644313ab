/* task.json: what is right loads completely, what is wrong is told with file, line and field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/task/field.h"
#include "core/task/task.h"
#include "core/task/task_private.h"
#include "tests/support/scratch.h"
#include "tests/support/tasks.h"

static char *good_dir; /* the fixture that the errors below are made from */
static struct buf good;

static struct task *from_text(const char *text, size_t n, struct error *e)
{
    return task_from_text(good_dir, "task.json", text, n, e);
}

/* The good file with the first `from` replaced. */
static char *edited(const char *from, const char *to)
{
    const char *at = strstr(buf_str(&good), from);
    if (!at)
        fail_msg("the fixture has no \"%s\"", from);
    return xasprintf("%.*s%s%s", (int)(at - good.s), good.s, to, at + strlen(from));
}

static int line_of(const char *text)
{
    int line = 1;
    const char *at = strstr(buf_str(&good), text);
    for (const char *p = good.s; p < at; p++)
        line += *p == '\n';
    return line;
}

/* ---------------------------------------------------------------- what is right */

/* A ragged batch: the work is known although the lengths are an input. */
static void test_mla_decode(void **state)
{
    (void)state;
    struct task *t = tasks_load("mla-decode");
    int64_t flop = 0, T = 0, H = 0;
    struct error e = {0};
    assert_int_equal(t->ncheats, 2);
    assert_true(fabs(t->params[6].value - 1 / sqrt(128 + 64)) < 1e-15);
    assert_int_equal(t->params[7].head_axis, 1);
    assert_int_equal(t->params[7].block_axis, 2);
    for (size_t s = 0; s < t->nshapes && t->shapes[s].role == SHAPE_SCORED; s++) {
        int64_t pairs = 0;
        assert_string_equal(t->shapes[s].family, "staircase"); /* unused[b] = b / B */
        assert_true(task_eval(t, &t->shapes[s], t->flop, &flop, &e));
        assert_true(task_eval(t, &t->shapes[s], "T", &T, &e));
        assert_true(task_eval(t, &t->shapes[s], "H", &H, &e));
        for (int64_t b = 0, B = t->shapes[s].dims[0]; b < B; b++)
            pairs += H * (T - (int64_t)((float)b / (float)B * (float)T));
        assert_int_equal(flop, 2 * (576 + 512) * pairs);
    }
    task_free(t);
}

static void test_loads(void **state)
{
    (void)state;
    struct task *t = tasks_load("kda");
    assert_string_equal(t->name, "kda");
    assert_int_equal(t->nparams, 13);
    assert_int_equal(t->params[0].kind, PARAM_DIM);
    assert_int_equal(t->params[8].kind, PARAM_SCALAR);
    assert_true(fabs(t->params[8].value - 1 / sqrt(128)) < 1e-15);
    assert_int_equal(t->params[10].kind, PARAM_OUTPUT);
    assert_int_equal(t->params[10].block, 64);
    assert_int_equal(t->params[11].block_axis, -1);
    assert_true(t->nshapes >= 6 && t->shapes[0].role == SHAPE_SCORED);
    assert_true(t->nmoves >= 8 && t->ntunables >= 3);
    assert_string_equal(t->moves[0].sw, "CHUNKWISE");
    assert_true(t->target > 1 && t->margin == 0.005);
    assert_non_null(strstr(t->c.baseline, "kda_fwd"));
    assert_non_null(strstr(t->c.moves, "#if"));
    int64_t v = 0;
    struct error e = {0};
    assert_true(task_eval(t, &t->shapes[0], "4*B*T*K", &v, &e));
    assert_int_equal(v, 4 * t->shapes[0].dims[0] * t->shapes[0].dims[1] * 128);
    assert_false(task_eval(t, &t->shapes[0], "4*Q", &v, &e));
    assert_non_null(strstr(e.msg, "unknown name Q"));
    struct task *again = tasks_load("kda");
    assert_string_equal(t->hash.hex, again->hash.hex);
    task_free(again);
    task_free(t);
}

/* Optional members may be left out, and the identity follows every source. */
static void test_small(void **state)
{
    (void)state;
    struct error e = {0};
    struct task *t = from_text(good.s, good.len, &e);
    if (!t)
        fail_msg("%s", e.msg);
    assert_true(isnan(t->target) && t->margin == 0.005 && t->max_shape_loss == 0.03);
    assert_int_equal(t->c.call_ms, 2000);
    assert_int_equal(t->nmoves, 2);
    assert_int_equal(t->ncheats, 1);
    char *text = edited("\"a task\"", "\"the task\"");
    struct task *other = from_text(text, strlen(text), &e);
    assert_non_null(other);
    assert_string_not_equal(t->hash.hex, other->hash.hex);
    task_free(other);
    task_free(t);
    free(text);
}

static void test_finding(void **state)
{
    (void)state;
    struct error e = {0};
    char **names;
    size_t n;
    char *dir = tasks_dir("kda"), *file = fs_join(dir, "task.json"), *trail = xasprintf("%s/", dir);
    const char *const ways[] = {"kda", dir, file, trail};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        struct task *t = task_load(ways[i], &e);
        if (!t)
            fail_msg("%s: %s", ways[i], e.msg);
        assert_string_equal(t->dir, dir);
        task_free(t);
    }
    assert_true(task_names(&names, &n, &e));
    assert_true(n >= 2);
    for (size_t i = 1; i < n; i++)
        assert_true(strcmp(names[i - 1], names[i]) < 0);
    task_names_free(names, n);
    assert_null(task_load("kdaa", &e));
    assert_int_equal(e.code, ERR_NOTFOUND);
    assert_non_null(strstr(e.msg, "did you mean \"kda\"?"));
    assert_non_null(strstr(e.msg, "kda, "));
    static const char *const bad[] = {"", ".", "..", "/nowhere", "../kda", "kda/../nothing", "\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_null(task_load(bad[i], &e));
        assert_int_equal(e.code, ERR_NOTFOUND);
    }
    free(dir);
    free(file);
    free(trail);
}

/* A task of that name in the kernels folder must carry its folder's name. */
static void test_other_name(void **state)
{
    (void)state;
    struct error e = {0};
    char *root = scratch_new();
    char *command = xasprintf("cp -r '%s' '%s/misnamed'", good_dir, root);
    assert_int_equal(system(command), 0);
    free(command);
    setenv("WARPLOOP_KERNELS", root, 1);
    assert_null(task_load("misnamed", &e));
    assert_non_null(strstr(e.msg, "task.json: field name: expected \"misnamed\""));
    struct task *t = task_load(scratch_path(root, "misnamed"), &e);
    assert_non_null(t);
    task_free(t);
    assert_int_equal(unlink(scratch_path(root, "misnamed/c/start.c")), 0);
    assert_null(task_load(scratch_path(root, "misnamed"), &e));
    assert_non_null(strstr(e.msg, "field backends/c/baseline: expected a readable file"));
    scratch_free(root);
    unsetenv("WARPLOOP_KERNELS");
}

/* ---------------------------------------------------------------- what is wrong */

static const struct mistake {
    const char *from, *to; /* in the good file */
    const char *field, *says;
} mistakes[] = {
    /* the whole */
    {"\"schema\": 1", "\"schema\": 2", "schema", "newer"},
    {"\"schema\": 1", "\"schema\": \"1\"", "schema", "whole number, got a text"},
    {"\"schema\": 1", "\"schema\": 1, \"schem\": 1", "schem", "did you mean \"schema\"?"},
    {"\"schema\": 1", "\"schema\": 1, \"colour\": 1", "colour", "unknown; remove it"},
    {"\"schema\": 1", "\"schema\": 1, \"name\": \"x\"", "name", "given twice"},
    {"\"schema\": 1,", "", "schema", "missing"},
    {"\"name\": \"good\"", "\"name\": \"Good\"", "name", "small letters"},
    {"\"name\": \"good\"", "\"name\": \"../x\"", "name", "small letters"},
    {"\"name\": \"good\"", "\"name\": \"\"", "name", "1 to 48 bytes"},
    {"\"name\": \"good\"", "\"name\": 3", "name", "text in quotes, got a number"},
    {"\"title\": \"a task\"", "\"title\": \"a\\ntask\"", "title", "control character"},
    {"\"title\": \"a task\",", "", "title", "missing"},
    {"\"margin\": 0.005", "\"margin\": 0.9", "margin", "from 0 to 0.5"},
    {"\"margin\": 0.005", "\"margin\": -1", "margin", "from 0 to 0.5"},
    {"\"margin\": 0.005", "\"margin\": 1e999", "margin", "from 0 to 0.5"},
    {"\"margin\": 0.005", "\"target\": 0", "target", "0.01"},
    /* constants */
    {"\"K\": 4", "\"K\": 4.5", "constants/K", "whole number"},
    {"\"K\": 4", "\"int\": 4", "constants/int", "meaning in C"},
    {"\"K\": 4", "\"4K\": 4", "constants/4K", "begin with a letter"},
    {"\"K\": 4", "\"_K\": 4", "constants/_K", "belong to the compiler"},
    {"\"K\": 4", "\"K\": 4, \"K\": 5", "constants/K", "given twice"},
    {"\"K\": 4", "\"N\": 4", "params/0/name", "\"N\" is a constant already"},
    /* params */
    {"\"kind\": \"dim\"", "\"kind\": \"dims\"", "params/0/kind", "expected dim, scalar"},
    {"\"kind\": \"dim\"", "\"kind\": \"dim\", \"soft\": 1", "params/0/soft", "unknown"},
    {"{\"name\": \"N\", \"kind\": \"dim\"}", "3", "params/0", "object { }, got a number"},
    {"{\"name\": \"N\", \"kind\": \"dim\"}", "{\"name\": \"N\"}", "params/0/kind", "missing"},
    {"{\"name\": \"N\", \"kind\": \"dim\"}", "{\"kind\": \"dim\"}", "params/0/name", "missing"},
    {"{\"name\": \"x\"", "{\"name\": \"float\"", "params/1/name", "meaning in C"},
    {"{\"name\": \"x\"", "{\"name\": \"N\"", "params/1/name", "\"N\" is a param already"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": []", "params/1/shape", "1 to 8 elements, got 0"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [1,1,1,1,1,1,1,1,1]", "params/1/shape", "got 9"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N\", \"M\"]", "params/1/shape/1",
     "unknown name M"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N\", \"K-4\"]", "params/1/shape/1", "got 0"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N\", \"K/3\"]", "params/1/shape/1",
     "not a multiple"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N\", \"9999999999\"]", "params/1/shape/1",
     "expected 1 to"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N*N*N\", \"N*N\"]", "params/1/shape", "4 GiB"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N*9000000000000000000\", 1]", "params/1/shape/0",
     "64 bits"},
    {"\"shape\": [\"N\", \"K\"]", "\"shape\": [\"N\", null]", "params/1/shape/1", "expression"},
    {"\"type\": \"f32\"", "\"type\": \"f64\"", "params/1/type", "\"f32\""},
    {"\"value\": 0.5", "\"value\": \"x\"", "params/2/value", "number"},
    {"\"value\": 0.5", "\"value\": 1e39", "params/2/value", "number from"},
    {"\"soft\": 1e-6,", "", "params/3/soft", "missing"},
    {"\"soft\": 1e-6,", "\"soft\": 1e-3,", "params/3/soft", "at most hard"},
    {"\"hard\": 1e-5,", "", "params/3/hard", "missing"},
    {"\"hard\": 1e-5,", "\"hard\": 0,", "params/3/hard", "number from"},
    {"\"head_axis\": 1", "\"head_axis\": 2", "params/3/head_axis", "from 0 to 1"},
    {"\"head_axis\": 1", "\"head_axis\": 0", "params/3", "to differ"},
    {"\"block\": 2", "\"block\": 0", "params/3/block", "from 1"},
    {"\"block_axis\": 0, ", "", "params/3/block", "expected block_axis beside it"},
    {", \"block\": 2", "", "params/3/block", "missing"},
    {"\"bytes\": \"64*N\"", "\"bytes\": \"64*\"", "params/4/bytes", "ends here"},
    {"\"bytes\": \"64*N\"", "\"bytes\": \"0-N\"", "params/4/bytes", "expected 0 to"},
    {"\"bytes\": \"64*N\"", "\"bytes\": \"4294967000\"", "params", "4 GiB for all tensors"},
    {"\"kind\": \"output\"", "\"kind\": \"input\"", "params/3/soft", "unknown"},
    /* work */
    {"\"flop\": \"N*K\"", "\"flop\": \"N*\"", "flop", "ends here"},
    {"\"flop\": \"N*K\"", "\"flop\": 0", "flop", "expected 1 to"},
    {"\"bytes\": 100", "\"bytes\": 1.5", "bytes", "whole number"},
    /* shapes */
    {"\"scored\": [", "\"scored\": [], \"check\": [", "shapes/check", "given twice"},
    {"\"scored\": [", "\"scores\": [", "shapes/scores", "did you mean \"scored\"?"},
    {"\"dims\": {\"N\": 100}", "\"dims\": {\"N\": 0}", "shapes/scored/0/dims/N", "from 1"},
    {"\"dims\": {\"N\": 100}", "\"dims\": {}", "shapes/scored/0/dims/N", "missing"},
    {"\"dims\": {\"N\": 100}", "\"dims\": {\"N\": 1, \"M\": 1}", "shapes/scored/0/dims/M",
     "unknown"},
    {"\"dims\": {\"N\": 100}", "\"dims\": {\"N\": 3000000000}", "shapes/scored/0/dims/N",
     "2147483647"},
    {"\"name\": \"n1\"", "\"name\": \"n100\"", "shapes/check/0/name", "\"n100\" stands above"},
    {"\"name\": \"n1\"", "\"name\": \"n1\", \"family\": \"wide\"", "shapes/check/0/family",
     "scored"},
    {"\"name\": \"n100\"", "\"name\": \"n100\", \"family\": \"wild\"", "families",
     "a family \"wild\""},
    /* families */
    {"\"class\": \"extreme\"", "\"class\": \"extremes\"", "families/1/class", "long-memory"},
    {"\"name\": \"wide\"", "\"name\": \"ordinary\"", "families/1/name", "stands above"},
    {"\"x\": {\"dist\": \"normal\"}", "\"y\": {\"dist\": \"normal\"}", "families/0/fill/y",
     "unknown"},
    {"\"x\": {\"dist\": \"normal\"}", "", "families/0/fill/x", "missing"},
    {"\"dist\": \"normal\"", "\"dist\": \"gauss\"", "families/0/fill/x/dist", "normal, uniform"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"lo\": 1", "families/0/fill/x/lo", "unknown"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"std\": -1", "families/0/fill/x/std",
     "number from 0"},
    {"\"dist\": \"normal\"", "\"dist\": \"constant\"", "families/0/fill/x/value", "missing"},
    {"\"dist\": \"normal\"", "\"dist\": \"choice\"", "families/0/fill/x/values", "missing"},
    {"\"dist\": \"normal\"", "\"dist\": \"choice\", \"values\": []", "families/0/fill/x/values",
     "1 to"},
    {"\"dist\": \"normal\"", "\"dist\": \"choice\", \"values\": [\"a\"]",
     "families/0/fill/x/values/0", "number"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"unit\": 1", "families/0/fill/x/unit",
     "true or false"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"zero_fraction\": 2",
     "families/0/fill/x/zero_fraction", "from 0 to 1"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"spike\": {\"fraction\": 1}",
     "families/0/fill/x/spike/value", "missing"},
    {"\"dist\": \"normal\"", "\"dist\": \"normal\", \"repeat_rows\": 0.5",
     "families/0/fill/x/repeat_rows", "whole"},
    {"\"dist\": \"normal\"", "\"dist\": \"lower_bound\", \"bias\": [1]", "families/0/fill/x/bias",
     "2 to 2"},
    {"\"dist\": \"normal\"", "\"dist\": \"lower_bound\", \"bias\": [1, 0]",
     "families/0/fill/x/bias", "low <= high"},
    {"\"dist\": \"normal\"", "\"dist\": \"lower_bound\", \"raw\": {\"dist\": \"nor\"}",
     "families/0/fill/x/raw/dist", "unknown"},
    {"\"lo\": -9", "\"lo\": 20", "families/1/fill/x", "lo <= hi"},
    {"\"shapes\": [\"n1\"]", "\"shapes\": [\"n2\"]", "families/1/shapes/0", "did you mean \"n1\"?"},
    {"\"shapes\": [\"n1\"]", "\"shapes\": [\"n100\"]", "families/1/shapes/0", "\"n100\" is scored"},
    {"\"shapes\": [\"n1\"]", "\"shapes\": [\"n1\", \"n1\"]", "families/1/shapes/1",
     "each shape once"},
    {"\"shapes\": [\"n1\"]", "\"shapes\": []", "families/1/shapes", "1 to"},
    {"\"class\": \"ordinary\"", "\"class\": \"ordinary\", \"shapes\": [\"n1\"]", "families",
     "shape \"n7\""},
    /* back ends */
    {"\"c\": {", "\"rust\": {", "backends/rust", "unknown"},
    {"\"entry\": \"good_fwd\"", "\"entry\": \"good-fwd\"", "backends/c/entry", "letters, digits"},
    {"\"entry\": \"good_fwd\"", "\"entry\": \"x\"", "backends/c/entry", "\"x\" is a param already"},
    {"\"reference\": \"c/reference.c\"", "\"reference\": \"c/none.c\"", "backends/c/reference",
     "readable file"},
    {"\"reference\": \"c/reference.c\"", "\"reference\": \"../good/c/start.c\"",
     "backends/c/reference", "within the task's folder"},
    {"\"reference\": \"c/reference.c\"", "\"reference\": \"/etc/passwd\"", "backends/c/reference",
     "within the task's folder"},
    {"\"reference\": \"c/reference.c\"", "\"reference\": \"c\"", "backends/c/reference",
     "readable file"},
    {"\"reference\": \"c/reference.c\",", "", "backends/c/reference", "missing"},
    {"\"math.h\"", "\"sys/socket.h\"", "backends/c/headers/1", "plain name"},
    {"\"math.h\"", "\"..h\"", "backends/c/headers/1", "plain name"},
    {"\"math.h\"", "\"stddef.h\"", "backends/c/headers/1", "each once"},
    {"\"math.h\"", "\"math.c\"", "backends/c/headers/1", "plain name"},
    {"\"call_ms\": 2000", "\"call_ms\": 0", "backends/c/call_ms", "from 1"},
    {"\"moves\": \"c/moves.c\",", "", "moves", "backends/c/moves"},
    {"\"moves\": \"c/moves.c\"", "\"moves\": \"c/broken.c\"", "backends/c/moves",
     "line 3: #if without #endif"},
    /* moves */
    {"\"name\": \"fast\"", "\"name\": \"start\"", "moves/0/name", "\"start\" is taken"},
    {"\"name\": \"faster\"", "\"name\": \"fast\"", "moves/1/name", "\"fast\" is taken"},
    {"\"name\": \"fast\"", "\"name\": \"a b\"", "moves/0/name", "small letters"},
    {"\"switch\": \"FAST\"", "\"switch\": \"K\"", "moves/0/switch", "\"K\" is a constant already"},
    {"\"switch\": \"FASTER\"", "\"switch\": \"FAST\"", "moves/1/switch",
     "\"FAST\" is a switch already"},
    {"\"switch\": \"FAST\"", "\"switch\": \"good_fwd_ref\"", "moves/0/switch", "the entry"},
    {"\"gain\": 1.3", "\"gain\": 0", "moves/0/gain", "0.01"},
    {"\"gain\": 1.3", "\"gian\": 1.3", "moves/0/gian", "did you mean \"gain\"?"},
    {"\"requires\": [\"fast\"]", "\"requires\": [\"fats\"]", "moves/1/requires/0",
     "did you mean \"fast\"?"},
    {"\"requires\": [\"fast\"]", "\"requires\": [\"faster\"]", "moves/1/requires/0",
     "another move"},
    {"\"requires\": [\"fast\"]", "\"requires\": [\"fast\", \"fast\"]", "moves/1/requires/1",
     "once"},
    {"\"requires\": [\"fast\"]", "\"requires\": \"fast\"", "moves/1/requires", "array"},
    {"\"requires\": [\"fast\"]", "\"requires\": [\"fast\"], \"excludes\": [\"fast\"]", "moves/1",
     "can be on"},
    {"\"gain\": 1.3", "\"gain\": 1.3, \"requires\": [\"faster\"]", "moves/0", "no circle"},
    /* tunables */
    {"\"name\": \"STEP\"", "\"name\": \"FAST\"", "tunables/0/name", "\"FAST\" is a switch already"},
    {"\"default\": 4", "\"default\": 5", "tunables/0/default", "5 is not among them"},
    {"\"default\": 4,", "", "tunables/0/default", "missing"},
    {"\"values\": [2, 4, 8]", "\"values\": [2, 4, 4]", "tunables/0/values/2", "ascending"},
    {"\"values\": [2, 4, 8]", "\"values\": []", "tunables/0/values", "1 to 64"},
    {"\"values\": [2, 4, 8]", "\"values\": [4, 8.5]", "tunables/0/values/1", "whole"},
    {"\"name\": \"STEP\"", "\"name\": \"STRIDE\"", "backends/c/moves",
     "no line \"#define STRIDE 4\""},
    /* cheats */
    {"\"source\": \"c/start.c\"", "\"sauce\": \"c/start.c\"", "cheats/0/sauce",
     "did you mean \"source\"?"},
    {"\"source\": \"c/start.c\"", "\"source\": \"c/none.c\"", "cheats/0/source", "readable file"},
};

static void test_mistakes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
        const struct mistake *m = &mistakes[i];
        char *text = edited(m->from, m->to), *field = xasprintf(": field %s: ", m->field);
        struct error e = {0};
        struct task *t = from_text(text, strlen(text), &e);
        if (t)
            fail_msg("taken: %s", m->to);
        if (strncmp(e.msg, "task.json:", 10) != 0 || !strstr(e.msg, field) ||
            !strstr(e.msg, m->says))
            fail_msg("%s:\n\"%s\" does not say \"%s\" of %s", m->to, e.msg, m->says, m->field);
        assert_int_equal(e.code, ERR_INPUT);
        free(text);
        free(field);
    }
}

static void test_lines(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *at;
    } cases[] = {{"\"gain\": 1.3", "\"gain\": true", "\"gain\": 1.3"},
                 {"\"dims\": {\"N\": 100}", "\"dims\": {\"N\": 0}", "\"N\": 100"},
                 {"\"default\": 4", "\"default\": \"4\"", "\"default\": 4"},
                 {"\"title\": \"a task\",", "\"title\": \"a task\",,", "\"title\""}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *text = edited(cases[i].from, cases[i].to);
        char *want = xasprintf("task.json:%d: ", line_of(cases[i].at));
        struct error e = {0};
        assert_null(from_text(text, strlen(text), &e));
        if (strncmp(e.msg, want, strlen(want)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", e.msg, want);
        free(text);
        free(want);
    }
    struct error e = {0};
    assert_null(from_text("{\n\"name\":\n\"\xff\"}", 15, &e));
    assert_non_null(strstr(e.msg, "task.json:3: field (top): expected UTF-8"));
    assert_null(from_text("[]", 2, &e));
    assert_non_null(strstr(e.msg, "task.json:1: field (top): expected an object"));
    assert_null(from_text("", 0, &e));
    assert_null(from_text("{}", 2, &e));
    assert_non_null(strstr(e.msg, "field schema: missing"));
}

/* Damaged in any way, it loads or says where; nothing crashes (the sanitizers watch). */
static void test_fuzz(void **state)
{
    (void)state;
    int rounds = getenv("TORTURE") ? 200000 : 6000, loaded = 0;
    struct buf text = {0};
    for (int i = 0; i < rounds; i++) {
        uint64_t s = hash_mix((uint64_t)i, 7);
        buf_clear(&text);
        buf_add(&text, good.s, good.len);
        for (uint64_t k = 0; k <= s % 3; k++) {
            uint64_t r = hash_mix(s, k + 1);
            size_t at = (size_t)(r >> 8) % text.len, n = (size_t)(r >> 40) % 40;
            if (n > text.len - at)
                n = text.len - at;
            static const char bytes[] = "\"{}[],:0123456789.-eE+ntfNKxyab_ \n\\/u\x01\xc3\xa9\xff";
            switch (r % 5) {
            case 0: /* another byte */
                text.s[at] = bytes[(r >> 16) % (sizeof bytes - 1)];
                break;
            case 1: /* a piece is lost */
                memmove(text.s + at, text.s + at + n, text.len - at - n);
                text.len -= n;
                break;
            case 2: { /* a piece from elsewhere */
                size_t from = (size_t)(r >> 20) % (good.len - 40);
                memcpy(text.s + at, good.s + from, n);
                break;
            }
            case 3: /* cut off */
                text.len = at + 1;
                break;
            default: { /* another number */
                char *digit = text.s + at;
                while (digit < text.s + text.len && (*digit < '0' || *digit > '9'))
                    digit++;
                if (digit < text.s + text.len)
                    *digit = (char)('0' + (r >> 16) % 10);
            }
            }
        }
        struct error e = {0};
        char *copy = xmalloc(text.len + 1); /* its own block, so that reading past it shows */
        memcpy(copy, text.s, text.len);
        copy[text.len] = '\0';
        struct task *t = from_text(copy, text.len, &e);
        free(copy);
        loaded += t != NULL;
        if (!t && (strncmp(e.msg, "task.json:", 10) != 0 || strlen(e.msg) < 20))
            fail_msg("no place in \"%s\"", e.msg);
        if (!t && !strstr(e.msg, "NUL byte"))
            assert_true(atoi(e.msg + 10) >= 1);
        task_free(t);
    }
    buf_free(&text);
    assert_true(loaded > 0 && loaded < rounds / 2);
}

static void test_nearest(void **state)
{
    (void)state;
    const char *const names[] = {"requires", "excludes", "gain", "x"};
    assert_string_equal(name_nearest("require", names, 4), "requires");
    assert_string_equal(name_nearest("gian", names, 4), "gain");
    assert_null(name_nearest("colour", names, 4));
    assert_null(name_nearest("", names, 0));
    char *longest = xmalloc(5000);
    memset(longest, 'a', 4999);
    longest[4999] = '\0';
    assert_null(name_nearest(longest, names, 4));
    free(longest);
}

/* ---------------------------------------------------------------- header and shim */

static void must_run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* Both compile with every warning, and the shim hands each argument to its place. */
static void test_shim(void **state)
{
    (void)state;
    static const char source[] =
        "#include \"good.h\"\n"
        "void good_fwd(int N, const float *x, float a, float *y, void *ws)\n"
        "{ y[0] = (float)N * 1000 + x[0] + a + K; *(int *)ws = N; }\n"
        "void good_fwd_ref(int N, const float *x, float a, double *y, void *ws)\n"
        "{ (void)ws; y[0] = N + (double)x[0] * a; }\n";
    struct error e = {0};
    struct task *t = from_text(good.s, good.len, &e);
    assert_non_null(t);
    char *dir = scratch_new();
    struct buf header = {0};
    task_header(t, &header);
    assert_true(fs_write(scratch_path(dir, "good.h"), header.s, header.len, &e));
    assert_true(fs_write(scratch_path(dir, "good.c"), source, sizeof source - 1, &e));
    for (int ref = 0; ref < 2; ref++) {
        struct buf shim = {0};
        task_shim(t, ref, &shim);
        assert_true(fs_write(scratch_path(dir, "shim.c"), shim.s, shim.len, &e));
        buf_free(&shim);
        char *command =
            xasprintf("cd '%s' && gcc -std=gnu11 -O1 -Wall -Wextra -Werror -fPIC -shared "
                      "-fvisibility=hidden -o %d.so good.c shim.c",
                      dir, ref);
        must_run(command);
        free(command);
        void *so = dlopen(scratch_path(dir, ref ? "1.so" : "0.so"), RTLD_NOW);
        assert_non_null(so);
        void (*call)(const int *, void *const *);
        void *symbol = dlsym(so, "warploop_call");
        assert_non_null(symbol);
        memcpy(&call, &symbol, sizeof call);
        float x[1] = {0.25F}, y[1] = {0};
        double wide[1] = {0};
        int ws[1] = {0}, dims[1] = {7};
        void *buffers[] = {x, ref ? (void *)wide : (void *)y, ws};
        call(dims, buffers);
        if (ref)
            assert_true(wide[0] == 7 + 0.25 * 0.5);
        else
            assert_true(y[0] == 7000.0F + 0.25F + 0.5F + 4 && ws[0] == 7);
        dlclose(so);
    }
    buf_free(&header);
    scratch_free(dir);
    task_free(t);
}

int main(void)
{
    struct error e = {0};
    good_dir = tasks_dir("good");
    char *file = fs_join(good_dir, "task.json");
    if (!fs_read(file, 1 << 20, &good, &e)) {
        fprintf(stderr, "%s\n", e.msg);
        return 1;
    }
    free(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loads),      cmocka_unit_test(test_mla_decode),
        cmocka_unit_test(test_small),      cmocka_unit_test(test_finding),
        cmocka_unit_test(test_other_name), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_lines),      cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_nearest),    cmocka_unit_test(test_shim),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    buf_free(&good);
    free(good_dir);
    return rc;
}
