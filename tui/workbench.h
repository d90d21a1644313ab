/* The workbench: a run on a terminal. Panes for the source, the speedup graph, the counters and the
 * reasoning, two status lines, help; reads the run's log through a reader of its own, sends what
 * the person asks for through a callback. Idle it waits without a timeout and writes nothing.
 *
 * Runs in the calling thread until it is left. Other threads must have been created with SIGWINCH,
 * SIGHUP and SIGCONT blocked. SIGTERM and SIGINT leave it with the terminal put right, unless the
 * caller had them blocked or handled: then they are the caller's. */
#ifndef WARPLOOP_TUI_WORKBENCH_H
#define WARPLOOP_TUI_WORKBENCH_H

#include <stdbool.h>

#include "core/base/error.h"

struct workbench_opts {
    const char *run_path;
    bool read_only; /* watch: command is not called and may be NULL */
    /* Carry out "pause", "resume", "steer" (text), "goal" (text), "fork" (text: a version number)
     * or "stop"; false with *e set when it was refused. Called in this thread. After success a
     * fork may leave a line for the person ("kda-4 was made") in e->msg. */
    bool (*command)(void *ctx, const char *kind, const char *text, struct error *e);
    void *ctx;
    int wake_fd;       /* an eventfd written when the run has news (same process); -1 */
    bool no_colour;    /* as NO_COLOR */
    const char *theme; /* name or file; NULL: default */
    bool ascii;
    const char *keys_file; /* NULL: keys.ini in the configuration folder, if it is there */
};

enum workbench_result {
    WORKBENCH_LEFT,       /* the run may go on */
    WORKBENCH_CLOSED,     /* left after the run had ended */
    WORKBENCH_HUNG_UP,    /* the terminal is gone; nothing more may be written to it; SIGHUP is
                             ignored from here on */
    WORKBENCH_TERMINATED, /* SIGTERM or SIGINT; the terminal was put right */
    WORKBENCH_FAILED,     /* no terminal fit for it, or the run cannot be read: *e says which; use
                             plain lines */
};

enum workbench_result workbench_run(const struct workbench_opts *o, struct error *e);

#endif
