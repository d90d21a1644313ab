/* Which face a followed run has: the workbench where a terminal can carry it, else plain lines. */
#ifndef WARPLOOP_CMD_UI_H
#define WARPLOOP_CMD_UI_H

#include <stdbool.h>

#include "core/cmd/options.h"

enum ui_kind { UI_WORKBENCH, UI_PLAIN, UI_HEADLESS };

/* Options that every following command has. */
#define UI_OPTIONS                                                                                 \
    {.name = "plain", .kind = OPTION_FLAG, .help = "plain lines instead of the workbench"},        \
        {.name = "ascii", .kind = OPTION_FLAG, .help = "workbench: only ASCII characters"},        \
    {                                                                                              \
        .name = "theme", .kind = OPTION_TEXT, .value = "NAME", .help = "workbench: colour theme"   \
    }

/* What was observed, so that the decision itself is pure. */
struct ui_facts {
    bool plain_option, headless_option;
    bool in_tty, out_tty;
    const char *term;      /* $TERM or NULL */
    const char *plain_env; /* $WARPLOOP_PLAIN or NULL */
};

/* Pure. *why (a static text, never NULL) says why it is not the workbench; "" when it is, or when
 * that was asked for. */
enum ui_kind ui_decide(const struct ui_facts *f, const char **why);

/* Looks at the arguments, the terminal and the environment. */
enum ui_kind ui_choose(const struct args *a, bool headless, const char **why);

/* NO_COLOR is set and not empty. */
bool ui_no_colour(void);

#endif
