/* Asking a run for something, from any process: one row in its inbox, and a line that says whether
 * an engine is there to read it. The inbox's kinds and texts are those of core/loop/engine.h. */
#ifndef WARPLOOP_CMD_ASK_H
#define WARPLOOP_CMD_ASK_H

#include <stdbool.h>

#include "core/cmd/cmd.h"
#include "core/cmd/view.h"

#define ASK_TEXT_MAX (1u << 20)

/* A text given on the command line; "-" reads standard input to its end. Refuses more than
 * ASK_TEXT_MAX bytes (the message says how many there are), nothing but blanks, and NUL bytes.
 * Everything else is taken as it is, also invalid UTF-8: it is made fit when it is shown. */
bool ask_text(const char *arg, char **out, struct error *e) WARN_UNUSED;

/* Who asks: "user@host". Caller frees. */
char *ask_author(void);

enum ask_form { ASK_TEXT, ASK_JSON, ASK_SILENT };

/* Put it in and say what becomes of it ("kda-3: pause: the engine (pid 7) reads it at ..."). */
bool ask_put(const struct run_view *v, const char *kind, const char *text, const char *what,
             enum ask_form form, struct error *e) WARN_UNUSED;
/* The line that says so. */
void ask_put_line(const struct run_view *v, const char *kind, const char *what, struct buf *out);

/* The line that says that a run is paused, by whom, and how it goes on. */
void put_paused(const struct run_view *v, struct buf *out);

/* pause and stop: nothing to ask for when nobody drives the run (exit 1, nothing is written). The
 * run is the first argument; the options have --json. */
enum exit_code ask_driver(const struct args *a, const char *kind, const char *text,
                          const char *what);
/* The form that --json asks for. */
enum ask_form ask_form(const struct args *a);

#endif
