#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

char *buf_room(struct buf *b, size_t n)
{
    size_t need = b->len + n + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : 64;
        while (cap < need)
            cap *= 2;
        b->s = xrealloc(b->s, cap);
        b->cap = cap;
    }
    return b->s + b->len;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
    char *at = buf_room(b, n);
    if (n)
        memcpy(at, bytes, n);
    b->len += n;
    b->s[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > 0) {
        vsnprintf(buf_room(b, (size_t)n), (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

const char *buf_str(const struct buf *b)
{
    return b->s ? b->s : "";
}

char *buf_take(struct buf *b)
{
    char *s = b->s ? b->s : xstrdup("");
    *b = (struct buf){0};
    return s;
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->s)
        b->s[0] = '\0';
}

void buf_free(struct buf *b)
{
    free(b->s);
    *b = (struct buf){0};
}
