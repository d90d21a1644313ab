/* ID.live: a small mapped file beside the run with what is happening right now. Written by the
 * engine, read by any front end, never synced, may be lost: nothing depends on it. */
#ifndef WARPLOOP_LOG_LIVE_H
#define WARPLOOP_LOG_LIVE_H

#include <stddef.h>

#include "core/base/error.h"

struct live;
struct live *live_open(const char *run_path, struct error *e); /* NULL: goes on without */
void live_set(struct live *l, const char *text);               /* at most 500 bytes are kept */
void live_close(struct live *l);
void live_read(const char *run_path, char *out, size_t size); /* "" when there is none */

#endif
