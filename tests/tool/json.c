/* Checks JSON and takes values out of it, for the shell tests (no machine has to have jq).
 *
 * usage: json [PATH ...] <FILE
 * The input has to be exactly one JSON value. Each PATH ("versions/3/verdict", "/" is the whole;
 * "versions/#" is the number of members) is printed on a line of its own, texts without quotes.
 * Exit status 1: not JSON (the message says where); 2: no such value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"

static bool read_all(struct buf *out)
{
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, stdin)) > 0) {
        buf_add(out, chunk, n);
    }
    return !ferror(stdin);
}

static const cJSON *step(const cJSON *v, const char *key)
{
    char *end = NULL;
    long at = strtol(key, &end, 10);
    if (cJSON_IsArray(v)) {
        return *end || end == key ? NULL : cJSON_GetArrayItem(v, (int)at);
    }
    return cJSON_GetObjectItemCaseSensitive(v, key);
}

static bool print_path(const cJSON *root, const char *path)
{
    char *copy = xstrdup(path), *rest = NULL;
    const cJSON *v = root;
    bool count = false;
    for (char *key = strtok_r(copy, "/", &rest); v && key; key = strtok_r(NULL, "/", &rest)) {
        count = strcmp(key, "#") == 0;
        v = count ? v : step(v, key);
    }
    free(copy);
    if (!v) {
        fprintf(stderr, "json: there is no %s\n", path);
        return false;
    }
    if (count) {
        printf("%d\n", cJSON_GetArraySize(v));
    } else if (cJSON_IsString(v)) {
        puts(v->valuestring);
    } else {
        char *text = json_text(v);
        puts(text);
        free(text);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct buf text = {0};
    struct error e = {0};
    struct json_doc doc = {0};
    bool ok = true;
    if (!read_all(&text) || !json_parse(&doc, "standard input", buf_str(&text), text.len, &e)) {
        fprintf(stderr, "json: %s\n", e.msg);
        buf_free(&text);
        return 1;
    }
    for (int i = 1; i < argc && ok; i++) {
        ok = print_path(doc.root, argv[i]);
    }
    json_free(&doc);
    buf_free(&text);
    return ok ? 0 : 2;
}
