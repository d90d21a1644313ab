/* Thin helpers over cJSON: typed access whose errors name the file, the line and the field, and
 * 64-bit integers as decimal strings (a JSON number holds only 53 bits). */
#ifndef WARPLOOP_BASE_JSON_H
#define WARPLOOP_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"

/* A parsed document that remembers its text, so that errors can name lines. */
struct json_doc {
    const char *name; /* shown in errors: a file name; borrowed */
    const char *text; /* borrowed; may be NULL when no lines can be named */
    cJSON *root;      /* owned */
};

/* Parse text (length n; must be one JSON value, nothing after it). On failure the error names the
 * line and column. The document borrows name and text. */
bool json_parse(struct json_doc *doc, const char *name, const char *text, size_t n,
                struct error *e) WARN_UNUSED;
void json_free(struct json_doc *doc);

/* The line (from 1) on which the value at `path` begins; 0 if it cannot be found. A path is
 * slash-separated keys and indices: "shapes/scored/0/dims". */
int json_line(const struct json_doc *doc, const char *path);

/* Error "NAME:LINE: field PATH: message". */
bool json_error(const struct json_doc *doc, const char *path, struct error *e, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Typed members of an object, for wire messages: return the fallback when absent or mistyped. */
const char *json_str(const cJSON *o, const char *key, const char *fallback);
double json_num(const cJSON *o, const char *key, double fallback);
bool json_bool(const cJSON *o, const char *key, bool fallback);
/* Accepts a decimal string or a number that is a whole number. */
int64_t json_i64(const cJSON *o, const char *key, int64_t fallback);
/* Adds a decimal string. */
void json_put_i64(cJSON *o, const char *key, int64_t value);
/* Adds a number, or nothing when it is NaN or infinite (JSON has neither). */
void json_put_num(cJSON *o, const char *key, double value);
/* Compact text, which the caller frees; NULLs never returned. */
char *json_text(const cJSON *o);

#endif
