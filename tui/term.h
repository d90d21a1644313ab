/* The terminal: the only file that knows curses. Takes a cell grid, hands out keys.
 *
 * One terminal a process, one thread: the one that called term_init makes every call here. Other
 * threads must have been created with SIGWINCH, SIGHUP and SIGCONT blocked. The terminal's
 * descriptors stay blocking: a slow terminal stops this thread and nothing else.
 *
 * While the terminal is ours, descriptors 1 and 2 of the process point at a memory file, so that a
 * stray print (a library, an assertion) cannot spoil the screen; term_end shows the end of it on
 * the real standard error. A crash (SEGV, BUS, FPE, ILL, ABRT) in any thread puts the terminal
 * right by an async-signal-safe handler, shows what stood there, and dies by the same signal. */
#ifndef WARPLOOP_TUI_TERM_H
#define WARPLOOP_TUI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "tui/grid.h"
#include "tui/keys.h"

struct term;

struct term_opts {
    bool no_colour; /* attributes only, as with NO_COLOR */
    bool ascii;     /* nothing but ASCII, as where the locale is not UTF-8 */
};

/* Take the terminal on descriptors 0 and 1. NULL with the reason where there is none fit for it
 * (not a terminal; TERM unset, dumb, or without cursor addressing): the caller prints plain lines
 * then. An unknown TERM is tried as xterm-256color, then xterm. */
struct term *term_init(const struct term_opts *o, struct error *e);

/* Give the terminal back as it was found. Safe to call twice and with NULL. */
void term_end(struct term *t);
/* The same after a hang-up: nothing is written to the terminal any more. */
void term_abandon(struct term *t);

/* Readable when there are keys; poll it for POLLIN. POLLHUP or POLLERR: term_lost. */
int term_fd(const struct term *t);
bool term_gone(const struct term *t); /* hung up: writing failed or reading met the end */
void term_lost(struct term *t);       /* the caller knows: draw no more */

void term_size(const struct term *t, int *rows, int *cols);
enum glyphs term_glyphs(const struct term *t);
bool term_has_colour(const struct term *t);
/* "xterm-256color (for unknown TERM foo)": what is being driven. */
const char *term_name(const struct term *t);

/* After SIGWINCH or when unsure: ask for the size; true when it changed (the next push repaints).
 */
bool term_check_size(struct term *t);

void term_set_theme(struct term *t, const struct theme *theme);

/* Show the grid: what changed since the last one, in one write, or nothing. A grid of another size
 * is cut. */
void term_push(struct term *t, const struct grid *g);
/* The next push paints every cell (Ctrl-L, after another program used the terminal). */
void term_redraw(struct term *t);

/* The next key that has arrived, without waiting: K_NONE when there is none (call it until then
 * before polling: some may have been read already). K_RESIZE once for any number of changes;
 * K_PASTE when a paste is complete (term_pasted); K_HANGUP at the end. */
uint32_t term_key(struct term *t);
/* The pasted text: UTF-8, new lines as \n, other controls removed, at most 1 MiB. Until the next
 * term_key. */
const char *term_pasted(const struct term *t, size_t *n);

/* Ctrl-Z: give the terminal back, stop the process group, and come back repainting. */
void term_suspend(struct term *t);
/* After a SIGCONT that was not ours (somebody stopped us from outside): take the screen again. */
void term_continue(struct term *t);
/* Run a program on the terminal ($EDITOR) and wait for it; its exit status, -1 when it could not be
 * started. argv ends with NULL. */
int term_run(struct term *t, char *const argv[]);

void term_bell(struct term *t);
/* Hand text to the terminal's clipboard (OSC 52). False when it is longer than terminals take
 * (64 KiB). Whether the terminal took it cannot be known. */
bool term_copy(struct term *t, const char *text, size_t n);

#endif
