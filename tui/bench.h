/* State of the workbench, shared by its own files (workbench.c: loop and drawing; actions.c: what
 * keys do; command_line.c: the `:` line). Nobody else includes this. */
#ifndef WARPLOOP_TUI_BENCH_H
#define WARPLOOP_TUI_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tui/keys.h"
#include "tui/layout.h"
#include "tui/lines.h"
#include "tui/model.h"
#include "tui/pane.h"
#include "tui/prompt.h"
#include "tui/style.h"
#include "tui/term.h"
#include "tui/workbench.h"

enum mode { MODE_PANES, MODE_PROMPT, MODE_CONFIRM, MODE_HELP };
enum prompt_use { FOR_COMMAND, FOR_STEER, FOR_GOAL, FOR_SEARCH, PROMPT_USES };

struct bench {
    const struct workbench_opts *o;
    struct term *term;
    struct grid *grid;
    struct model model;
    struct keymap keys;
    void *panes[PANE_STATUS];
    enum pane_id focus;
    bool zoom;
    struct layout layout;
    int theme; /* index into the themes that `t` goes through */

    enum mode mode;
    enum prompt_use use;
    struct prompt prompts[PROMPT_USES];
    struct lines help;
    char pattern[100]; /* last search */
    char message[700]; /* shown in place of the hints until the next key; "" none */
    bool message_bad;
    char confirm_kind[16], confirm_text[24]; /* what `y` sends */

    int searching;    /* direction of a search that is not done, 0: none */
    int64_t pause_at; /* monotonic ns at which the pause is sent, 0: none is wanted */
    int64_t data_at;  /* when news are read, 0: none are known */
    int64_t tick_at;  /* next look at the clock and the driver, 0: none */
    int64_t drawn_at; /* last frame */
    bool dirty, news;
    unsigned generation; /* of the model, when the panes last looked */
    int signals;         /* signalfd */

    bool done;
    enum workbench_result result;
};

extern const struct pane *const pane_table[PANE_STATUS];

void bench_say(struct bench *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void bench_complain(struct bench *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void bench_done(struct bench *b, enum workbench_result r);

/* Carry out a person's command, or say why not. `done` is what is said after success. */
void bench_send(struct bench *b, const char *kind, const char *text, const char *done);
/* Pause after three seconds, take that back, or resume. */
void bench_pause(struct bench *b);
void bench_pause_now(struct bench *b);
void bench_fork(struct bench *b, int64_t version);
void bench_theme(struct bench *b, const char *name);
void bench_help(struct bench *b);
/* On in the focused pane: direction as for a pane's grep. */
void bench_search(struct bench *b, int direction);
void bench_prompt(struct bench *b, enum prompt_use use);

/* A key, in whatever mode. */
void bench_key(struct bench *b, uint32_t key);
void bench_paste(struct bench *b);

/* One line of the `:` prompt; completion of its first word. */
void command_line_run(struct bench *b, const char *line);
void command_line_complete(struct prompt *p);
/* Its commands, a line each, for the help. */
void command_line_help(struct buf *out);

#endif
