/* Source rules of the `c` back end: friendly, early messages with a line. No safety rests on them:
 * the jail and the check of the built object are the barrier.
 *
 * Looks at the text with comments and strings recognised (digraphs, trigraphs, line splices
 * included) and refuses: headers outside the allow-list, computed includes, #line and line markers,
 * #embed, #include_next, __has_include, asm in any spelling, .incbin in strings, attributes that
 * run or place code (constructor, destructor, section, ifunc, alias, weak, cleanup ...), pragmas
 * other than GCC unroll/ivdep, system calls by number, a missing entry, NUL bytes, over 1 MiB. */
#ifndef WARPLOOP_TASK_RULES_H
#define WARPLOOP_TASK_RULES_H

#include "core/base/error.h"
#include "core/task/task.h"

/* true: nothing found. false: *line (from 1) and *e say which rule and what to do instead. */
bool rules_check_c(const struct task *t, const char *source, size_t n, int *line,
                   struct error *e) WARN_UNUSED;

#endif
