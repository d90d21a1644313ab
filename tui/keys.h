/* Keys and what they do. The list of actions below is the only place that names them: the enum, the
 * default key map, the key map file, the help screen and the table for the README come from it.
 *
 * A key is a number: a Unicode character, or one of enum key_code, with K_CTRL and K_ALT added.
 * One key makes one action; there are no sequences. */
#ifndef WARPLOOP_TUI_KEYS_H
#define WARPLOOP_TUI_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"

enum key_code {
    K_NONE = 0,
    K_SPECIAL = 0x110000, /* the first number that is no character */
    K_UP = K_SPECIAL,
    K_DOWN,
    K_LEFT,
    K_RIGHT,
    K_HOME,
    K_END,
    K_PGUP,
    K_PGDN,
    K_INSERT,
    K_DELETE,
    K_TAB,
    K_BACKTAB,
    K_ENTER,
    K_ESCAPE,
    K_BACKSPACE,
    K_F1,
    K_F12 = K_F1 + 11,
    K_RESIZE, /* the terminal has another size: term_size */
    K_PASTE,  /* text was pasted: term_pasted */
    K_HANGUP, /* the terminal is gone */
    K_CTRL = 0x1000000,
    K_ALT = 0x2000000,
};

/* X(ID, "name", "default keys", "group", "what it does") */
#define ACTIONS(X)                                                                                 \
    X(FOCUS_NEXT, "focus-next", "Tab", "Panes", "next pane")                                       \
    X(FOCUS_PREVIOUS, "focus-previous", "Shift-Tab", "Panes", "pane before")                       \
    X(FOCUS_SOURCE, "focus-source", "1", "Panes", "source of the version")                         \
    X(FOCUS_GRAPH, "focus-graph", "2", "Panes", "speedup graph")                                   \
    X(FOCUS_COUNTERS, "focus-counters", "3", "Panes", "counters of the version")                   \
    X(FOCUS_REASONING, "focus-reasoning", "4", "Panes", "reasoning, one line a try")               \
    X(ZOOM, "zoom", "z +", "Panes", "this pane alone, or all again")                               \
    X(UP, "up", "k Up", "Moving", "a line up; in the graph a version back")                        \
    X(DOWN, "down", "j Down", "Moving", "a line down; in the graph a version on")                  \
    X(LEFT, "left", "h Left", "Moving", "to the left; in the graph a version back")                \
    X(RIGHT, "right", "l Right", "Moving", "to the right; in the graph a version on")              \
    X(PAGE_UP, "page-up", "PgUp Ctrl-U", "Moving", "a page up")                                    \
    X(PAGE_DOWN, "page-down", "PgDn Ctrl-D Space", "Moving", "a page down")                        \
    X(TOP, "top", "g Home", "Moving", "to the beginning")                                          \
    X(BOTTOM, "bottom", "G End", "Moving", "to the end; follows what is new")                      \
    X(SEARCH, "search", "/ F3", "Moving", "search in this pane")                                   \
    X(SEARCH_NEXT, "search-next", "n", "Moving", "next hit")                                       \
    X(SEARCH_PREVIOUS, "search-previous", "N", "Moving", "hit before")                             \
    X(VERSION_PREVIOUS, "version-previous", ", [", "Versions", "version before")                   \
    X(VERSION_NEXT, "version-next", ". ]", "Versions", "next version")                             \
    X(VERSION_BEST, "version-best", "b", "Versions", "the best version so far")                    \
    X(VERSION_NEWEST, "version-newest", "F =", "Versions", "the newest version; follows new ones") \
    X(COPY, "copy", "y", "Versions", "copy what the pane shows (OSC 52)")                          \
    X(PAUSE, "pause", "p F5", "Run", "pause, or go on; 3 seconds to take it back")                 \
    X(STEER, "steer", "i", "Run", "tell the agent something")                                      \
    X(GOAL, "goal", "E", "Run", "change the goal")                                                 \
    X(FORK, "fork", "f", "Run", "fork the run at this version")                                    \
    X(COMMAND, "command", ":", "Run", "command line; Tab completes, :help lists")                  \
    X(LEAVE, "leave", "Q F10", "Run", "leave; the engine goes on")                                 \
    X(HELP, "help", "? F1", "Other", "this help")                                                  \
    X(CLOSE, "close", "q Esc", "Other", "close help, search or zoom")                              \
    X(THEME, "theme", "t", "Other", "next theme")                                                  \
    X(REDRAW, "redraw", "Ctrl-L", "Other", "draw everything anew")                                 \
    X(SUSPEND, "suspend", "Ctrl-Z", "Other", "stop this program until `fg`")                       \
    X(INTERRUPT, "interrupt", "Ctrl-C", "Other", "says how to leave and how to stop")

enum action {
    ACTION_NONE,
#define X(id, ...) ACTION_##id,
    ACTIONS(X)
#undef X
        ACTION_COUNT
};

const char *action_name(enum action a);
const char *action_help(enum action a);
enum action action_of(const char *name); /* ACTION_NONE when unknown */

#define KEYMAP_MAX 160

struct keymap {
    struct binding {
        uint32_t key;
        enum action action;
    } bindings[KEYMAP_MAX];
    int n;
};

void keymap_default(struct keymap *m);
/* ACTION_NONE when the key does nothing. */
enum action keymap_action(const struct keymap *m, uint32_t key);
/* The first key of an action by name ("p", "Ctrl-L"); "" when it has none. out: 24 bytes. */
const char *keymap_key(const struct keymap *m, enum action a, char out[24]);

/* Read a key map file (INI) on top of the default one: in section [keys] lines `action = KEY ...`
 * (or `none`); an action that is named loses its default keys, and a key that it takes is lost to
 * the action that had it by default. Errors name file, line and field: unknown action, unknown key,
 * a key that the file gives away twice. On failure *m is the default map. */
bool keymap_load(struct keymap *m, const char *path, struct error *e) WARN_UNUSED;

/* "a", "Ctrl-L", "Alt-Enter", "F5", "PgUp", "Space" ... K_NONE when it is no key. */
uint32_t key_parse(const char *name);
/* Its name; out: 24 bytes; returns out. */
const char *key_label(uint32_t key, char out[24]);

/* The help screen: a line for each action under its group's heading, from the map as it is. */
void keymap_help(const struct keymap *m, struct buf *out);
/* The same as a Markdown table, for the README. */
void keymap_markdown(const struct keymap *m, struct buf *out);

#endif
