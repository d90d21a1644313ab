#include "core/cmd/ui.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ui_kind ui_decide(const struct ui_facts *f, const char **why)
{
    *why = "";
    if (f->headless_option) {
        return UI_HEADLESS;
    }
    if (f->plain_option) {
        return UI_PLAIN;
    }
    if (f->plain_env && *f->plain_env && strcmp(f->plain_env, "0") != 0) {
        *why = "WARPLOOP_PLAIN is set";
    } else if (!f->in_tty) {
        *why = "standard input is not a terminal";
    } else if (!f->out_tty) {
        *why = "standard output is not a terminal";
    } else if (!f->term || !*f->term) {
        *why = "TERM is not set";
    } else if (strcmp(f->term, "dumb") == 0) {
        *why = "TERM is dumb";
    } else {
        return UI_WORKBENCH;
    }
    return UI_PLAIN;
}

enum ui_kind ui_choose(const struct args *a, bool headless, const char **why)
{
    struct ui_facts f = {
        .plain_option = args_flag(a, "plain"),
        .headless_option = headless,
        .in_tty = isatty(STDIN_FILENO),
        .out_tty = isatty(STDOUT_FILENO),
        .term = getenv("TERM"),
        .plain_env = getenv("WARPLOOP_PLAIN"),
    };
    return ui_decide(&f, why);
}

bool ui_no_colour(void)
{
    const char *s = getenv("NO_COLOR");
    return s && *s;
}
