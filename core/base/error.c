#include "core/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool error_vset(struct error *e, enum error_code code, const char *fmt, va_list ap)
{
    if (!e)
        return false;
    e->code = code;
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    return false;
}

bool error_set(struct error *e, enum error_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    error_vset(e, code, fmt, ap);
    va_end(ap);
    return false;
}

static enum error_code code_of_errno(int n)
{
    switch (n) {
    case ENOSPC:
    case EDQUOT:
        return ERR_FULL;
    case EROFS:
    case EACCES:
    case EPERM:
        return ERR_READONLY;
    default:
        return ERR_SYSTEM;
    }
}

bool error_sys(struct error *e, const char *fmt, ...)
{
    int n = errno;
    if (!e)
        return false;
    va_list ap;
    va_start(ap, fmt);
    error_vset(e, code_of_errno(n), fmt, ap);
    va_end(ap);
    size_t len = strlen(e->msg);
    snprintf(e->msg + len, sizeof e->msg - len, ": %s", strerror(n));
    return false;
}

bool error_prefix(struct error *e, const char *fmt, ...)
{
    if (!e)
        return false;
    char old[sizeof e->msg];
    memcpy(old, e->msg, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->msg, sizeof e->msg, fmt, ap);
    va_end(ap);
    size_t len = strlen(e->msg);
    snprintf(e->msg + len, sizeof e->msg - len, ": %s", old);
    return false;
}
