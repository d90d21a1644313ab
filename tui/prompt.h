/* The input line: for steering, goals, searches and commands. UTF-8; moves by characters and words;
 * several lines by Alt-Enter or by pasting; remembers what was entered. Holds at most PROMPT_MAX
 * bytes; what does not fit is refused, never cut. */
#ifndef WARPLOOP_TUI_PROMPT_H
#define WARPLOOP_TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "tui/grid.h"

#define PROMPT_MAX  (1024 * 1024) /* what the inbox takes */
#define PROMPT_ROWS 6             /* most rows that are shown of several lines */

enum prompt_result { PROMPT_MORE, PROMPT_ACCEPTED, PROMPT_CANCELLED };

struct prompt {
    char label[60];
    struct buf text;
    size_t cursor;  /* byte offset, at the beginning of a character or at the end */
    bool single;    /* one line only: pasted new lines become spaces */
    bool refused;   /* the last input did not fit; cleared by the next */
    char **history; /* owned; oldest first */
    size_t nhistory, cap_history, at_history;
    char *draft; /* what was being typed before going back; owned, may be NULL */
};

/* Begin with a label ("steer: ") and a text to edit ("" for none). Keeps the history. */
void prompt_start(struct prompt *p, const char *label, const char *text, bool single);
void prompt_free(struct prompt *p);

/* A key (tui/keys.h). Accepting adds the text to the history; it stays in p->text. */
enum prompt_result prompt_key(struct prompt *p, uint32_t key);
/* Insert text, controls but new lines and tabs removed. False when it does not fit. */
bool prompt_insert(struct prompt *p, const char *s, size_t n);
/* Replace the text (completion), cursor at its end. */
void prompt_set(struct prompt *p, const char *s);

/* Rows that it wants at this width, 1..PROMPT_ROWS. */
int prompt_rows(const struct prompt *p, int width);
/* Draw into the view and place the cursor. */
void prompt_draw(const struct prompt *p, struct view v);

#endif
