/* Small integer expressions: the sizes of a task (`4*(B*T*K+1)`) and the conditions of switches
 * (`CHUNKWISE && (CHUNK > 16 || !defined(FUSED))`).
 *
 * Pure; no allocation; text need not be NUL-terminated. Nesting is limited to 64, so that a hostile
 * file cannot exhaust the stack. */
#ifndef WARPLOOP_TASK_EXPR_H
#define WARPLOOP_TASK_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"

enum expr_kind {
    EXPR_ARITHMETIC, /* + - * / ( ), names, whole numbers; division must be exact */
    EXPR_CONDITION,  /* as the C preprocessor has it: also ! && || == != < > <= >= %, defined NAME,
                      * defined(NAME); division truncates, && and || decide before they go on */
};

/* What the names stand for. */
struct expr_env {
    bool (*value)(const void *ctx, const char *name, size_t n, int64_t *out); /* false: unknown */
    /* whether NAME is defined (conditions only; may be NULL for arithmetic) */
    bool (*defined)(const void *ctx, const char *name, size_t n);
    const void *ctx;
};

/* ERR_INPUT on overflow of 64 bits, unknown name, division by zero or bad syntax; the message
 * quotes the expression and the column. */
bool expr_eval(const char *text, size_t n, enum expr_kind kind, const struct expr_env *env,
               int64_t *out, struct error *e) WARN_UNUSED;

/* The next C identifier at or after text + *at: its length, with *at at its first character; 0 when
 * there is none. Numbers (`0x1F`, `16u`) are skipped whole. */
size_t expr_next_name(const char *text, size_t n, size_t *at);

#endif
