/* Moves as switches of one source: resolved to plain text before it is submitted.
 *
 * A configuration says which moves are on and what each applicable tunable is. Its canonical text
 * is "move move TUN=16 ..." in the task's order; with nothing on and defaults it is "start". */
#ifndef WARPLOOP_TASK_SWITCHES_H
#define WARPLOOP_TASK_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/task/task.h"

#define SWITCHES_MAX_MOVES    64
#define SWITCHES_MAX_TUNABLES 32

struct config {
    uint64_t moves;                        /* bit i: task->moves[i] is on */
    int64_t values[SWITCHES_MAX_TUNABLES]; /* of every tunable; those that do not apply: default */
};

struct config config_default(const struct task *t);
/* The bit of a move and those of all that it requires, directly or not. */
uint64_t config_closure(const struct task *t, size_t move);
/* requires and excludes (either way) hold, tunables have allowed values. */
bool config_valid(const struct task *t, const struct config *c);
bool config_applies(const struct task *t, const struct config *c, size_t tunable);
/* Tunables that do not apply set to their defaults, so that equal text means equal config. */
void config_normalise(const struct task *t, struct config *c);
/* Every move that is on and every tunable that applies, or "start". */
char *config_text(const struct task *t, const struct config *c); /* caller frees */
/* Reads such a text back (in any order, tunables at their defaults may be left out); *c is valid
 * and normalised. ERR_INPUT names the word that is wrong. */
bool config_parse(const struct task *t, const char *text, struct config *c,
                  struct error *e) WARN_UNUSED;

/* The plain source of a configuration, appended to out: conditionals (#if, #ifdef, #ifndef, #elif,
 * #else, #endif, written without a space after #) that mention only switches and tunables are
 * decided and removed, #define lines of tunables rewritten or dropped, all else kept byte for byte.
 * A mixed or malformed conditional, and a switch in any other directive, is an error with the line.
 * Works on any language whose conditional lines begin with #if; comments and strings are not looked
 * at. Pure. */
bool switches_resolve(const struct task *t, const char *source, const struct config *c,
                      struct buf *out, struct error *e) WARN_UNUSED;

#endif
