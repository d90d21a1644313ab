/* Strict reading of a JSON file that a person wrote: every member is asked for by name, kind and
 * range, anything else is refused, and each error names file, line and field. */
#ifndef WARPLOOP_TASK_FIELD_H
#define WARPLOOP_TASK_FIELD_H

#include "core/base/json.h"

/* A value and where it stands. Borrows from the document. */
struct field {
    const struct json_doc *doc;
    const cJSON *v;
    char path[200];
};

struct field field_root(const struct json_doc *doc);
/* Element i of an array, or the i-th member of an object (`item` is it). */
struct field field_item(const struct field *parent, int i, const cJSON *item);
/* false when the object has no such member. */
bool field_get(const struct field *o, const char *key, struct field *out);
/* The same, and an error that says what was expected. */
bool field_need(const struct field *o, const char *key, const char *expected, struct field *out,
                struct error *e) WARN_UNUSED;

/* Error at this field; returns false. */
bool field_error(const struct field *f, struct error *e, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* An object whose members all stand in `known` (NULL-terminated; NULL: any), none twice. An unknown
 * one is answered with the nearest known. */
bool field_object(const struct field *f, const char *const *known, struct error *e) WARN_UNUSED;
/* An array of lo to hi elements. */
bool field_array(const struct field *f, int lo, int hi, struct error *e) WARN_UNUSED;
/* One line of 1 to max bytes without control characters; a copy that the caller frees. */
bool field_text(const struct field *f, size_t max, char **out, struct error *e) WARN_UNUSED;
/* A finite number in [lo, hi]. */
bool field_number(const struct field *f, double lo, double hi, double *out,
                  struct error *e) WARN_UNUSED;
/* A whole number in [lo, hi], both within 2^53. */
bool field_whole(const struct field *f, int64_t lo, int64_t hi, int64_t *out,
                 struct error *e) WARN_UNUSED;
/* A name of 1 to 48 of a-z 0-9 - _ (first a letter or digit; `start` is taken); the caller frees.
 */
bool field_name(const struct field *f, char **out, struct error *e) WARN_UNUSED;
/* A C identifier of at most 48 letters that no header or compiler claims; the caller frees. */
bool field_identifier(const struct field *f, char **out, struct error *e) WARN_UNUSED;

/* NULL when `name` may name something in C, else why not. */
const char *c_name_problem(const char *name);
/* The candidate nearest to a mistyped name, or NULL when none is near. */
const char *name_nearest(const char *name, const char *const *names, size_t n);

#endif
