/* Puts the terminal right when the process crashes, in whatever thread: handlers for SEGV, BUS,
 * FPE, ILL and ABRT that do only what is safe there (a fixed string, the saved line discipline, the
 * end of what was printed meanwhile, addresses of the stack) and then let the signal kill. One
 * terminal a process. */
#ifndef WARPLOOP_TUI_CRASH_H
#define WARPLOOP_TUI_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#define MAX_STRAY (8 * 1024) /* bytes of what was printed meanwhile that are shown */

/* tty: where the terminal is; stray: a file whose end is shown, or -1; cooked: the line discipline
 * to go back to. */
void crash_install(int tty, int stray, const struct termios *cooked);
/* The handlers that were there before. */
void crash_remove(void);

/* Write all of it, waiting where the descriptor would block; false when that failed.
 * Async-signal-safe. */
bool tty_write(int fd, const char *s, size_t n);

#endif
