/* A task in the making: a user's own C function and what has to be known about it.
 *
 * `warploop task new` guesses all of it from the source, writes it down as a short spec for the
 * user to correct, reads that back, and makes the task's files. Everything here is text in, text
 * out; nothing is written, built or run. */
#ifndef WARPLOOP_TASK_DRAFT_H
#define WARPLOOP_TASK_DRAFT_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/task/guess.h"
#include "core/task/proto.h"
#include "core/task/task.h"

#define DRAFT_CHECKS 8

enum draft_kind { DRAFT_SIZE, DRAFT_SCALAR, DRAFT_INPUT, DRAFT_OUTPUT, DRAFT_INOUT };

/* What is said about one parameter; which members count follows from the kind. */
struct draft_param {
    enum draft_kind kind;
    const char *name; /* borrowed from the function */
    /* size */
    bool is_auto;   /* the scored size is measured (draft_scale) */
    int64_t scored; /* in force */
    int64_t check[DRAFT_CHECKS], hidden[DRAFT_CHECKS];
    size_t nchecks, nhidden;
    double value; /* scalar */
    /* arrays */
    char *extents[TASK_MAX_RANK]; /* expressions, owned; none: not known yet */
    size_t nextents;
    bool guessed; /* the extents come from the index expressions */
    char *fill;   /* input, in-out: "normal 0 1"; owned */
    double soft, hard;
    int line; /* in the spec, 0 none */
};

struct draft {
    char *name;          /* of the task */
    char *file;          /* the user's source, as given */
    char *title;         /* one line */
    char *flop, *bytes;  /* expressions */
    bool wide, sparse;   /* further input families */
    struct buf source;   /* without what the function does not need */
    struct buf left_out; /* the names of that */
    struct tokens tokens;
    struct c_function f;
    struct draft_param *params; /* one for each of f */
    char *entry;                /* of the task: f's own name, or that of the caller made for it */
};

/* Read and parse FILE, look for `entry`, guess. Errors name FILE, line and column. Free with
 * draft_free, also after a failure. */
bool draft_open(struct draft *d, const char *name, const char *file, const char *entry,
                struct error *e) WARN_UNUSED;
void draft_free(struct draft *d);

/* A name that a task may have; ERR_INPUT says what was expected. */
bool draft_name_ok(const char *name, struct error *e) WARN_UNUSED;

/* The spec: what is known now, with comments for a person. `command` is how to go on. */
void draft_spec_write(const struct draft *d, const char *command, struct buf *out);
/* Take a spec over; every parameter must stand in it. Errors: "FILE:LINE: field F: expected ...".
 */
bool draft_spec_read(struct draft *d, const char *file, const char *text, size_t n,
                     struct error *e) WARN_UNUSED;
/* Arrays whose extents are not known; 0: ready. names (may be NULL): theirs, comma-separated. */
size_t draft_unknown(const struct draft *d, struct buf *names);

/* Whether a function of the draft's own stands between task and user's function, and why: adds a
 * phrase ("sizes are int in a task"), nothing when it does not. */
bool draft_adapts(const struct draft *d, struct buf *why);

/* Scale the sizes that are auto from where they started. */
void draft_scale(struct draft *d, double factor);
size_t draft_autos(const struct draft *d);
/* Bytes of all tensors of the scored shape, outputs as float64 too; INT64_MAX: too many. */
int64_t draft_scored_bytes(const struct draft *d);
/* "n=4096 m=16": the scored sizes. */
void draft_put_sizes(const struct draft *d, struct buf *out);

/* The files of the task. */
void draft_task_json(const struct draft *d, struct buf *out);
void draft_start(const struct draft *d, struct buf *out);
/* "void F(int n, const float *x, double *y)": the entry, or the reference's. */
void draft_put_prototype(const struct draft *d, bool reference, struct buf *out);
/* ERR_INPUT when the source cannot be carried over to float64. */
bool draft_reference(const struct draft *d, struct buf *out, struct error *e) WARN_UNUSED;

#endif
