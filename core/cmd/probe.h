/* What this machine offers, asked of the programs that will use it: `warploop-build --probe` and
 * `warploop-bench --probe` each print one JSON object; its members are components:
 *   {"jail":{"ok":true,"text":"bwrap ...","lacks":"","command":"", further facts ...}} */
#ifndef WARPLOOP_CMD_PROBE_H
#define WARPLOOP_CMD_PROBE_H

#include <cjson/cJSON.h>

#include "core/base/buf.h"
#include "core/base/error.h"

/* Runs the sibling program of that name; at most 20 s. *out is the caller's to delete. A program
 * that reports something missing is still a success; one that cannot be run or prints no JSON is
 * ERR_CHILD or ERR_SYSTEM. */
bool probe_program(const char *name, cJSON **out, struct error *e) WARN_UNUSED;

/* The first lines of a run: machine, flags, compiler, jail; "unknown" where a probe failed. */
void probe_head(struct buf *out);

#endif
