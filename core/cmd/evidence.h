/* What the bench and the build said about a version (the JSON they replied), as tables. */
#ifndef WARPLOOP_CMD_EVIDENCE_H
#define WARPLOOP_CMD_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/log/reader.h"

struct evidence {
    struct buf result_text, build_text;
    struct json_doc result, build; /* root NULL when there is none */
};

/* False when there is neither a result nor a build reply (then nothing needs freeing, and freeing
 * is harmless). */
bool evidence_open(struct reader *r, int64_t version, struct evidence *ev,
                   struct error *e) WARN_UNUSED;
void evidence_free(struct evidence *ev);

/* Each appends lines, or nothing when that part was not measured. */
void evidence_shapes(const struct evidence *ev, struct buf *out);   /* per scored shape */
void evidence_counters(const struct evidence *ev, struct buf *out); /* value, baseline, incumbent */
void evidence_machine(const struct evidence *ev, struct buf *out);  /* cpu, jail, clock */
void evidence_build(const struct evidence *ev, struct buf *out);    /* command, mix, log */
/* Counters and instruction mix of two versions side by side: what stands beside a diff. */
void evidence_compare(const struct evidence *a, const char *name_a, const struct evidence *b,
                      const char *name_b, struct buf *out);

/* Foreign text of several lines, indented. */
void text_block(const char *text, struct buf *out);

#endif
