#include "core/log/event.h"

#include <math.h>
#include <string.h>

#include "core/base/mem.h"

struct event event_make(enum event_kind kind)
{
    return (struct event){.kind = kind,
                          .x = NO_REAL,
                          .lo = NO_REAL,
                          .hi = NO_REAL,
                          .y = NO_REAL,
                          .hash = "",
                          .text = "",
                          .body = ""};
}

static const char *const kind_names[EV_COUNT] = {[EV_NONE] = "?",
#define X(id, name, doc) [EV_##id] = (name),
                                                 EVENT_KINDS(X)
#undef X
};

static const char *const verdict_names[VERDICT_COUNT] = {
#define X(id, name) [VERDICT_##id] = (name),
    VERDICTS(X)
#undef X
};

static const char *const reason_names[] = {
    [END_NONE] = "not ended",  [END_TARGET_MET] = "target met", [END_BUDGET] = "budget",
    [END_STALLED] = "stalled", [END_STOPPED] = "stopped",       [END_ERROR] = "error",
};

static const char *const effect_names[] = {
    [EFFECT_NONE] = "none",         [EFFECT_BUILD] = "build",         [EFFECT_BENCH] = "bench",
    [EFFECT_BASELINE] = "baseline", [EFFECT_REFERENCE] = "reference",
};

/* A file of a later program may hold numbers that this one does not know. */
static const char *pick(const char *const *names, size_t n, unsigned i)
{
    return i < n && names[i] ? names[i] : "?";
}

const char *event_kind_name(enum event_kind kind)
{
    return pick(kind_names, ARRAY_LEN(kind_names), (unsigned)kind);
}

const char *verdict_name(enum verdict v)
{
    return pick(verdict_names, ARRAY_LEN(verdict_names), (unsigned)v);
}

enum verdict verdict_of(const char *name)
{
    for (unsigned i = 0; i < VERDICT_COUNT; i++)
        if (strcmp(verdict_names[i], name) == 0)
            return (enum verdict)i;
    return VERDICT_NONE;
}

const char *end_reason_name(enum end_reason r)
{
    return pick(reason_names, ARRAY_LEN(reason_names), (unsigned)r);
}

const char *effect_name(enum effect_kind k)
{
    return pick(effect_names, ARRAY_LEN(effect_names), (unsigned)k);
}
