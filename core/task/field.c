#include "core/task/field.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

#define NAME_MAX_LEN 48

struct field field_root(const struct json_doc *doc)
{
    return (struct field){.doc = doc, .v = doc->root};
}

static void step(struct field *f, const char *key)
{
    size_t n = strlen(f->path);
    snprintf(f->path + n, sizeof f->path - n, "%s%.60s", n ? "/" : "", key);
}

struct field field_item(const struct field *parent, int i, const cJSON *item)
{
    struct field f = *parent;
    char index[16];
    snprintf(index, sizeof index, "%d", i);
    f.v = item;
    step(&f, item->string ? item->string : index);
    return f;
}

bool field_get(const struct field *o, const char *key, struct field *out)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o->v, key);
    if (!v)
        return false;
    *out = *o;
    out->v = v;
    step(out, key);
    return true;
}

bool field_need(const struct field *o, const char *key, const char *expected, struct field *out,
                struct error *e)
{
    if (field_get(o, key, out))
        return true;
    struct field missing = *o;
    step(&missing, key);
    return field_error(&missing, e, "missing; expected %s", expected);
}

bool field_error(const struct field *f, struct error *e, const char *fmt, ...)
{
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return json_error(f->doc, f->path, e, "%s", what);
}

/* What a value is, for "expected ..., got ...". */
static const char *kind(const cJSON *v)
{
    if (cJSON_IsObject(v))
        return "an object";
    if (cJSON_IsArray(v))
        return "an array";
    if (cJSON_IsString(v))
        return "a text";
    if (cJSON_IsNumber(v))
        return "a number";
    return cJSON_IsBool(v) ? "true or false" : "null";
}

static bool unknown_member(const struct field *f, const cJSON *m, const char *const *known,
                           struct error *e)
{
    size_t n = 0;
    char list[400] = "";
    for (; known[n]; n++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", known[n]);
    }
    const char *near = name_nearest(m->string, known, n);
    struct field at = field_item(f, 0, m);
    if (near)
        return field_error(&at, e, "unknown; did you mean \"%s\"?", near);
    return field_error(&at, e, "unknown; remove it (expected here: %s)", list);
}

bool field_object(const struct field *f, const char *const *known, struct error *e)
{
    if (!cJSON_IsObject(f->v))
        return field_error(f, e, "expected an object { }, got %s", kind(f->v));
    const cJSON *m;
    cJSON_ArrayForEach(m, f->v)
    {
        size_t i = 0;
        while (known && known[i] && strcmp(known[i], m->string) != 0)
            i++;
        if (known && !known[i])
            return unknown_member(f, m, known, e);
        if (cJSON_GetObjectItemCaseSensitive(f->v, m->string) != m) {
            struct field at = field_item(f, 0, m);
            return field_error(&at, e, "given twice; expected once: remove one");
        }
    }
    return true;
}

bool field_array(const struct field *f, int lo, int hi, struct error *e)
{
    if (!cJSON_IsArray(f->v))
        return field_error(f, e, "expected an array [ ], got %s", kind(f->v));
    int n = cJSON_GetArraySize(f->v);
    if (n < lo || n > hi)
        return field_error(f, e, "expected %d to %d elements, got %d", lo, hi, n);
    return true;
}

bool field_text(const struct field *f, size_t max, char **out, struct error *e)
{
    if (!cJSON_IsString(f->v))
        return field_error(f, e, "expected a text in quotes, got %s", kind(f->v));
    const char *s = f->v->valuestring;
    size_t n = strlen(s);
    if (n == 0 || n > max)
        return field_error(f, e, "expected a text of 1 to %zu bytes, got %zu", max, n);
    for (const char *p = s; *p;) {
        uint32_t cp;
        size_t len = text_decode(p, n - (size_t)(p - s), &cp);
        if (cp < 0x20 || cp == 0x7f || (cp == 0xfffd && len == 1))
            return field_error(f, e,
                               "expected one line of UTF-8, got a control character or a "
                               "broken byte at position %d",
                               (int)(p - s) + 1);
        p += len;
    }
    *out = xstrdup(s);
    return true;
}

