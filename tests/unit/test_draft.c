/* Tasks from C functions: what is read, what is guessed, what is refused and with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/loop/calibrate.h"
#include "core/task/draft.h"
#include "core/task/widen.h"
#include "tests/support/scratch.h"

/* A draft of a source that is called k.c; the message when there is none. */
static bool open_text(struct draft *d, const char *source, const char *entry, struct error *e)
{
    char *dir = scratch_new(), here[1024];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    FILE *f = fopen("k.c", "w"); /* thousands of them: not synced */
    assert_non_null(f);
    fputs(source, f);
    assert_int_equal(fclose(f), 0);
    bool ok = draft_open(d, "mine", "k.c", entry, e);
    assert_int_equal(chdir(here), 0);
    scratch_free(dir);
    return ok;
}

static void must_open(struct draft *d, const char *source, const char *entry)
{
    struct error e = {0};
    if (!open_text(d, source, entry, &e))
        fail_msg("%s", e.msg);
}

/* The lines of a spec that say something, blanks squeezed. */
static char *lines_of(const struct draft *d)
{
    struct buf spec = {0}, out = {0};
    draft_spec_write(d, "COMMAND", &spec);
    for (const char *s = buf_str(&spec); *s;) {
        size_t n = strcspn(s, "\n");
        for (size_t i = 0; i < n && *s != '#'; i++)
            if (s[i] != ' ' || (out.len && out.s[out.len - 1] != ' '))
                buf_addc(&out, s[i]);
        if (n && *s != '#')
            buf_addc(&out, '\n');
        s += n + (s[n] == '\n');
    }
    buf_free(&spec);
    return buf_take(&out);
}

/* ---------------------------------------------------------------- guesses */

static const struct {
    const char *source, *lines[8];
} guesses[] = {
    {"void f(size_t n, float a, const float *restrict x, float *restrict y)\n"
     "{ for (size_t i = 0; i < n; i++) y[i] = a * x[i] + y[i]; }\n",
     {"dim n scored auto check 1 37 1000 hidden 4099\n", "scalar a 0.5\n",
      "input x [n] normal 0 1\n", "inout y [n] normal 0 1 error 1e-05 0.001\n", "flop 2*n\n",
      "bytes 4*(n + 2*n)\n"}},
    {"void f(int m, int n, int k, const float *a, float const *b, float *c) {\n"
     " for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) { float s = 0;\n"
     "  for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];\n"
     "  c[(size_t)i * (size_t)n + j] = s; } }\n",
     {"dim k scored auto check 1 23 hidden 65\n", "input a [m, k]", "input b [k, n]",
      "output c [m, n]", "flop 2*m*n*k\n"}},
    /* pointers into an array, a running maximum, what is written first and read then */
    {"void f(long r, long c, const float *x, float *y) {\n"
     " for (long i = 0; i < r; i++) { const float *in = x + i * c; float *out = &y[i * c];\n"
     "  float s = in[0];\n"
     "  for (long j = 1; j < c; j++) s += in[j];\n"
     "  for (long j = 0; j < c; j++) { out[j] = in[j] / s; out[j] *= 2; } } }\n",
     {"input x [r, c]", "output y [r, c] error"}},
    /* an index in a variable, an extent in the signature, a constant extent */
    {"void f(int t, int n, const float x[t * n], const float *w, float *y) {\n"
     " for (int i = 0; i < t; i++) for (int j = 0; j < n; j++) { size_t at = (size_t)i * n + j;\n"
     "  y[at] = x[at] * w[3 * j + 2]; } }\n",
     {"input x [t * n]", "input w [n, 3]", "output y [t, n]"}},
    /* a convolution, a stencil, all pairs */
    {"void f(int n, int k, const float *x, float *y) { for (int i = 0; i < n; i++) { y[i] = 0;\n"
     " for (int j = 0; j < k; j++) y[i] += x[i + j]; } }\n",
     {"input x [n + k - 1]", "output y [n]", "flop 2*n*k\n"}},
    {"void f(int h, int w, const float *x, float *y) { for (int i = 1; i < h - 1; i++)\n"
     " for (int j = 1; j < w - 1; j++) y[i * w + j] = x[(i - 1) * w + j] + x[(i + 1) * w + j]; }\n",
     {"input x [h, w]", "output y [h, w]"}},
    {"void f(int n, const float *x, float *y) { for (int i = n - 1; i >= 0; i--) { y[i] = 0;\n"
     " for (int j = 0; j < n; j++) y[i] += x[j] * x[i]; } }\n",
     {"input x [n]", "output y [n]", "flop 2*n*n\n"}},
    /* what cannot be told is not */
    {"void f(int m, int n, const float *x, float *y) { while (m--) *y++ = *x++; }\n",
     {"input x [?] normal 0 1 # to be filled in", "output y [?] error"}},
    {"void f(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[n * i + i * "
     "i]; "
     "}\n",
     {"input x [?]", "output y [n]"}},
};

