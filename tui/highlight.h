/* A small lexer that colours source: C, Python, and assembly-like text (PTX, disassembly). Works a
 * line at a time; what a line leaves open (comment, string, continued directive) is carried in a
 * state, so that a view can begin anywhere and an edit costs its line. Never fails: what it does
 * not understand is plain text. */
#ifndef WARPLOOP_TUI_HIGHLIGHT_H
#define WARPLOOP_TUI_HIGHLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "tui/style.h"

enum hl_language { HL_NONE, HL_C, HL_PYTHON, HL_ASM };

enum hl_state {
    HL_START = 0,
    HL_COMMENT,   /* inside a block comment */
    HL_DIRECTIVE, /* in a preprocessor line that was continued */
    HL_STRING,    /* C: in a string that was continued */
    HL_TRIPLE_S,  /* Python: inside '''...''' */
    HL_TRIPLE_D,  /* Python: inside a triple double-quoted string */
};

/* By a file name's ending: .c .h .cu → C, .py → Python, .ptx .s .sass → assembly. */
enum hl_language hl_language_of(const char *file);

/* Colour one line of n bytes without its new line: roles[i] is the role of byte i. Returns the
 * state for the next line. */
enum hl_state hl_line(enum hl_language lang, enum hl_state state, const char *s, size_t n,
                      uint8_t *roles);

#endif
