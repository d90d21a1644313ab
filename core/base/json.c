#include "core/base/json.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static int line_of(const char *text, const char *at)
{
    int line = 1;
    for (const char *p = text; p < at && *p; p++)
        line += *p == '\n';
    return line;
}

bool json_parse(struct json_doc *doc, const char *name, const char *text, size_t n, struct error *e)
{
    *doc = (struct json_doc){.name = name, .text = text};
    const char *end = NULL;
    if (memchr(text, '\0', n))
        return error_set(e, ERR_INPUT, "%s: holds a NUL byte: JSON text was expected", name);
    doc->root = cJSON_ParseWithLengthOpts(text, n, &end, 0);
    if (doc->root) {
        const char *rest = end;
        while (rest < text + n && isspace((unsigned char)*rest))
            rest++;
        if (rest == text + n)
            return true;
        cJSON_Delete(doc->root);
        doc->root = NULL;
        return error_set(e, ERR_INPUT, "%s:%d: text after the end of the JSON value", name,
                         line_of(text, rest));
    }
    if (!end || end < text || end > text + n)
        end = text;
    const char *bol = end;
    while (bol > text && bol[-1] != '\n')
        bol--;
    return error_set(e, ERR_INPUT,
                     "%s:%d: not valid JSON at column %d (a missing comma, quote or "
                     "bracket, or a comma too many, is the usual cause)",
                     name, line_of(text, end), (int)(end - bol) + 1);
}

void json_free(struct json_doc *doc)
{
    cJSON_Delete(doc->root);
    doc->root = NULL;
}

/* ---- finding a value in the text: the document is known to be valid JSON ---- */

static const char *skip_space(const char *p)
{
    while (*p && isspace((unsigned char)*p))
        p++;
    return p;
}

static const char *skip_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

static const char *skip_value(const char *p)
{
    p = skip_space(p);
    if (*p == '"')
        return skip_string(p);
    if (*p != '{' && *p != '[') {
        while (*p && !strchr(",]} \t\r\n", *p))
            p++;
        return p;
    }
    int depth = 0;
    while (*p) {
        if (*p == '"') {
            p = skip_string(p);
            continue;
        }
        if (*p == '{' || *p == '[')
            depth++;
        if (*p == '}' || *p == ']')
            depth--;
        p++;
        if (depth == 0)
            break;
    }
    return p;
}

/* Step into member `key` (object) or element `index` (array) of the value at p. */
static const char *enter(const char *p, const char *key, size_t keylen)
{
    p = skip_space(p);
    if (*p != '{' && *p != '[')
        return NULL;
    bool object = *p == '{';
    long want = object ? -1 : strtol(key, NULL, 10);
    p = skip_space(p + 1);
    for (long i = 0; *p && *p != '}' && *p != ']'; i++) {
        bool hit = !object && i == want;
        if (object) {
            const char *k = p + 1;
            p = skip_string(p);
            hit = (size_t)(p - 1 - k) == keylen && memcmp(k, key, keylen) == 0;
            p = skip_space(p);
            p = skip_space(*p == ':' ? p + 1 : p);
        }
        if (hit)
            return p;
        p = skip_space(skip_value(p));
        if (*p == ',')
            p = skip_space(p + 1);
    }
    return NULL;
}

int json_line(const struct json_doc *doc, const char *path)
{
    if (!doc->text)
        return 0;
    const char *p = skip_space(doc->text);
    while (*path) {
        size_t n = strcspn(path, "/");
        const char *next = enter(p, path, n);
        if (!next)
            break; /* absent: the line of what should have held it */
        p = next;
        path += n;
        if (*path == '/')
            path++;
    }
    return line_of(doc->text, p);
}

bool json_error(const struct json_doc *doc, const char *path, struct error *e, const char *fmt, ...)
{
    char what[700];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return error_set(e, ERR_INPUT, "%s:%d: field %s: %s", doc->name, json_line(doc, path),
                     *path ? path : "(top)", what);
}

const char *json_str(const cJSON *o, const char *key, const char *fallback)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsString(v) && v->valuestring ? v->valuestring : fallback;
}

double json_num(const cJSON *o, const char *key, double fallback)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsNumber(v) ? v->valuedouble : fallback;
}

bool json_bool(const cJSON *o, const char *key, bool fallback)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsBool(v) ? cJSON_IsTrue(v) : fallback;
}

int64_t json_i64(const cJSON *o, const char *key, int64_t fallback)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    if (cJSON_IsNumber(v) && fabs(v->valuedouble) < 9.0e15 &&
        v->valuedouble == floor(v->valuedouble))
        return (int64_t)v->valuedouble;
    if (!cJSON_IsString(v) || !v->valuestring || !*v->valuestring)
        return fallback;
    char *end = NULL;
    errno = 0;
    long long n = strtoll(v->valuestring, &end, 10);
    return errno == 0 && *end == '\0' ? (int64_t)n : fallback;
}

void json_put_i64(cJSON *o, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    cJSON_AddStringToObject(o, key, text);
}

void json_put_num(cJSON *o, const char *key, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(o, key, value);
}

char *json_text(const cJSON *o)
{
    char *s = cJSON_PrintUnformatted(o);
    return s ? s : xstrdup("null");
}