static void test_guesses(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(guesses); i++) {
        struct draft d;
        must_open(&d, guesses[i].source, "f");
        char *text = lines_of(&d);
        for (size_t k = 0; k < ARRAY_LEN(guesses[i].lines) && guesses[i].lines[k]; k++)
            if (!strstr(text, guesses[i].lines[k]))
                fail_msg("case %zu: \"%s\" is not in:\n%s", i, guesses[i].lines[k], text);
        free(text);
        draft_free(&d);
    }
}

/* ---------------------------------------------------------------- what is refused */

#define EXPECTED                                                                                   \
    "; expected int, long, int64_t or size_t (a size), float or double (a scalar), const float * " \
    "(an input) or float * (an output)"

static const struct {
    const char *source, *message;
} refused[] = {
    {"int g(void) { return 1; }\n",
     "k.c: expected a definition of \"f\"; did you mean \"g\"? The file defines: g"},
    {"\n", "k.c: expected a definition of \"f\"; the file defines: no function"},
    {"int x;\nvoid f(int n, float *y);\n",
     "k.c:2: \"f\" is only declared here; give the file that defines it"},
    {"void f(int n, const float *x, float *y)\n",
     "k.c:1: \"f\" is only declared here; give the file that defines it"},
    {"\nfloat f(int n, const float *x, float *y) { return 0; }\n",
     "k.c:2:1: f returns float; expected void: let it write its result through a pointer, such as "
     "`float *out`"},
    {"void f(int n,\n       const double *x, float *y) {}\n",
     "k.c:2:22: x points to double; expected float: the tensors of a task are 32-bit floats. Give "
     "it a float parameter (it may compute in double inside)"},
    {"void f(int n, const float *x, int32_t *y) {}\n",
     "k.c:1:40: y points to int32_t; expected float: the tensors of a task are 32-bit floats, "
     "whole "
     "numbers are not compared yet. Pass indices or counts as floats, or compute them inside"},
    {"void f(int n, struct s *x, float *y) {}\n",
     "k.c:1:22: x has the type \"struct s *\"" EXPECTED},
    {"void f(char n, const float *x, float *y) {}\n", "k.c:1:8: n has the type \"char\"" EXPECTED},
    {"void f(int n, const float *x, float **y) {}\n",
     "k.c:1:37: y is an array of arrays; expected one flat pointer, such as `const float *y`, "
     "indexed as y[i * n + j]"},
    {"void f(int, const float *x, float *y) {}\n",
     "k.c:1:8: a parameter without a name or type" EXPECTED},
    {"void f(int n, const float *x) {}\n",
     "k.c:1:6: f writes nothing; expected an output, such as `float *out`"},
    {"void f(void) {}\n", "k.c:1:6: f writes nothing; expected an output, such as `float *out`"},
    {"void f(int n, float *y) { y[0] = 1; }\n",
     "k.c:1: f reads no array; expected at least one input: make the pointer that it reads `const "
     "float *`"},
    {"#include \"own.h\"\nvoid f(int n, const float *x, float *y) {}\n",
     "k.c:1: includes \"own.h\"; expected one file that stands alone: paste what it needs from "
     "there "
     "(headers in <> are fine)"},
    {"void f(int linux, const float *x, float *y) {}\n",
     "k.c:1:12: linux cannot be the name of an argument: that word has a meaning in C; rename it"},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct draft d;
        struct error e = {0};
        if (open_text(&d, refused[i].source, "f", &e))
            fail_msg("case %zu is taken: %s", i, refused[i].source);
        assert_int_equal(e.code, ERR_INPUT);
        assert_string_equal(e.msg, refused[i].message);
        draft_free(&d);
    }
}

/* Torn sources end in a message or a draft, never elsewhere. */
static void test_torn(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(guesses); i++)
        for (size_t n = 1; n < strlen(guesses[i].source); n++) {
            char *torn = xstrndup(guesses[i].source, n);
            struct draft d;
            struct error e = {0};
            if (!open_text(&d, torn, "f", &e))
                assert_true(strlen(e.msg) > 0);
            draft_free(&d);
            free(torn);
        }
}

