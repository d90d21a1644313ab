/* Style roles: what a piece of text *is*. The list below is the only place that names them: the
 * enum, the keys of a theme file, the built-in theme and its monochrome form come from it.
 *
 * A colour is written once (the terminal's default, 0..255, or 24 bits) and degraded here to what
 * the terminal has: 256, 16 or 8 colours, or attributes alone. The built-in theme uses only the
 * terminal's own sixteen colours, so that it suits light and dark ones. Nothing is said by colour
 * alone. Limits: at most 60 roles, so that a terminal with 64 colour pairs has one for each. */
#ifndef WARPLOOP_TUI_STYLE_H
#define WARPLOOP_TUI_STYLE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* X(ID, "key", foreground, background, attributes, attributes in monochrome, what it is for) */
#define STYLE_ROLES(X)                                                                             \
    X(TEXT, "text", DEFAULT, DEFAULT, 0, 0, "everything else")                                     \
    X(FAINT, "faint", DEFAULT, DEFAULT, DIM, DIM, "what may be overlooked")                        \
    X(TITLE, "title", CYAN, DEFAULT, 0, 0, "name of a pane")                                       \
    X(TITLE_FOCUS, "title-focus", CYAN, DEFAULT, BOLD | REVERSE, BOLD | REVERSE,                   \
      "name of the pane that has the keys")                                                        \
    X(BORDER, "border", DEFAULT, DEFAULT, DIM, 0, "lines between panes")                           \
    X(STATUS, "status", DEFAULT, DEFAULT, 0, 0, "status line")                                     \
    X(STATUS_NAME, "status-name", DEFAULT, DEFAULT, BOLD, BOLD, "run and task")                    \
    X(RUNNING, "running", GREEN, DEFAULT, BOLD, BOLD, "state: running")                            \
    X(PAUSED, "paused", YELLOW, DEFAULT, BOLD | REVERSE, BOLD | REVERSE, "state: paused")          \
    X(ENDED, "ended", MAGENTA, DEFAULT, BOLD, BOLD, "state: ended")                                \
    X(KEY, "key", CYAN, DEFAULT, BOLD, BOLD, "a key in hints and help")                            \
    X(HINT, "hint", DEFAULT, DEFAULT, 0, 0, "what a key does")                                     \
    X(PROMPT, "prompt", YELLOW, DEFAULT, BOLD, BOLD, "label of the input line")                    \
    X(INPUT, "input", DEFAULT, DEFAULT, 0, 0, "text being typed")                                  \
    X(MESSAGE, "message", DEFAULT, DEFAULT, BOLD, BOLD, "answer to a command")                     \
    X(ERROR, "error", RED, DEFAULT, BOLD, BOLD | REVERSE, "something failed")                      \
    X(BADGE, "badge", BLACK, YELLOW, 0, REVERSE, "N new lines")                                    \
    X(MATCH, "match", BLACK, CYAN, 0, UNDERLINE | REVERSE, "found by search")                      \
    X(NUMBER_LINE, "line-number", DEFAULT, DEFAULT, DIM, DIM, "line numbers of the source")        \
    X(ADDED, "added", GREEN, DEFAULT, BOLD, BOLD, "line that the parent has not")                  \
    X(KEYWORD, "keyword", MAGENTA, DEFAULT, 0, BOLD, "source: keyword")                            \
    X(TYPE, "type", CYAN, DEFAULT, 0, 0, "source: type")                                           \
    X(NUMBER, "number", YELLOW, DEFAULT, 0, 0, "source: number")                                   \
    X(STRING, "string", GREEN, DEFAULT, 0, 0, "source: string")                                    \
    X(COMMENT, "comment", DEFAULT, DEFAULT, DIM, DIM, "source: comment")                           \
    X(PREPROCESSOR, "preprocessor", RED, DEFAULT, 0, UNDERLINE, "source: preprocessor, directive") \
    X(AXIS, "axis", DEFAULT, DEFAULT, DIM, 0, "graph: axes and labels")                            \
    X(POINT, "point", CYAN, DEFAULT, 0, 0, "graph: a try that was timed")                          \
    X(FAILED, "failed", RED, DEFAULT, 0, BOLD, "graph: a try without a time")                      \
    X(STAIRCASE, "staircase", GREEN, DEFAULT, BOLD, BOLD, "graph: the best so far")                \
    X(BASELINE, "baseline", DEFAULT, DEFAULT, DIM, 0, "graph: the baseline at 1.0")                \
    X(TARGET, "target", YELLOW, DEFAULT, 0, 0, "graph: the goal's target")                         \
    X(SELECTED, "selected", DEFAULT, DEFAULT, REVERSE, REVERSE, "the selected version")            \
    X(COUNTER, "counter", DEFAULT, DEFAULT, 0, 0, "counter: name and value")                       \
    X(BETTER, "better", GREEN, DEFAULT, 0, BOLD, "counter: changed for the better")                \
    X(WORSE, "worse", RED, DEFAULT, 0, UNDERLINE, "counter: changed for the worse")                \
    X(ABSENT, "absent", DEFAULT, DEFAULT, DIM, DIM, "counter: not collected, and why")             \
    X(ROOFLINE, "roofline", CYAN, DEFAULT, BOLD, BOLD, "position against the measured peak")       \
    X(SAY, "say", DEFAULT, DEFAULT, 0, 0, "reasoning: the agent's words")                          \
    X(TRIED, "tried", DEFAULT, DEFAULT, 0, 0, "reasoning: a try that was right")                   \
    X(REFUSED, "refused", RED, DEFAULT, 0, 0, "reasoning: a try that failed")                      \
    X(RECORD, "record", GREEN, DEFAULT, BOLD, BOLD, "reasoning: a record")                         \
    X(STEER, "steer", YELLOW, DEFAULT, BOLD, BOLD, "reasoning: a person's message")                \
    X(EVENT, "event", DEFAULT, DEFAULT, DIM, DIM, "reasoning: pause, resume, start, end")

