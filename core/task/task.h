/* A task as data: kernels/TASK/task.json, checked completely at load, so that everything after may
 * trust it. Every error names the file, the line and the field, what was expected and what to do.
 */
#ifndef WARPLOOP_TASK_TASK_H
#define WARPLOOP_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"

/* Limits, those of the wire to warploop-bench. */
#define TASK_MAX_DIMS     16
#define TASK_MAX_BUFFERS  24 /* tensors and workspaces */
#define TASK_MAX_RANK     8
#define TASK_MAX_SHAPES   96
#define TASK_MAX_FAMILIES 48
#define TASK_MAX_BYTES    ((int64_t)4 << 30) /* all buffers of one shape, outputs in float64 */
#define TASK_MAX_SOURCE   ((size_t)1 << 20)

enum param_kind { PARAM_DIM, PARAM_SCALAR, PARAM_INPUT, PARAM_OUTPUT, PARAM_WORKSPACE };

struct param {
    enum param_kind kind;
    char *name;
    char **extents; /* expressions of the shape; tensors only */
    size_t nextents;
    double value;                     /* scalar */
    char *bytes;                      /* workspace: expression */
    double soft, hard;                /* output: limits of the error ratio */
    int head_axis, block_axis, block; /* output: per-block check; -1/0 none */
};

enum shape_role { SHAPE_SCORED, SHAPE_CHECK, SHAPE_HIDDEN };

struct shape {
    enum shape_role role;
    char *name, *family; /* family NULL: the first */
    int64_t *dims;       /* in the order of the dim params */
};

struct move {
    char *name, *sw, *title, *why; /* sw: the switch macro */
    double gain;                   /* predicted, e.g. 1.3 */
    size_t *requires, *excludes;   /* indices into moves */
    size_t nrequires, nexcludes;
};

struct tunable {
    char *name, *why;
    int64_t *values, fallback;
    size_t nvalues;
    size_t *requires; /* moves that must be on for it to matter */
    size_t nrequires;
};

/* What one back end needs: texts are read at load. */
struct task_backend {
    char *entry;
    char **headers;
    size_t nheaders;
    char *reference, *baseline, *start, *moves; /* source texts; moves may be NULL */
    int64_t call_ms;
};

/* A source that must not pass: `task check` proves it (core/task/selfcheck.h). */
struct cheat {
    char *name, *source; /* source: the text */
};

struct constant {
    char *name;
    int64_t value;
};

struct task {
    char *name, *title, *summary, *dir;
    struct param *params;
    size_t nparams;
    struct constant *constants;
    size_t nconstants;
    struct shape *shapes;
    size_t nshapes;
    struct move *moves;
    size_t nmoves;
    struct tunable *tunables;
    size_t ntunables;
    char *flop, *bytes; /* expressions */
    cJSON *families;    /* checked array, as in the file */
    struct task_backend c;
    double margin, max_shape_loss, target; /* target NaN: none */
    struct cheat *cheats;
    size_t ncheats;
    struct buf text;  /* task.json as read */
    struct hash hash; /* of task.json and every source it names: the task's identity */
};

/* `name` is a task's name (looked up among the user's own tasks, then among those that come with
 * warploop: core/base/fs.h; unknown: the error lists what there is) or a path to a folder that
 * holds task.json. */
struct task *task_load(const char *name, struct error *e);
void task_free(struct task *t);
/* Names of all tasks, sorted, each once; free with task_names_free. */
bool task_names(char ***names, size_t *n, struct error *e) WARN_UNUSED;
void task_names_free(char **names, size_t n);

/* The header a candidate includes (NAME.h: guard, constants, prototypes of entry and reference) and
 * the shim that calls it (`void warploop_call(const int *dims, void *const *buffers)`; reference:
 * true for the float64 reference). Appended to out. */
void task_header(const struct task *t, struct buf *out);
void task_shim(const struct task *t, bool reference, struct buf *out);

/* Value of an integer expression (+ - * / ( ), dims of the shape, constants); division must be
 * exact. ERR_INPUT on overflow, unknown name, bad syntax: says where in the expression. */
bool task_eval(const struct task *t, const struct shape *s, const char *expr, int64_t *out,
               struct error *e) WARN_UNUSED;

#endif
