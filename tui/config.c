#include "tui/config.h"

#include <ini.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fs.h"

#define MAX_FILE (256 * 1024)
#define MAX_LINE 190 /* inih reads no more at once and would split a longer one */

struct reading {
    config_fn *fn;
    void *ctx;
    const char *rest; /* text not yet read */
    int line;         /* number of the line being read */
    int failed;       /* number of the line that fn refused, 0 */
    char field[80];   /* of the line that failed */
    struct error error;
};

/* fgets over the text, counting lines: inih does not tell its handler where it is. */
static char *next_line(char *out, int size, void *stream)
{
    struct reading *r = stream;
    if (!*r->rest)
        return NULL;
    size_t n = strcspn(r->rest, "\n");
    n += r->rest[n] == '\n';
    if (n >= (size_t)size)
        n = (size_t)size - 1;
    memcpy(out, r->rest, n);
    out[n] = '\0';
    r->rest += n;
    r->line++;
    return out;
}

static int handle(void *user, const char *section, const char *key, const char *value)
{
    struct reading *r = user;
    if (r->failed)
        return 1;
    if (r->fn(r->ctx, section, key, value, &r->error))
        return 1;
    r->failed = r->line;
    snprintf(r->field, sizeof r->field, "%s", key);
    return 0;
}

static bool long_line(const char *path, const char *text, const char *at, struct error *e)
{
    int n = 1;
    for (const char *p = text; p < at; p++)
        n += *p == '\n';
    return error_set(e, ERR_INPUT, "%s:%d: the line is longer than %d bytes", path, n, MAX_LINE);
}

bool config_read(const char *path, config_fn *fn, void *ctx, struct error *e)
{
    struct buf text = {0};
    if (!fs_read(path, MAX_FILE, &text, e)) {
        buf_free(&text);
        return false;
    }
    for (const char *p = buf_str(&text), *end; *p; p = end + (*end == '\n')) {
        end = p + strcspn(p, "\n");
        if (end - p > MAX_LINE) {
            bool line_ok = long_line(path, buf_str(&text), p, e);
            buf_free(&text);
            return line_ok;
        }
    }
    struct reading r = {.fn = fn, .ctx = ctx, .rest = buf_str(&text)};
    int bad = ini_parse_stream(next_line, &r, handle, &r);
    buf_free(&text);
    if (bad == 0)
        return true;
    if (bad < 0)
        return error_set(e, ERR_SYSTEM, "%s: not enough memory to read it", path);
    if (r.failed != bad)
        return error_set(e, ERR_INPUT,
                         "%s:%d: expected [section], `key = value` or a comment that begins with ;",
                         path, bad);
    return error_set(e, ERR_INPUT, "%s:%d: field %s: %s", path, bad, r.field, r.error.msg);
}