/* Variables made of each other, thousands of functions: no work without end. */
static void test_large(void **state)
{
    (void)state;
    struct buf b = {0};
    struct draft d;
    buf_adds(&b, "void f(int n, const float *x, float *y)\n{\n    int v0 = n;\n");
    for (int i = 1; i < 6000; i++)
        buf_addf(&b, "    int v%d = v%d + v%d + v%d + v%d + v%d + v%d + v%d + v%d;\n", i, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    for (int i = 0; i < 200; i++)
        buf_addf(&b, "    y[v%d] = x[v%d];\n", 5999 - i, 11);
    buf_adds(&b, "}\n");
    for (int i = 0; i < 3000; i++)
        buf_addf(&b, "void g%d(void) { g%d(); g%d(); }\n", i, i + 1, i + 2);
    must_open(&d, buf_str(&b), "f");
    assert_int_equal(d.left_out.len, 0);
    draft_free(&d);
    buf_free(&b);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",    "a/b",   "../x",
        "A",   "start", "a\033[31m",
        "a b", "-a",    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    struct error e = {0};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(draft_name_ok(bad[i], &e));
    assert_true(draft_name_ok("my-kernel_2", &e));
    assert_true(draft_name_ok("2d", &e));
}

/* ---------------------------------------------------------------- the spec */

static const char kernel[] = "void f(int m, int n, float a, const float *x, float *s, float *y)\n"
                             "{ for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {\n"
                             "  s[j] += x[i * n + j]; y[i * n + j] = a * s[j]; } }\n";

static const char spec[] = "dim m scored 64 check 1 3 9 hidden 5 6\n" /* line 1 */
                           "dim n scored auto check 2\n"
                           "scalar a -2.5e3\n"
                           "input x [m, n] uniform -1 1\n"
                           "inout s [n] choice 1 2 4 error 1e-6 1e-4 # why not\n"
                           "\n"
                           "output y [m*n] error 0.001 0.01\n"
                           "title twice\n"
                           "also sparse\n";

/* What was read is written again in the same words, and that is read as the same. */
static void test_round_trip(void **state)
{
    (void)state;
    struct draft d, again;
    struct error e = {0};
    must_open(&d, kernel, "f");
    must_open(&again, kernel, "f");
    if (!draft_spec_read(&d, "k.spec", spec, strlen(spec), &e))
        fail_msg("%s", e.msg);
    assert_int_equal(d.params[0].scored, 64);
    assert_int_equal(d.params[0].nchecks, 3);
    assert_int_equal(d.params[0].hidden[1], 6);
    assert_true(d.params[1].is_auto && !d.params[0].is_auto);
    assert_true(d.params[2].value == -2500);
    assert_string_equal(d.params[3].fill, "uniform -1 1");
    assert_int_equal(d.params[4].kind, DRAFT_INOUT);
    assert_string_equal(d.params[5].extents[0], "m*n");
    assert_true(d.sparse && !d.wide);
    assert_string_equal(d.bytes, "4*(m*n + 2*n + (m*n))");
    struct buf one = {0}, two = {0};
    draft_spec_write(&d, "COMMAND", &one);
    if (!draft_spec_read(&again, "k.spec", buf_str(&one), one.len, &e))
        fail_msg("%s", e.msg);
    draft_spec_write(&again, "COMMAND", &two);
    assert_string_equal(buf_str(&one), buf_str(&two));
    buf_free(&one);
    buf_free(&two);
    draft_free(&d);
    draft_free(&again);
}

/* One line of the spec replaced; what is said then. */
static const struct {
    int line;
    const char *text, *message;
} wrong[] = {
    {1, "dim q scored 64 check 1", "k.spec:1: field dim: expected a parameter of f(), got \"q\""},
    {1, "dim m check 1", "k.spec:1: field m: expected \"scored\" and a size, or \"scored auto\""},
    {1, "dim m scored 0 check 1",
     "k.spec:1: field m: expected a size after \"scored\" (a whole number from 1 to 2147483647), "
     "got "
     "\"0\""},
    {1, "dim m scored 4 5 check 1", "k.spec:1: field m: expected one size after \"scored\", got 2"},
    {1, "dim m scored auto",
     "k.spec:1: field m: expected \"check\" and one or more small sizes, such as check 1 37"},
    {1, "dim m scored 1 check 1 oops",
     "k.spec:1: field m: expected the end of the line, got \"oops\""},
    {1, "dimm m scored 1 check 1",
     "k.spec:1: field (start of the line): expected one of dim, scalar, input, output, inout, "
     "title, "
     "flop, bytes, also, got \"dimm\"; did you mean \"dim\"?"},
    {2, "", "k.spec:9: field n: missing; expected a line \"dim n ...\": f() has this parameter"},
    {2, "dim m scored 1 check 1",
     "k.spec:2: field m: expected each parameter once; it stands in line 1 already"},
    {3, "scalar a one",
     "k.spec:3: field a: expected the value that it is called with (a number from -1e+30 to "
     "1e+30), "
     "got \"one\""},
    {3, "dim a scored 1 check 1",
     "k.spec:3: field a: expected scalar: so it is declared in k.c, line 1"},
    {4, "output x [m, n]", "k.spec:4: field x: expected input: so it is declared in k.c, line 1"},
    {4, "input x [?] normal 0 1",
     "k.spec:4: field x: expected the extents of x over the dims, such as [n] or [m, n]: fill them "
     "in"},
    {4, "input x normal 0 1",
     "k.spec:4: field x: expected the extents in brackets, such as [n] or [m, n]"},
    {4, "input x [m, z] normal 0 1",
     "k.spec:4: field x: expected extents over the dims: \"z\", column 1: unknown name z"},
    {4, "input x [m - 9, n] normal 0 1",
     "k.spec:4: field x: expected extents over the dims: \"m - 9\" is 0 for the check sizes; an "
     "extent "
     "is at least 1"},
    {4, "input x [m, n] normall 0 1",
     "k.spec:4: field x: expected normal, uniform, constant or choice, got \"normall\"; did you "
     "mean "
     "\"normal\"?"},
    {4, "input x [m, n] normal 0",
     "k.spec:4: field x: expected a standard deviation, but the line ends"},
    {4, "input x [m, n] uniform 2 1",
     "k.spec:4: field x: expected uniform LO HI with LO <= HI, got 2 and 1"},
    {5, "inout s [n] normal 0 1 error 1e-3 1e-5",
     "k.spec:5: field s: expected the first limit of error at most the second, got 0.001 and "
     "1e-05"},
    {8, "title a\tb", "k.spec:8: field title: expected plain text, got the control character 0x09"},
    {9, "also wider", "k.spec:9: field also: expected wide or sparse, got \"wider\""},
    {9, "flop 2*q",
     "k.spec:9: field flop: expected an expression over the dims, such as 2*n: \"2*q\", column 3: "
     "unknown name q"},
};

static void test_spec_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct draft d;
        struct error e = {0};
        struct buf text = {0};
        int line = 1;
        for (const char *s = spec; *s; line++) {
            size_t n = strcspn(s, "\n");
            if (line == wrong[i].line)
                buf_addf(&text, "%s\n", wrong[i].text);
            else
                buf_addf(&text, "%.*s\n", (int)n, s);
            s += n + 1;
        }
        must_open(&d, kernel, "f");
        if (draft_spec_read(&d, "k.spec", buf_str(&text), text.len, &e))
            fail_msg("case %zu is taken: %s", i, wrong[i].text);
        assert_int_equal(e.code, ERR_INPUT);
        assert_string_equal(e.msg, wrong[i].message);
        buf_free(&text);
        draft_free(&d);
    }
}

