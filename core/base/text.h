/* Foreign text (compiler output, agent text, file names, pasted goals) made fit for a terminal:
 * escape sequences removed whole, controls shown as ^X, invalid UTF-8 as U+FFFD, bidi and
 * zero-width characters made visible or dropped, line separators turned into new lines, at most 4
 * combining marks a cell. Stored bytes stay raw; this is used at the border to the screen. */
#ifndef WARPLOOP_BASE_TEXT_H
#define WARPLOOP_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Append the sanitised form of n bytes to out. Keeps \n; expands \t to `tab` spaces' stops counted
 * from the line's start (0: one space). Pure: one call for one complete text. */
void text_sanitise(struct buf *out, const char *bytes, size_t n, int tab);

/* The same as one line: new lines become spaces, cut to `cols` columns with "..." when longer. */
void text_line(struct buf *out, const char *bytes, size_t n, int cols);

/* Decode one UTF-8 character of at most n bytes: returns its length (1 and *cp = 0xFFFD for a bad
 * byte; 0 only when n is 0). Rejects overlong forms and surrogates. */
size_t text_decode(const char *s, size_t n, uint32_t *cp);
size_t text_encode(uint32_t cp, char out[4]);

/* Columns of a character on a terminal: 0, 1 or 2. Own fixed table, no locale. */
int text_width(uint32_t cp);

#endif
