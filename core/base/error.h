/* Errors as values.
 *
 * A function that can fail returns bool (true = success) and takes `struct error *` last. On
 * failure it fills the error and returns false; on success it leaves it alone. A caller that does
 * not care passes NULL. The message is one or more complete lines for a person: what is wrong,
 * where (file, line, field), what was expected, and what to do. */
#ifndef WARPLOOP_BASE_ERROR_H
#define WARPLOOP_BASE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

enum error_code {
    ERR_NONE = 0,
    ERR_INPUT,    /* what the user or a file said is wrong; exit 2 */
    ERR_NOTFOUND, /* unknown run, task, version; exit 2 */
    ERR_BUSY,     /* locked by another process; may pass */
    ERR_FULL,     /* no space left */
    ERR_CORRUPT,  /* a stored file is damaged */
    ERR_NEWER,    /* a stored file is of a newer schema */
    ERR_READONLY, /* the file or file system cannot be written */
    ERR_SYSTEM,   /* the operating system refused something else */
    ERR_CHILD,    /* a child process broke its protocol or died */
    ERR_CANCELLED,
};

struct error {
    enum error_code code;
    char msg[1000];
};

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define WARN_UNUSED            __attribute__((warn_unused_result))

/* Fill *e (which may be NULL) and return false, so that `return error_set(...)` reads well. */
bool error_set(struct error *e, enum error_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool error_vset(struct error *e, enum error_code code, const char *fmt, va_list ap)
    PRINTF_LIKE(3, 0);

/* Like error_set, with ": " and the text of errno (saved first) appended. Picks ERR_FULL for
 * ENOSPC/EDQUOT and ERR_READONLY for EROFS/EACCES/EPERM, else ERR_SYSTEM. */
bool error_sys(struct error *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Put "prefix: " in front of the message of *e; returns false. */
bool error_prefix(struct error *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