/* ---------------------------------------------------------------- sources */

static const struct {
    const char *from, *to; /* NULL: refused */
} widened[] = {
    {"float a = 1.5f, b = 0x10f, c = 0x1.8p3F, d = 2;", /* a hexadecimal whole number ends in f too
                                                         */
     "double a = 1.5, b = 0x10f, c = 0x1.8p3, d = 2;"},
    {"y[i] = sqrtf(x) + __builtin_expf(1e-3f) + self(x);",
     "y[i] = sqrt(x) + __builtin_exp(1e-3) + self(x);"},
    {"const float *p; float const *q; const float z = FLT_MAX; float *w; const float r[2] = {1};",
     "const float *p; float const *q; const double z = DBL_MAX; double *w; const double r[2] = "
     "{1};"},
    {"void g(const float x[4], float y[4]);", "void g(const float x[4], double y[4]);"},
    {"/* float */ char *s = \"float 1.0f\"; // sqrtf",
     "/* float */ char *s = \"float 1.0f\"; // sqrtf"},
    {"f(f2, xf); (float)n; sizeof(float)", "F(f2, xf); (double)n; sizeof(double)"},
    {"__m256 v;", NULL},
    {"_mm_add_ps(a, b);", NULL},
};

static void test_widen(void **state)
{
    (void)state;
    const struct widen_rename names[] = {{"f", "F"}};
    for (size_t i = 0; i < ARRAY_LEN(widened); i++) {
        struct tokens t;
        struct buf out = {0};
        const struct token *bad = NULL;
        lex_c(widened[i].from, strlen(widened[i].from), &t);
        bool ok = widen_source(&t, names, 1, &out, &bad);
        assert_int_equal(ok, widened[i].to != NULL);
        if (ok)
            assert_string_equal(buf_str(&out), widened[i].to);
        else
            assert_int_equal(bad->line, 1);
        buf_free(&out);
        tokens_free(&t);
    }
}

