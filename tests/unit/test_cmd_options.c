/* Options of the commands: the parser, its messages, nearest names, the text of --help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/cmd/cmd.h"
#include "core/cmd/options.h"
#include "core/cmd/ui.h"

static const struct option_desc table[] = {
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, .help = "a flag"},
    {.name = "text", .letter = 't', .kind = OPTION_TEXT, .value = "T", .help = "a text"},
    {.name = "real", .kind = OPTION_REAL, .value = "X", .lo = 0.5, .hi = 2, .help = "a number"},
    {.name = "any", .kind = OPTION_REAL, .value = "X", .help = "any number"},
    {.name = "whole",
     .letter = 'n',
     .kind = OPTION_WHOLE,
     .value = "N",
     .lo = -3,
     .hi = 9,
     .help = "a whole number"},
    {.name = "choice",
     .kind = OPTION_CHOICE,
     .value = "C",
     .choices = "one|two|twofold",
     .help = "a choice"},
    {0},
};

/* Parse a command line given as words separated by blanks ("''" is an empty word). */
static bool parse(struct args *a, const char *usage, const char *line, struct error *e)
{
    static char copy[512];
    static char *argv[32];
    int argc = 0;
    snprintf(copy, sizeof copy, "cmd %s", line);
    for (char *rest = NULL, *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = strcmp(w, "''") == 0 ? w + 2 : w;
    }
    argv[argc] = NULL;
    *e = (struct error){0};
    return args_parse(a, table, usage, argc, argv, e);
}

static void refused(const char *usage, const char *line, const char *says)
{
    struct args a;
    struct error e;
    if (parse(&a, usage, line, &e)) {
        fail_msg("\"%s\" was taken", line);
    }
    assert_int_equal(e.code, ERR_INPUT);
    if (!strstr(e.msg, says)) {
        fail_msg("\"%s\" says: %s", line, e.msg);
    }
}

static void test_values(void **state)
{
    (void)state;
    struct args a;
    struct error e;
    assert_true(parse(&a, "[RUN]", "--flag --text=x --real 1.5 --whole -3 --choice two r", &e));
    assert_true(args_flag(&a, "flag"));
    assert_string_equal(args_text(&a, "text", "no"), "x");
    assert_true(args_real(&a, "real", 0) == 1.5);
    assert_int_equal(args_whole(&a, "whole", 0), -3);
    assert_string_equal(args_text(&a, "choice", ""), "two");
    assert_string_equal(args_pos(&a, 0), "r");
    assert_null(args_pos(&a, 1));
    assert_false(a.help);
}

static void test_absent_values(void **state)
{
    (void)state;
    struct args a;
    struct error e;
    assert_true(parse(&a, "", "", &e));
    assert_false(args_flag(&a, "flag"));
    assert_string_equal(args_text(&a, "text", "no"), "no");
    assert_null(args_text(&a, "text", NULL));
    assert_true(args_real(&a, "any", 7.25) == 7.25);
    assert_int_equal(args_whole(&a, "whole", 11), 11);
    assert_int_equal(a.npos, 0);
}

static void test_forms(void **state)
{
    (void)state;
    struct args a;
    struct error e;
    assert_true(parse(&a, "A [B]", "-f -n 4 -tx one two", &e));
    assert_true(args_flag(&a, "flag"));
    assert_string_equal(args_text(&a, "text", ""), "x");
    assert_int_equal(args_whole(&a, "whole", 0), 4);
    /* options after positional arguments, and what follows -- is none */
    assert_true(parse(&a, "A [B]", "one --flag -- --text", &e));
    assert_true(args_flag(&a, "flag"));
    assert_int_equal(a.npos, 2);
    assert_string_equal(args_pos(&a, 1), "--text");
    /* an unambiguous beginning, as getopt has it */
    assert_true(parse(&a, "", "--fl", &e));
    assert_true(args_flag(&a, "flag"));
    /* a dash alone is an argument */
    assert_true(parse(&a, "A", "-", &e));
    assert_string_equal(args_pos(&a, 0), "-");
    assert_true(parse(&a, "A", "one --help --nonsense", &e));
    assert_true(a.help);
}

