/* Allocation that cannot fail: these abort with a message when memory is gone, since no part of
 * warploop could go on. Nothing is lost by that: the event log is the only truth. */
#ifndef WARPLOOP_BASE_MEM_H
#define WARPLOOP_BASE_MEM_H

#include <stddef.h>

#include "core/base/error.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

/* Make room for one more element in a growing array: VEC_ROOM(v->items, v->n, v->cap). */
void *vec_room(void *items, size_t n, size_t *cap, size_t elem) __attribute__((returns_nonnull));
#define VEC_ROOM(items, n, cap) ((items) = vec_room((items), (n), &(cap), sizeof *(items)))

#define ARRAY_LEN(a) (sizeof(a) / sizeof *(a))

#endif