/* What the function does not need is gone, and lines keep their numbers. */
static void test_alone(void **state)
{
    (void)state;
    struct draft d;
    must_open(&d,
              "#include <stdio.h>\n"
              "static float twice(float v) { return 2 * v; }\n"
              "static float unused(float v)\n{ return v; }\n"
              "void f(int n, const float *x, float *y)\n"
              "{ for (int i = 0; i < n; i++) y[i] = twice(x[i]); }\n"
              "int main(void) { puts(\"hello\"); return 0; }\n",
              "f");
    assert_string_equal(buf_str(&d.left_out), "unused, main");
    struct buf start = {0};
    draft_start(&d, &start);
    assert_non_null(strstr(buf_str(&start), "static float twice(float v) { return 2 * v; }\n"));
    assert_null(strstr(buf_str(&start), "puts"));
    assert_null(strstr(buf_str(&start), "unused"));
    size_t lines = 0;
    for (const char *s = buf_str(&start); *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 7);
    assert_string_equal(d.entry, "f"); /* called as it is */
    buf_free(&start);
    draft_free(&d);
}

/* A source that needs it is called through a function of the task's own. */
static void test_adapter(void **state)
{
    (void)state;
    struct draft d;
    struct buf start = {0}, ref = {0}, json = {0}, why = {0};
    struct error e = {0};
    must_open(&d,
              "static void f(size_t n, double a, const float *x, float *y)\n"
              "{ for (size_t i = 0; i < n; i++) y[i] += (float)a * x[i]; }\n",
              "f");
    assert_true(draft_adapts(&d, &why));
    assert_string_equal(buf_str(&why),
                        "sizes are int in a task; scalars are float in a task; what is read and "
                        "written is an input and an output in a task; the function is static");
    draft_start(&d, &start);
    assert_non_null(strstr(buf_str(&start),
                           "void f_task(int n, float a, const float *x, const float *y_in, float "
                           "*y)\n{\n    memcpy(y, y_in, sizeof(float) * (size_t)(n));\n"
                           "    f((size_t)n, (double)a, x, y);\n}\n"));
    assert_true(draft_reference(&d, &ref, &e));
    assert_non_null(strstr(buf_str(&ref), "    for (size_t wl_i = 0; wl_i < (size_t)(n); wl_i++)\n"
                                          "        y[wl_i] = y_in[wl_i];\n    f_f64(n, a, x, y);"));
    draft_task_json(&d, &json);
    assert_non_null(strstr(buf_str(&json), "\"y_in\""));
    buf_free(&start);
    buf_free(&ref);
    buf_free(&json);
    buf_free(&why);
    draft_free(&d);
}

/* ---------------------------------------------------------------- sizes */

/* A kernel whose time grows with any power of the sizes is brought near in a few steps. */
static void test_steps(void **state)
{
    (void)state;
    for (int power = 1; power <= 4; power++)
        for (double unit = 1e2; unit < 1e9; unit *= 10) {
            double factor[10] = {1}, ns[10];
            size_t n = 0;
            for (; n < 9; n++) {
                ns[n] = 3e4 + unit * pow(factor[n], power); /* a call costs something */
                if (ns[n] > 20e6 && ns[n] < 60e6)
                    break;
                factor[n + 1] = factor[n] * calibrate_step(factor, ns, n + 1, 1, 25e6);
            }
            assert_true(n < 9);
        }
}

static void test_scale(void **state)
{
    (void)state;
    struct draft d;
    must_open(&d, kernel, "f");
    draft_scale(&d, 1);
    assert_int_equal(d.params[0].scored, 256);
    assert_int_equal(draft_scored_bytes(&d), 4 * 65536 + 12 * 256 + 8 * 65536);
    draft_scale(&d, 1e-9);
    assert_int_equal(d.params[1].scored, 1);
    draft_scale(&d, 1e30);
    assert_int_equal(d.params[1].scored, 2000000000);
    assert_true(draft_scored_bytes(&d) == INT64_MAX);
    draft_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guesses),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_torn),        cmocka_unit_test(test_large),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_spec_errors), cmocka_unit_test(test_widen),
        cmocka_unit_test(test_alone),       cmocka_unit_test(test_adapter),
        cmocka_unit_test(test_steps),       cmocka_unit_test(test_scale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
