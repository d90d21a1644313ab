#include "core/cmd/plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "core/cmd/json_out.h"

#define LINE_COLS 400

void plain_begin(struct plain *p, struct run_view *v, size_t history)
{
    *p = (struct plain){.view = v, .unmarked = -1, .engines = v->s->engines};
    p->says = v->s->nsays > history ? v->s->nsays - history : 0;
    p->seq = v->s->last_seq;
}

void plain_try(struct reader *r, const struct version *v, struct buf *out)
{
    buf_addf(out, "v%lld", (long long)v->id);
    put_pad(out, 5);
    put_line(out, *v->strategy ? v->strategy : v->config ? v->config : "", 40);
    if (!isnan(v->predicted)) {
        buf_adds(out, ": expected ");
        put_change(out, v->predicted);
        buf_adds(out, ", measured ");
    } else {
        buf_adds(out, ": measured ");
    }
    if (isnan(v->speedup)) {
        buf_adds(out, "nothing");
    } else {
        if (v->against >= 0) {
            put_change(out, v->gain);
            buf_addf(out, " on v%lld: ", (long long)v->against);
        }
        put_speedup(out, v->speedup, v->lo, v->hi);
    }
    buf_addf(out, ", %s%s", verdict_name(v->verdict), v->record ? ", RECORD" : "");
    struct event ev = {0};
    if (v->verdict != VERDICT_OK && v->try_seq && reader_event(r, v->try_seq, &ev, NULL)) {
        if (*ev.text) {
            buf_adds(out, ": ");
            put_line(out, ev.text, LINE_COLS);
        }
        event_free_texts(&ev);
    }
    buf_addc(out, '\n');
}

static void put_time(int64_t wall_ns, struct buf *out)
{
    char when[32];
    clock_format(wall_ns, when, sizeof when);
    buf_addf(out, "%s  ", strlen(when) > 11 ? when + 11 : when);
}

static void put_event(struct plain *p, const struct event *ev, struct buf *out)
{
    const struct version *v = ev->kind == EV_TRY ? state_version(p->view->s, ev->id) : NULL;
    if (ev->kind == EV_RECORD && p->unmarked != ev->id) {
        return; /* said by the line of its try */
    }
    put_time(ev->time, out);
    if (v) {
        struct buf line = {0}; /* columns count from the line's start */
        plain_try(p->view->r, v, &line);
        buf_adds(out, buf_str(&line));
        buf_free(&line);
        p->unmarked = v->record ? -1 : v->id;
        return;
    }
    struct buf raw = {0};
    event_describe(ev, &raw);
    text_line(out, buf_str(&raw), raw.len, LINE_COLS);
    buf_addc(out, '\n');
    buf_free(&raw);
}

static bool step_json(struct plain *p, struct error *e)
{
    for (; p->seq < p->view->s->last_seq && !p->broken; p->seq++) {
        struct event ev = {0};
        if (!reader_event(p->view->r, p->seq + 1, &ev, e)) {
            return false;
        }
        print_json(json_event(&ev, false));
        event_free_texts(&ev);
        p->broken = ferror(stdout);
    }
    p->broken = p->broken || fflush(stdout) != 0;
    return true;
}

bool plain_step(struct plain *p, struct error *e)
{
    if (!run_view_poll(p->view, e)) {
        return false;
    }
    if (p->json) {
        return step_json(p, e);
    }
    const struct run_state *s = p->view->s;
    struct buf out = {0};
    if (s->engines > p->engines) {
        put_time(s->last_time, &out);
        buf_addf(&out, "engine %lld (pid %lld) %s\n", (long long)s->engines,
                 (long long)s->driver_pid, s->engines > 1 ? "goes on with the run" : "starts");
        p->engines = s->engines;
    }
    for (; p->says < s->nsays; p->says++) {
        struct event ev = {0};
        if (!reader_event(p->view->r, s->says[p->says], &ev, e)) {
            buf_free(&out);
            return false;
        }
        put_event(p, &ev, &out);
        event_free_texts(&ev);
    }
    if (out.len && !p->broken) {
        p->broken = fwrite(out.s, 1, out.len, stdout) != out.len || fflush(stdout) != 0;
    }
    buf_free(&out);
    return true;
}

void plain_run(const struct run_view *v)
{
    cJSON *o = json_run(v);
    out_text(o, "kind", "run");
    print_json(o);
    fflush(stdout);
}

void plain_summary(const struct run_view *v, struct buf *out)
{
    const struct run_state *s = v->s;
    char span[40];
    clock_format_span(state_active_ns(s, clock_wall_ns()), span, sizeof span);
    buf_addf(out, "%s: ", v->name);
    run_status_text(v, out);
    buf_addf(out, " after %lld tool calls in %s; ", (long long)s->ncalls_done, span);
    if (s->incumbent < 0) {
        buf_adds(out, "no version is right and timed yet");
    } else {
        buf_addf(out, "best is v%lld: ", (long long)s->incumbent);
        put_speedup(out, s->best, s->best_lo, s->best_hi);
        buf_adds(out, " of the baseline");
    }
    buf_adds(out, "\nit lies in ");
    put_line(out, v->path, 1000);
    if (s->incumbent >= 0) {
        buf_addf(out, "; the kernel's source: warploop best %s -o FILE.c", v->name);
    }
    bool on = v->status == RUN_RUNNING || v->status == RUN_PAUSED;
    buf_addf(out, "\nlook again: warploop show %s; %s: warploop %s %s\n", v->name,
             on ? "watch it" : "go on", on ? "attach" : "resume", v->name);
}