static void test_bad_values(void **state)
{
    (void)state;
    refused("", "--real 0.49", "--real 0.49: expected a number from 0.5 to 2");
    refused("", "--real 2.01", "from 0.5 to 2");
    refused("", "--real nan", "expected a number");
    refused("", "--any inf", "--any inf: expected a number");
    refused("", "--any 1,5", "expected a number");
    refused("", "--any ''", "expected a number");
    refused("", "--whole 10", "expected a whole number from -3 to 9");
    refused("", "--whole 1.0", "expected a whole number");
    refused("", "--whole 99999999999999999999", "expected a whole number");
    refused("", "--choice three", "--choice three: expected one of one|two|twofold");
    refused("", "--choice tw", "expected one of");
    refused("", "--choice ''", "expected one of");
    refused("", "--choice one|two", "expected one of");
    refused("", "--text", "--text needs a value");
    refused("", "-n", "-n needs a value");
    refused("", "--flag=1", "--flag takes no value");
}

static void test_bad_names(void **state)
{
    (void)state;
    refused("", "--chioce one", "unknown option --chioce; nearest is --choice (see warploop cmd");
    refused("", "--whol-e=3", "nearest is --whole");
    refused("", "--nonsense", "unknown option --nonsense (see warploop cmd --help)");
    refused("", "-z", "unknown option -z");
    refused("", "-fz", "unknown option -z");
}

static void test_positionals(void **state)
{
    (void)state;
    struct args a;
    struct error e;
    refused("RUN FILE", "", "RUN is missing; usage: warploop cmd RUN FILE");
    refused("RUN FILE", "r", "FILE is missing; usage: warploop cmd RUN FILE");
    refused("RUN FILE [X]", "r", "FILE is missing");
    refused("RUN [A]", "r a b", "unexpected \"b\"");
    refused("", "r", "unexpected \"r\"; usage: warploop cmd");
    refused("RUN TEXT", "r two words", "put a text with blanks in quotes");
    assert_true(parse(&a, "RUN FILE...", "r 1 2 3 4 5", &e));
    assert_int_equal(a.npos, 6);
    static char word[] = "x";
    char *many[POSITIONALS_MAX + 2] = {word};
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = word;
    }
    struct args too_many;
    struct error why = {0};
    assert_true(args_parse(&too_many, table, "FILE...", POSITIONALS_MAX + 1, many, &why));
    assert_false(args_parse(&too_many, table, "FILE...", POSITIONALS_MAX + 2, many, &why));
    assert_non_null(strstr(why.msg, "more than 256 arguments"));
}

static void test_numbers(void **state)
{
    (void)state;
    double x;
    int64_t n;
    assert_true(parse_real("-1.5e3", &x) && x == -1500);
    assert_false(parse_real("", &x));
    assert_false(parse_real(" 1", &x));
    assert_false(parse_real("1 ", &x));
    assert_false(parse_real("1x", &x));
    assert_false(parse_real("1e999", &x));
    assert_true(parse_whole("9223372036854775807", &n) && n == INT64_MAX);
    assert_false(parse_whole("9223372036854775808", &n));
    assert_false(parse_whole("+", &n));
    assert_false(parse_whole("0x10", &n));
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"run", "resume", "version", "show"};
    assert_string_equal(nearest_name("rnu", names, 4), "run");
    assert_string_equal(nearest_name("reusme", names, 4), "resume");
    assert_string_equal(nearest_name("ver", names, 4), "version");
    assert_string_equal(nearest_name("shw", names, 4), "show");
    assert_null(nearest_name("xyzzy", names, 4));
    assert_null(nearest_name("", names, 4));
    assert_null(nearest_name("x", names, 0));
    char longer[300];
    memset(longer, 'r', sizeof longer);
    longer[sizeof longer - 1] = 0;
    assert_null(nearest_name(longer, names, 4));
}

