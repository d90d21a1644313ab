/* The evaluate request, parsed and bounds-checked: everything after may trust it.
 *
 * {"op":"evaluate","id":"8","backend":"c","task":"kda","mode":"full|check|baseline","seed":"123",
 *  "jail":"auto|none",
 *  "params":[{"name","kind":"dim|scalar|input|output|workspace","type":"f32",
 *             outputs: "hard","soft","head_axis","block_axis","block"}],
 *  "shapes":[{"name","role":"scored|check|hidden","family":"name, else the first",
 *             "dims":[one per dim param], "counts":["elements of each input and output, bytes of
 *             each workspace, in the order of params"], "extents":[[...] for each of them],
 *             "flop":"...","bytes":"..."}],
 *  "families":[{"name","class","fill":{"q":{...}},"shapes":[names; absent: all check and hidden]}],
 *  "margin":0.005,"max_shape_loss":0.03,"call_ms":2000,"timeout_ms":120000,
 *  "sets":{"min":5,"max":10},"profile":true}
 * with the parts candidate, baseline, reference and (optional) incumbent: shared objects that
 * define `void warploop_call(const int *dims, void *const *buffers)`.
 *
 * An input that a family's fill does not name is filled as the first family says. */
#ifndef WARPLOOP_GPU_C_SPEC_H
#define WARPLOOP_GPU_C_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/wire.h"
#include "gpu/c/inputs.h"

#define EV_NAME      64
#define EV_DIMS      16
#define EV_BUFFERS   24
#define EV_SHAPES    96
#define EV_FAMILIES  48
/* Bytes of all buffers of one shape. */
#define EV_BYTES_MAX ((size_t)4 << 30)

enum ev_kind { EV_INPUT, EV_OUTPUT, EV_WORKSPACE };
enum ev_role { EV_SCORED, EV_CHECK, EV_HIDDEN };
enum ev_mode { EV_MODE_FULL, EV_MODE_CHECK, EV_MODE_BASELINE };

struct ev_buffer {
    char name[EV_NAME];
    enum ev_kind kind;
    double hard, soft;                /* outputs: limits of the error ratio */
    int head_axis, block_axis, block; /* outputs: -1, -1, 0 when the task names none */
};

struct ev_shape {
    char name[EV_NAME];
    enum ev_role role;
    int family; /* scored shapes: index of the family they are filled with */
    int dims[EV_DIMS];
    size_t count[EV_BUFFERS]; /* elements; workspace: bytes */
    struct extent extent[EV_BUFFERS];
    double flop, bytes;
};

struct ev_family {
    char name[EV_NAME], class_[EV_NAME];
    struct fill *fill[EV_BUFFERS]; /* owned; NULL for outputs and workspaces */
    bool shapes[EV_SHAPES];        /* check and hidden shapes that it is checked on */
};

struct ev_request {
    char id[32], task[EV_NAME];
    enum ev_mode mode;
    uint64_t seed;
    bool jail_none, profile;
    size_t ndims, nbuffers, nshapes, nfamilies;
    struct ev_buffer buffer[EV_BUFFERS];
    struct ev_shape *shape;   /* owned */
    struct ev_family *family; /* owned */
    double margin, max_shape_loss;
    int64_t call_ns, timeout_ns;
    int sets_min, sets_max;
};

/* Parse the head of a message. The error names the field. On failure nothing is owned. */
bool ev_request_parse(const cJSON *head, struct ev_request *r, struct error *e) WARN_UNUSED;
void ev_request_free(struct ev_request *r);

/* Bytes of one buffer; `wide`: outputs are double (the float64 reference). */
size_t ev_buffer_bytes(const struct ev_request *r, const struct ev_shape *s, size_t buffer,
                       bool wide);

#endif
