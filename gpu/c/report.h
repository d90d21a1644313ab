/* The result of an evaluation as a message. */
#ifndef WARPLOOP_GPU_C_REPORT_H
#define WARPLOOP_GPU_C_REPORT_H

#include "core/base/wire.h"
#include "gpu/c/evaluate.h"

/* The `result` message; free with wire_msg_free. */
void report_result(const struct evaluation *ev, struct wire_msg *m);

/* A result that says the request itself could not be understood. */
void report_refused(const char *id, const struct error *e, struct wire_msg *m);

const char *ev_verdict_name(enum verdict_kind k);

#endif