bool field_number(const struct field *f, double lo, double hi, double *out, struct error *e)
{
    if (!cJSON_IsNumber(f->v))
        return field_error(f, e, "expected a number, got %s", kind(f->v));
    double v = f->v->valuedouble;
    if (!isfinite(v) || v < lo || v > hi)
        return field_error(f, e, "expected a number from %g to %g, got %g", lo, hi, v);
    *out = v;
    return true;
}

bool field_whole(const struct field *f, int64_t lo, int64_t hi, int64_t *out, struct error *e)
{
    if (!cJSON_IsNumber(f->v))
        return field_error(f, e, "expected a whole number, got %s", kind(f->v));
    double v = f->v->valuedouble;
    if (!isfinite(v) || v != floor(v) || v < (double)lo || v > (double)hi)
        return field_error(f, e, "expected a whole number from %lld to %lld, got %.17g",
                           (long long)lo, (long long)hi, v);
    *out = (int64_t)v;
    return true;
}

bool field_name(const struct field *f, char **out, struct error *e)
{
    if (!field_text(f, NAME_MAX_LEN, out, e))
        return false;
    const char *s = *out;
    bool good = islower((unsigned char)*s) || isdigit((unsigned char)*s);
    for (; *s && good; s++)
        good = islower((unsigned char)*s) || isdigit((unsigned char)*s) || *s == '-' || *s == '_';
    if (good)
        return true;
    field_error(f, e, "expected a name of small letters, digits, - and _, got \"%s\"", *out);
    free(*out);
    *out = NULL;
    return false;
}

bool field_identifier(const struct field *f, char **out, struct error *e)
{
    if (!field_text(f, NAME_MAX_LEN, out, e))
        return false;
    const char *why = c_name_problem(*out);
    if (!why)
        return true;
    field_error(f, e, "expected a C identifier, got \"%s\": %s", *out, why);
    free(*out);
    *out = NULL;
    return false;
}

/* Words of gnu11, and the macros and functions without an underscore that gcc or <stddef.h> and
 * <stdint.h> may define under it. */
static const char *const taken[] = {
    "asm",      "auto",      "break",   "case",      "char",         "const",         "continue",
    "default",  "do",        "double",  "else",      "enum",         "extern",        "float",
    "for",      "goto",      "if",      "inline",    "int",          "long",          "register",
    "restrict", "return",    "short",   "signed",    "sizeof",       "static",        "struct",
    "switch",   "typedef",   "typeof",  "union",     "unsigned",     "void",          "volatile",
    "while",    "defined",   "linux",   "unix",      "i386",         "NULL",          "offsetof",
    "size_t",   "ptrdiff_t", "wchar_t", "main",      "bool",         "true",          "false",
    "nullptr",  "alignas",   "alignof", "constexpr", "thread_local", "warploop_call",
};

const char *c_name_problem(const char *name)
{
    if (!isalpha((unsigned char)*name))
        return *name == '_' ? "names that begin with _ belong to the compiler"
                            : "it must begin with a letter";
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_')
            return "only letters, digits and _ may stand in it";
    if (strstr(name, "__"))
        return "names with __ belong to the compiler";
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (strcmp(name, taken[i]) == 0)
            return "that word has a meaning in C";
    return NULL;
}

/* Levenshtein distance with neighbours swapped counting one, of texts under 64 bytes; else 99. */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[3][64];
    if (n >= 63 || m >= 63)
        return 99;
    for (size_t j = 0; j <= m; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[i % 3], *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t d = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (now[j - 1] + 1 < d)
                d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            now[j] = d;
        }
    }
    return row[n % 3][m];
}

const char *name_nearest(const char *name, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t limit = strlen(name) < 4 ? 1 : strlen(name) / 3 + 1; /* edits */
    if (limit > 4)
        limit = 4;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(name, names[i]);
        if (d <= limit) {
            limit = d - (d > 0);
            best = names[i];
        }
    }
    return best;
}
