/* Driving and following a run from the command line: the holder, the engine thread and the face
 * (workbench, plain lines, or none) put together.
 *
 * Signals while an engine runs here: SIGTERM and SIGINT stop it at the next safe point, a second
 * one at once. SIGHUP, or leaving the workbench, lets it go on without a terminal. */
#ifndef WARPLOOP_CMD_FRONT_H
#define WARPLOOP_CMD_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cmd/cmd.h"
#include "core/cmd/ui.h"

struct front_opts {
    const char *path; /* of the run */
    enum ui_kind ui;
    const char *theme; /* NULL: default */
    bool ascii;
    const char *jail; /* "auto" or "none" */
    bool json;        /* plain lines are events as objects, between two of the run */
    int64_t seq;      /* json, driving: events up to this one are not printed */
};

/* What follows a run prints objects with --json (JSON_OPTION). */
#define FRONT_JSON_DETAILS                                                                         \
    "With --json every line is an object: first and last the run (kind \"run\", as in ls), "       \
    "between\n"                                                                                    \
    "them its events as in log --json; with --headless the first and the last only."

/* The face that the arguments and the terminal call for (options: UI_OPTIONS, --json). Says on
 * standard error why it is not the workbench, unless that was asked for. */
void front_face(const struct args *a, bool headless, struct front_opts *o);

/* Drive the run at o->path until it ends, is stopped or left. Forks once (the holder) when it has a
 * terminal: to be called before anything has started threads or opened the log. */
enum exit_code front_drive(const struct front_opts *o);

/* Look at a run that another process drives, or nobody: read_only for `watch`. Plain lines end when
 * nobody drives the run. */
enum exit_code front_follow(const struct front_opts *o, bool read_only);

/* SIGTERM, SIGINT and SIGHUP as a descriptor (a signalfd, the caller closes it): blocked here from
 * now on, so that they wait for us. */
int signals_take(void);

#endif
