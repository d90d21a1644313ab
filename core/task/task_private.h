/* Parts of the loader of tasks that its files share; not for others. */
#ifndef WARPLOOP_TASK_TASK_PRIVATE_H
#define WARPLOOP_TASK_TASK_PRIVATE_H

#include "core/task/field.h"
#include "core/task/task.h"

/* A task from the text of its task.json, called `file` in errors; the sources that it names are
 * read from `dir`. NULL with *e on any fault. */
struct task *task_from_text(const char *dir, const char *file, const char *text, size_t n,
                            struct error *e);

/* Each fills its part of t from the document's root and checks it. */
bool task_take_constants(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
bool task_take_params(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
bool task_take_shapes(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
bool task_take_families(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
bool task_take_moves(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
bool task_take_tunables(struct task *t, const struct field *root, struct error *e) WARN_UNUSED;
/* Sizes and work of every shape: right expressions, nothing empty, nothing over the limits. */
bool task_check_sizes(const struct task *t, const struct field *root, struct error *e) WARN_UNUSED;

/* The text of an expression: a string, or a whole number as text; the caller frees. */
bool task_take_expr(const struct field *f, char **out, struct error *e) WARN_UNUSED;
/* What a C name is already used for in the task ("a param", "a switch" ...), NULL when free. */
const char *task_c_name_use(const struct task *t, const char *name);
/* Index of a dim param among the dims, by its name; -1 none. */
int task_dim_index(const struct task *t, const char *name);
/* `void ENTRY(int B, const float *q, ...)` in lines of at most 100 columns, no semicolon. */
void task_prototype(const struct task *t, bool reference, struct buf *out);
size_t task_count(const struct task *t, enum param_kind kind);

#endif
