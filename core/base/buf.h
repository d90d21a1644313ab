/* A growing byte string. `s` is always NUL-terminated once anything was added, and may hold NULs.
 * Start from `struct buf b = {0};`, end with buf_free or buf_take. */
#ifndef WARPLOOP_BASE_BUF_H
#define WARPLOOP_BASE_BUF_H

#include <stddef.h>

#include "core/base/error.h"

struct buf {
    char *s;
    size_t len, cap;
};

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Room for n more bytes; returns where they go. The caller adds to b->len itself. */
char *buf_room(struct buf *b, size_t n);

/* The text, never NULL; owned by b. */
const char *buf_str(const struct buf *b);

/* Give the string (never NULL) to the caller, who frees it, and empty b. */
char *buf_take(struct buf *b);
void buf_clear(struct buf *b);
void buf_free(struct buf *b);

#endif