enum style_role {
#define X(id, ...) ROLE_##id,
    STYLE_ROLES(X)
#undef X
        ROLE_COUNT
};

enum style_attr {
    ATTR_BOLD = 1,
    ATTR_DIM = 2,
    ATTR_UNDERLINE = 4,
    ATTR_REVERSE = 8,
    ATTR_ITALIC = 16,
};

/* A colour: COLOUR_DEFAULT, 0..255 (xterm's palette), or COLOUR_RGB | 0xrrggbb. */
#define COLOUR_DEFAULT (-1)
#define COLOUR_RGB     0x1000000

struct style {
    int32_t fg, bg;
    unsigned attr; /* enum style_attr */
};

struct theme {
    char name[40];
    bool mono; /* attributes only */
    struct style styles[ROLE_COUNT];
};

const char *style_role_name(enum style_role role);
const char *style_role_doc(enum style_role role);

/* The built-in theme, in the terminal's own colours or in attributes alone. */
void theme_builtin(struct theme *t, bool mono);

/* Read a theme file (INI). `[theme]` may hold `name` and `base` (default or mono: what roles that
 * are not named look like); `[styles]` holds `role = [attributes] [colour] [on colour]`, where a
 * colour is default, black, red, green, yellow, blue, magenta, cyan, white, bright-red ..., a
 * number up to 255 or #rrggbb, and attributes are bold, dim, underline, reverse, italic, plain.
 * Errors name file, line and field. On failure *t is the built-in theme. */
bool theme_load(struct theme *t, const char *path, struct error *e) WARN_UNUSED;

/* A theme by name ("light") or path ("my.ini"). A name is looked up in the user's configuration,
 * in the folder `themes` of the tree that the program was built in, and in the installed share
 * folder; "default" and "mono" need no file. ERR_NOTFOUND says where was looked. */
bool theme_find(struct theme *t, const char *name, struct error *e) WARN_UNUSED;

/* Parse one style as above. */
bool style_parse(struct style *s, const char *text, struct error *e) WARN_UNUSED;

/* The nearest of `colours` colours (8, 16, 256) to a colour; COLOUR_DEFAULT stays. With 8 colours
 * a bright foreground is its dark twin and *bold is set (bold may be NULL: a background). */
int style_degrade(int32_t colour, int colours, bool *bold);

/* The user's configuration folder: $XDG_CONFIG_HOME/warploop, else ~/.config/warploop; NULL when
 * neither is known. Caller frees. */
char *style_config_dir(void);

#endif
