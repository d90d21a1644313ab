/* The wire between processes: one line of JSON, then the raw bytes ("parts") that it announces:
 *   {"op":"build", ..., "parts":[{"name":"source","size":"1234"}]}\n<1234 bytes>
 * Neither side trusts the other: lines over 1 MiB, more than 64 parts, or parts over WIRE_PART_MAX
 * end the conversation with an error. */
#ifndef WARPLOOP_BASE_WIRE_H
#define WARPLOOP_BASE_WIRE_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/json.h"

#define WIRE_LINE_MAX (1u << 20)
#define WIRE_PART_MAX (64u << 20)
#define WIRE_PARTS    64

struct wire_part {
    char name[64];
    struct buf bytes;
};

struct wire_msg {
    cJSON *head; /* the JSON line, owned; `parts` is written by wire_send, not by the caller */
    struct wire_part *parts;
    size_t nparts;
};

void wire_msg_free(struct wire_msg *m);
/* Copies bytes into a new part. */
void wire_add_part(struct wire_msg *m, const char *name, const void *bytes, size_t n);
/* The part of that name or NULL; owned by m. */
const struct buf *wire_part(const struct wire_msg *m, const char *name);

/* Write the whole message to fd (blocking; restarts after signals; never raises SIGPIPE). */
bool wire_send(int fd, const struct wire_msg *m, struct error *e) WARN_UNUSED;

/* A reader keeps what arrived so far, so that it can be used from a poll loop. */
struct wire_reader {
    int fd;
    struct buf in;
};

enum wire_status { WIRE_MSG, WIRE_MORE, WIRE_EOF, WIRE_ERROR };

/* Take one message if it is complete. `block`: wait for it; else return WIRE_MORE when the
 * descriptor has no more bytes now. WIRE_EOF only between messages. *m is filled on WIRE_MSG. */
enum wire_status wire_read(struct wire_reader *r, bool block, struct wire_msg *m, struct error *e);
void wire_reader_free(struct wire_reader *r);

#endif
