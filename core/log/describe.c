/* One line for a person about an event. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/log/reader.h"

static void add_interval(const struct event *ev, struct buf *out)
{
    buf_addf(out, "%.2fx", ev->x);
    if (!isnan(ev->lo) && !isnan(ev->hi))
        buf_addf(out, " (%.2f..%.2f)", ev->lo, ev->hi);
}

static void add_gain(const struct event *ev, const char *against, struct buf *out)
{
    if (!isnan(ev->y))
        buf_addf(out, ", %+.1f %% %s", (ev->y - 1) * 100, against);
}

/* ": text" when there is any. */
static void add_text(const char *lead, const struct event *ev, struct buf *out)
{
    if (*ev->text)
        buf_addf(out, "%s%s", lead, ev->text);
}

static void add_author(const struct event *ev, struct buf *out)
{
    struct json_doc doc;
    if (!*ev->body || !json_parse(&doc, "", ev->body, strlen(ev->body), NULL))
        return;
    const char *author = json_str(doc.root, "author", "");
    if (*author)
        buf_addf(out, " (%s)", author);
    json_free(&doc);
}

static void describe_try(const struct event *ev, struct buf *out)
{
    char against[40];
    buf_addf(out, "v%lld %s", (long long)ev->id, verdict_name((enum verdict)ev->code));
    if (!isnan(ev->x)) {
        buf_adds(out, ", ");
        add_interval(ev, out);
        snprintf(against, sizeof against, "on v%lld", (long long)ev->ref);
        if (ev->ref >= 0)
            add_gain(ev, against, out);
    }
    add_text(": ", ev, out);
}

static void describe_goal(const struct event *ev, struct buf *out)
{
    buf_addf(out, "goal %lld: %s", (long long)ev->id, ev->text);
    if (!isnan(ev->x))
        buf_addf(out, " (target %.3gx)", ev->x);
    if (!isnan(ev->lo) && ev->lo > 0)
        buf_addf(out, ", at most %.3g h", ev->lo);
    if (ev->n > 0)
        buf_addf(out, ", at most %lld calls", (long long)ev->n);
}

static void describe_effect(const struct event *ev, struct buf *out)
{
    char span[40];
    long long id = (long long)ev->id, version = (long long)ev->ref;
    if (ev->kind == EV_EFFECT) {
        buf_addf(out, "v%lld: %s begun (effect %lld", version,
                 effect_name((enum effect_kind)ev->code), id);
        buf_addf(out, ev->n > 1 ? ", attempt %lld)" : ")", (long long)ev->n);
        return;
    }
    if (ev->kind == EV_INTERRUPTED) {
        buf_addf(out, "v%lld: effect %lld was interrupted and is done again", version, id);
        add_text(": ", ev, out);
        return;
    }
    clock_format_span(ev->n, span, sizeof span);
    buf_addf(out, "v%lld: effect %lld %s after %s", version, id,
             verdict_name((enum verdict)ev->code), span);
    add_text(": ", ev, out);
}

static void describe_version(const struct event *ev, struct buf *out)
{
    buf_addf(out, "v%lld", (long long)ev->id);
    if (ev->id == 0)
        buf_adds(out, " is the baseline");
    else if (ev->id > 1)
        buf_addf(out, " from v%lld", (long long)ev->ref);
    add_text(": ", ev, out);
}

static void describe_baseline(const struct event *ev, struct buf *out)
{
    char span[40];
    clock_format_span((int64_t)ev->x, span, sizeof span);
    buf_addf(out, "baseline: %s a call", span);
    if (!isnan(ev->lo) && !isnan(ev->hi) && ev->x > 0)
        buf_addf(out, ", spread %.1f %%", (ev->hi - ev->lo) / ev->x * 100);
    if (!isnan(ev->y))
        buf_addf(out, ", %.0f %% of the core's peak", ev->y * 100);
}

static void describe_run(const struct event *ev, struct buf *out)
{
    switch ((unsigned)ev->kind) {
    case EV_RUN_CREATED:
        buf_addf(out, "run of task %s created", ev->text);
        break;
    case EV_FORKED:
        buf_addf(out, "forked from %s at v%lld", ev->text, (long long)ev->ref);
        break;
    case EV_ENGINE_STARTED:
        buf_addf(out, "engine %lld started: process %lld on %s", (long long)ev->id,
                 (long long)ev->n, ev->text);
        break;
    case EV_ENGINE_STOPPED:
        buf_addf(out, "engine %lld stopped", (long long)ev->id);
        add_text(": ", ev, out);
        break;
    case EV_PAUSED:
        buf_adds(out, "paused");
        add_text(ev->code == 1 ? " by " : ": ", ev, out);
        break;
    case EV_RESUMED:
        buf_adds(out, "resumed");
        add_text(" by ", ev, out);
        break;
    case EV_ENDED:
        buf_addf(out, "ended: %s", end_reason_name((enum end_reason)ev->code));
        add_text(": ", ev, out);
        break;
    case EV_REOPENED:
        buf_adds(out, "reopened");
        add_text(": ", ev, out);
        break;
    case EV_FAULT:
        buf_addf(out, "fault: %s", ev->text);
        break;
    default:
        buf_addf(out, "%s", event_kind_name(ev->kind));
        add_text(": ", ev, out);
        break;
    }
}

static const char *tool_name(int code)
{
    static const char *const names[] = {[TOOL_NONE] = "call",
                                        [TOOL_SUBMIT] = "submit",
                                        [TOOL_PROFILE] = "profile",
                                        [TOOL_NOTE] = "note",
                                        [TOOL_FINISH] = "finish"};
    return code >= 0 && (size_t)code < ARRAY_LEN(names) ? names[code] : "call";
}

void event_describe(const struct event *ev, struct buf *out)
{
    switch ((unsigned)ev->kind) {
    case EV_GOAL:
        describe_goal(ev, out);
        break;
    case EV_STEER:
        buf_addf(out, "steer %lld: %s", (long long)ev->id, ev->text);
        add_author(ev, out);
        break;
    case EV_STEER_SEEN:
        buf_addf(out, "steer %lld seen before v%lld", (long long)ev->id, (long long)ev->ref);
        break;
    case EV_SAY:
        buf_adds(out, ev->text);
        break;
    case EV_NOTE:
        buf_addf(out, "note %lld: %s", (long long)ev->id, ev->text);
        break;
    case EV_CALL:
        buf_addf(out, "%s", tool_name(ev->code));
        if (ev->ref > 0)
            buf_addf(out, " v%lld", (long long)ev->ref);
        add_text(": ", ev, out);
        break;
    case EV_CALL_DONE:
        buf_addf(out, "call %lld done: %s", (long long)ev->id,
                 verdict_name((enum verdict)ev->code));
        break;
    case EV_VERSION:
        describe_version(ev, out);
        break;
    case EV_STRATEGY:
        buf_addf(out, "v%lld tries %s", (long long)ev->id, ev->text);
        if (!isnan(ev->x))
            buf_addf(out, ", predicted %+.1f %%", (ev->x - 1) * 100);
        break;
    case EV_EFFECT:
    case EV_EFFECT_DONE:
    case EV_INTERRUPTED:
        describe_effect(ev, out);
        break;
    case EV_BASELINE:
        describe_baseline(ev, out);
        break;
    case EV_TRY:
        describe_try(ev, out);
        break;
    case EV_RECORD:
        buf_addf(out, "v%lld is a record: ", (long long)ev->id);
        add_interval(ev, out);
        add_gain(ev, "on the one before", out);
        break;
    default:
        describe_run(ev, out);
        break;
    }
}