/* Every command's table is sound: it has a text, no name twice, a form for each value. */
static void test_tables(void **state)
{
    (void)state;
    size_t commands = 0;
    for (; cmd_table[commands]; commands++) {
        const struct cmd *c = cmd_table[commands];
        assert_non_null(c->run);
        assert_true(*c->name && *c->summary);
        assert_ptr_equal(cmd_find(c->name, NULL), c);
        const struct option_desc *o = c->options;
        for (size_t i = 0; o && o[i].name; i++) {
            assert_true(i < OPTIONS_MAX - 1);
            assert_non_null(o[i].help);
            assert_true((o[i].kind == OPTION_FLAG) == (o[i].value == NULL));
            assert_true((o[i].kind == OPTION_CHOICE) == (o[i].choices != NULL));
            assert_true(o[i].lo <= o[i].hi);
            for (size_t j = 0; j < i; j++) {
                assert_string_not_equal(o[i].name, o[j].name);
                assert_true(!o[i].letter || o[i].letter != o[j].letter);
            }
        }
    }
    assert_int_equal(commands, 21);
}

static void test_help(void **state)
{
    (void)state;
    struct buf b = {0};
    options_help(table, &b);
    assert_non_null(strstr(buf_str(&b), "  -t, --text T"));
    assert_non_null(strstr(buf_str(&b), "(one|two|twofold)"));
    assert_non_null(strstr(buf_str(&b), "  -h, --help"));
    buf_free(&b);
}

static void test_face(void **state)
{
    (void)state;
    const struct ui_facts tty = {.in_tty = true, .out_tty = true, .term = "xterm"};
    struct ui_facts f = tty;
    const char *why;
    assert_int_equal(ui_decide(&f, &why), UI_WORKBENCH);
    assert_string_equal(why, "");
    f.plain_option = true;
    assert_int_equal(ui_decide(&f, &why), UI_PLAIN);
    assert_string_equal(why, "");
    f.headless_option = true;
    assert_int_equal(ui_decide(&f, &why), UI_HEADLESS);
    static const struct {
        bool in, out;
        const char *term, *env, *why;
    } plain[] = {
        {false, true, "xterm", NULL, "standard input"},
        {true, false, "xterm", "", "standard output"},
        {true, true, NULL, NULL, "TERM is not set"},
        {true, true, "", NULL, "TERM is not set"},
        {true, true, "dumb", NULL, "dumb"},
        {true, true, "xterm", "1", "WARPLOOP_PLAIN"},
    };
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        f = (struct ui_facts){.in_tty = plain[i].in,
                              .out_tty = plain[i].out,
                              .term = plain[i].term,
                              .plain_env = plain[i].env};
        assert_int_equal(ui_decide(&f, &why), UI_PLAIN);
        assert_non_null(strstr(why, plain[i].why));
    }
    f = tty;
    f.plain_env = "0";
    assert_int_equal(ui_decide(&f, &why), UI_WORKBENCH);
}

static void test_exit_codes(void **state)
{
    (void)state;
    static const struct {
        enum error_code code;
        enum exit_code exit;
    } rows[] = {
        {ERR_INPUT, 2},   {ERR_NOTFOUND, 2}, {ERR_CANCELLED, 130}, {ERR_BUSY, 3},  {ERR_FULL, 3},
        {ERR_CORRUPT, 3}, {ERR_NEWER, 3},    {ERR_READONLY, 3},    {ERR_CHILD, 3}, {ERR_SYSTEM, 3},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error e = {.code = rows[i].code};
        assert_int_equal(cmd_exit_code(&e), rows[i].exit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),    cmocka_unit_test(test_absent_values),
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_bad_names), cmocka_unit_test(test_positionals),
        cmocka_unit_test(test_numbers),   cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_help),
        cmocka_unit_test(test_face),      cmocka_unit_test(test_exit_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
