/* One evaluation: its versions, seeds, deadline and verdict; the check stage. The time stage is
 * timing.c, the profile counters.c, the words of the result report.c.
 *
 * Functions that return bool return false once the evaluation has ended with a verdict (kept in
 * `verdict`) or was cancelled; they are called in order and the first false ends it. */
#ifndef WARPLOOP_GPU_C_EVALUATE_H
#define WARPLOOP_GPU_C_EVALUATE_H

#include "gpu/c/check.h"
#include "gpu/c/counters.h"
#include "gpu/c/executor.h"
#include "gpu/c/machine.h"
#include "gpu/c/spec.h"
#include "gpu/c/timing.h"

enum version { V_CANDIDATE, V_INCUMBENT, V_BASELINE, V_REFERENCE, V_COUNT };

enum verdict_kind {
    VERDICT_NONE, /* not ended yet */
    VERDICT_OK,
    VERDICT_SCREENED,
    VERDICT_FAULT,
    VERDICT_TIMEOUT,
    VERDICT_WRONG,
    VERDICT_INACCURATE,
    VERDICT_IMPLAUSIBLE,
    VERDICT_LAUNCH,
    VERDICT_INFRA,
    VERDICT_CANCELLED, /* nobody is there to be told */
};

struct verdict {
    enum verdict_kind kind;
    char message[500];
    const char *family, *shape, *tensor; /* borrowed from the request; NULL when not known */
    bool has_values;                     /* the next five */
    size_t index;
    double got, want, error, limit;
};

/* The worst ratio of one output over all checks, in proportion to its limit. */
struct worst_error {
    bool known;
    double ratio, limit, baseline;
};

struct evaluation {
    const struct ev_request *r;
    const struct machine *machine;
    const struct nursery *nursery;
    int wire;            /* progress goes here; its hang-up cancels; -1: neither */
    int object[V_COUNT]; /* sealed memfds, owned; -1: absent */
    int64_t begin_ns, deadline_ns;
    uint64_t counter; /* of seeds drawn */
    struct verdict verdict;
    struct worst_error worst[EV_BUFFERS];
    /* the baseline's largest ratios on each scored shape so far; finite: known */
    struct check_ratios baseline_off[EV_SHAPES][EV_BUFFERS];
    char jail[320];
    bool large_pages;
    struct timing timing;
    struct counters counters;
};

/* Prepare: objects of the parts are checked (elfcheck.h) and kept in sealed memory. */
bool evaluation_begin(struct evaluation *ev, const struct ev_request *r, const struct wire_msg *m,
                      const struct machine *machine, const struct nursery *nursery, int wire);
void evaluation_end(struct evaluation *ev);

/* All stages that the mode asks for, unless it has ended already: ev->verdict says how it went. */
void evaluate(struct evaluation *ev);

/* Every family on its check and hidden shapes: reference, baseline, candidate. In baseline mode the
 * baseline itself is judged, against its hard limits. */
bool evaluate_check(struct evaluation *ev);

/* ---- for the stages */

/* A new seed; two never agree within a process, and none follows from another without the
 * request's seed, which candidate code never sees. */
uint64_t evaluation_seed(struct evaluation *ev);

/* The version that is judged: the candidate, in baseline mode the baseline. */
enum version evaluation_subject(const struct evaluation *ev);

bool evaluation_start(struct evaluation *ev, enum version v, struct executor *x);

/* One arena of a shape. */
bool evaluation_arena(struct evaluation *ev, const struct ev_shape *s, enum arena_part part,
                      bool wide, struct arena *a);
bool evaluation_map(struct evaluation *ev, struct executor *x, const struct ev_shape *s,
                    const struct arena *inputs, const struct arena *outputs);
void evaluation_fill(struct evaluation *ev, const struct ev_family *f, const struct ev_shape *s,
                     struct arena *inputs);

/* What a call is about, for its verdict. */
struct call_site {
    enum version version;
    const struct ev_family *family;
    const struct ev_shape *shape;
};

/* New pattern, call, and everything about it that is a verdict: faults, deadlines, slack written,
 * outputs left untouched. */
bool evaluation_call(struct evaluation *ev, struct executor *x, const struct call_site *at,
                     struct arena *outputs, struct call *c);

/* Compare an output of the subject with float64 values (`off` NULL), or with the baseline's output,
 * which may be off by the ratios `off`. `baseline`: the baseline's ratios that set the limit. */
bool evaluation_judge(struct evaluation *ev, const struct call_site *at, size_t buffer,
                      const double *ref, const float *x, const struct check_ratios *baseline,
                      const struct check_ratios *off);

/* End with a verdict; returns false. */
bool verdict_set(struct evaluation *ev, enum verdict_kind kind, const struct call_site *at,
                 const char *fmt, ...) PRINTF_LIKE(4, 5);
/* End because something of ours failed (or was cancelled); returns false. */
bool verdict_infra(struct evaluation *ev, const struct error *e, const char *what);

void evaluation_progress(struct evaluation *ev, const char *stage, size_t done, size_t of,
                         const char *text);

#endif
