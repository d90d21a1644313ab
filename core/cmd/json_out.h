/* What --json prints, on every command alike: one object (or an array) on one line, or one object a
 * line for what goes on. Names are snake_case; numbers are numbers, whole ones with all digits;
 * what is absent is null; times end in _ns. The bytes are ASCII, so that neither a terminal nor a
 * strict reader meets foreign ones. Errors stay text on standard error. */
#ifndef WARPLOOP_CMD_JSON_OUT_H
#define WARPLOOP_CMD_JSON_OUT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/cmd/view.h"

/* The option's row in a command's table. */
#define JSON_OPTION(what)                                                                          \
    {                                                                                              \
        .name = "json", .kind = OPTION_FLAG, .help = (what)                                        \
    }

/* Members of an object. */
void out_text(cJSON *o, const char *key, const char *text); /* null when NULL or "" */
void out_num(cJSON *o, const char *key, double v);          /* null when NaN or infinite */
void out_i64(cJSON *o, const char *key, int64_t v);
void out_id(cJSON *o, const char *key, int64_t id); /* a version's number; null when negative */

/* JSON text with everything outside ASCII as \u and four digits, and each byte that is no UTF-8 as
 * \ufffd; appended to out. */
void json_ascii(const char *text, struct buf *out);

/* Print it on a line of its own; takes o. */
void print_json(cJSON *o);

/* A run in short (a row of ls), a goal, a version, an event. The caller owns what comes back. */
cJSON *json_run(const struct run_view *v);
cJSON *json_goal(const struct goal *g);
cJSON *json_version(const struct version *v);
cJSON *json_event(const struct event *ev, bool body);
/* The same with what was said, measured and built: "message", "result" and "build", or null. */
cJSON *json_version_full(struct run_view *v, int64_t id);
/* Member "message": what was said of the version when it was judged; null without one (ver may be
 * NULL). */
void out_message(cJSON *o, struct run_view *v, const struct version *ver);
/* What a child of the back end replied, as it is shown: whole numbers as numbers, without what only
 * the wire needs. A copy; null for NULL. */
cJSON *json_reply(const cJSON *reply);

#endif
