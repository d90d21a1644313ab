/* The run as it went, one line a try: what was tried, what was predicted, what was measured, and
 * why; the agent's words, people's messages (queued or seen), pauses and faults. The lines are
 * fetched when they are shown, so that a run of a million events costs what is on the screen. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/lines.h"
#include "tui/pane.h"
#include "tui/wrap.h"

#define CACHE       512
#define MAX_ITEM    4000     /* bytes of one line that are shown */
#define SEARCH_TIME 20000000 /* ns a search may take at once */
#define INDENT      4
#define SAID_LINES  6 /* a try's hypothesis is not repeated when it was said so few lines ago */

struct item {
    int64_t seq; /* 0: empty */
    struct buf text;
    enum style_role role;
};

struct reasoning {
    struct item cache[CACHE];
    struct scroll scroll;
    const struct model *m; /* during a call */
    int width;
    size_t changes; /* counts what can change lines that are there */
    char pattern[100];
    size_t hit;      /* item last looked at by a search, + 1; 0 none */
    size_t searched; /* items that an unfinished search has been through */
};

static void *make(void)
{
    struct reasoning *p = xcalloc(1, sizeof *p);
    scroll_init(&p->scroll);
    return p;
}

static void forget(struct reasoning *p)
{
    for (size_t i = 0; i < CACHE; i++)
        p->cache[i].seq = 0;
}

static void destroy(void *self)
{
    struct reasoning *p = self;
    for (size_t i = 0; i < CACHE; i++)
        buf_free(&p->cache[i].text);
    free(p);
}

/* ------------------------------------------------------------------------- making a line */

/* Whether the agent has said just that within the last lines before line i. */
static bool said_before(struct reasoning *p, size_t i, const char *why)
{
    bool said = false;
    for (size_t k = 1; k <= SAID_LINES && k <= i && !said; k++) {
        struct event ev;
        if (!reader_event(p->m->reader, p->m->s->says[i - k], &ev, NULL))
            return false;
        said = ev.kind == EV_SAY && strcmp(ev.text, why) == 0;
        event_free_texts(&ev);
    }
    return said;
}

/* The hypothesis that a version was made with, from its event's body, unless it has just been
 * said. */
static void add_hypothesis(struct reasoning *p, const struct version *v, size_t i, struct buf *out)
{
    struct event ev;
    struct json_doc doc;
    if (!reader_event(p->m->reader, v->seq, &ev, NULL))
        return;
    if (*ev.body && json_parse(&doc, "", ev.body, strlen(ev.body), NULL)) {
        const char *why = json_str(doc.root, "hypothesis", "");
        if (*why && !said_before(p, i, why))
            buf_addf(out, " | %s", why);
        json_free(&doc);
    }
    event_free_texts(&ev);
}

/* "v7 chunkwise: predicted +50.0 %, measured +48.2 % on v5, 1.84x (1.82..1.86) | why" */
static void describe_try(struct reasoning *p, const struct event *ev, const struct version *v,
                         size_t i, struct item *it)
{
    struct buf *out = &it->text;
    char s[40];
    it->role = isfinite(ev->x) ? (v->record ? ROLE_RECORD : ROLE_TRIED) : ROLE_REFUSED;
    buf_addf(out, "v%lld %s:", (long long)v->id, *v->strategy ? v->strategy : v->config);
    if (isfinite(v->predicted))
        buf_addf(out, " predicted %s,", put_change_text(v->predicted, s));
    if (isfinite(ev->y)) {
        buf_addf(out, " measured %s", put_change_text(ev->y, s));
        if (ev->ref >= 0)
            buf_addf(out, " on v%lld", (long long)ev->ref);
        buf_addc(out, ',');
    }
    buf_addf(out, " %s", v->record ? "RECORD" : verdict_name((enum verdict)ev->code));
    if (isfinite(ev->x))
        buf_addf(out, " %s", put_speedup_text(ev->x, ev->lo, ev->hi, s));
    if (*ev->text && ev->code != VERDICT_OK)
        buf_addf(out, ": %s", ev->text);
    add_hypothesis(p, v, i, out);
}

static void add_steer_state(const struct reasoning *p, const struct event *ev, struct buf *out)
{
    const struct run_state *s = p->m->s;
    size_t i = ev->id > 0 ? (size_t)ev->id - 1 : 0;
    bool seen = i < s->nsteers && s->steers[i].id == ev->id && s->steers[i].seen > 0;
    buf_adds(out, seen ? " [seen]" : " [queued]");
}

static enum style_role role_of(const struct event *ev)
{
    switch ((unsigned)ev->kind) {
    case EV_SAY:
    case EV_NOTE:
        return ROLE_SAY;
    case EV_STEER:
    case EV_GOAL:
        return ROLE_STEER;
    case EV_RECORD:
        return ROLE_RECORD;
    case EV_FAULT:
        return ROLE_ERROR;
    default:
        return ROLE_EVENT;
    }
}

static void describe(struct reasoning *p, const struct event *ev, size_t i, struct item *it)
{
    const struct version *v = ev->kind == EV_TRY ? state_version(p->m->s, ev->id) : NULL;
    if (v) {
        describe_try(p, ev, v, i, it);
        return;
    }
    it->role = role_of(ev);
    event_describe(ev, &it->text);
    if (ev->kind == EV_STEER)
        add_steer_state(p, ev, &it->text);
}

static const struct item *item_at(struct reasoning *p, size_t i)
{
    int64_t seq = p->m->s->says[i];
    struct item *it = &p->cache[i % CACHE];
    if (it->seq == seq)
        return it;
    struct event ev;
    struct error e = {0};
    buf_clear(&it->text);
    it->seq = seq;
    it->role = ROLE_ERROR;
    if (reader_event(p->m->reader, seq, &ev, &e)) {
        describe(p, &ev, i, it);
        event_free_texts(&ev);
    } else {
        buf_adds(&it->text, e.msg);
        it->seq = 0; /* try again next time */
    }
    struct buf clean = {0};
    text_line(&clean, buf_str(&it->text), it->text.len, MAX_ITEM);
    buf_free(&it->text);
    it->text = clean;
    return it;
}

static size_t height_of(void *ctx, size_t i)
{
    struct reasoning *p = ctx;
    const struct item *it = item_at(p, i);
    size_t starts[WRAP_MAX_ROWS];
    return wrap_text(buf_str(&it->text), it->text.len, p->width, INDENT, starts);
}

/* ------------------------------------------------------------------------- the pane's part */

/* Lines change after they were made when a message is seen or a try turns out a record. */
static void recalc(void *self, const struct model *m)
{
    struct reasoning *p = self;
    size_t state = m->s->nsteers + m->s->nrecords;
    for (size_t i = 0; i < m->s->nsteers; i++)
        state += m->s->steers[i].seen > 0;
    if (state != p->changes)
        forget(p);
    p->changes = state;
}

static void heading(void *self, const struct model *m, struct buf *out)
{
    struct reasoning *p = self;
    size_t queued = 0;
    for (size_t i = m->s->nsteers; i-- > 0 && m->s->steers[i].seen == 0;)
        queued++;
    buf_addf(out, "%zu lines", m->s->nsays);
    if (queued)
        buf_addf(out, ", %zu steer queued", queued);
    if (!p->scroll.follow)
        buf_adds(out, ", scrolled back");
}

static void draw_item(struct reasoning *p, struct view v, int *y, size_t i, size_t row)
{
    const struct item *it = item_at(p, i);
    size_t starts[WRAP_MAX_ROWS], n = it->text.len;
    const char *s = buf_str(&it->text);
    size_t rows = wrap_text(s, n, p->width, INDENT, starts);
    size_t hit = text_find(s, n, 0, p->pattern), m = strlen(p->pattern);
    for (; row < rows && *y < v.r.h; row++, (*y)++) {
        size_t end = row + 1 < rows ? starts[row + 1] : n;
        int x = row ? INDENT : 0;
        for (size_t at = starts[row]; at < end;) {
            uint32_t cp;
            size_t len = text_decode(s + at, end - at, &cp);
            if (hit < n && at >= hit + m)
                hit = text_find(s, n, at, p->pattern);
            bool marked = hit < n && at >= hit && at < hit + m;
            x += view_put(v, *y, x, cp, marked ? ROLE_MATCH : it->role);
            at += len;
        }
    }
}

static void draw(void *self, const struct model *m, struct view v)
{
    struct reasoning *p = self;
    p->m = m;
    p->width = v.r.w;
    scroll_update(&p->scroll, m->s->nsays, v.r.h, height_of, p);
    int y = 0;
    for (size_t i = p->scroll.item; i < p->scroll.n && y < v.r.h; i++)
        draw_item(p, v, &y, i, i == p->scroll.item ? p->scroll.row : 0);
    size_t fresh = scroll_new(&p->scroll);
    if (fresh > 0 && v.r.h > 0) {
        char badge[60];
        snprintf(badge, sizeof badge, " %zu new, G to the end ", fresh);
        view_right(view_sub(v, v.r.h - 1, 0, 1, v.r.w), 0, ROLE_BADGE, badge);
    }
    if (m->s->nsays == 0)
        view_text(v, 0, 0, ROLE_FAINT, "nothing happened yet");
}

static bool keys(void *self, struct model *m, enum action a)
{
    struct reasoning *p = self;
    int page = p->scroll.height > 1 ? p->scroll.height - 1 : 1;
    p->m = m;
    if (p->scroll.n > m->s->nsays || p->scroll.n == 0)
        return false; /* nothing drawn yet */
    switch ((int)a) {
    case ACTION_UP:
        scroll_by(&p->scroll, -1, height_of, p);
        return true;
    case ACTION_DOWN:
        scroll_by(&p->scroll, 1, height_of, p);
        return true;
    case ACTION_PAGE_UP:
        scroll_by(&p->scroll, -page, height_of, p);
        return true;
    case ACTION_PAGE_DOWN:
        scroll_by(&p->scroll, page, height_of, p);
        return true;
    case ACTION_TOP:
        scroll_top(&p->scroll, height_of, p);
        return true;
    case ACTION_BOTTOM:
        scroll_end(&p->scroll, height_of, p);
        return true;
    default:
        return false;
    }
}

/* From the newest back (direction 0 and 1), as one looks for what happened last. */
static enum grep_result grep(void *self, const struct model *m, const char *pattern, int direction,
                             char *message, size_t size)
{
    struct reasoning *p = self;
    size_t n = m->s->nsays;
    int64_t end = clock_mono_ns() + SEARCH_TIME;
    p->m = m;
    snprintf(p->pattern, sizeof p->pattern, "%s", pattern);
    if (direction == 0 || p->hit == 0 || p->hit > n)
        p->hit = direction < 0 ? 0 : n + 1;
    if (direction == 0)
        p->searched = 0;
    for (; p->searched < n; p->searched++) {
        if (clock_mono_ns() > end) {
            snprintf(message, size, "searching: %zu of %zu lines; any key stops", p->searched, n);
            return GREP_MORE;
        }
        if (direction < 0)
            p->hit = p->hit < n ? p->hit + 1 : 1;
        else
            p->hit = p->hit > 1 ? p->hit - 1 : n;
        const struct item *it = item_at(p, p->hit - 1);
        if (text_find(buf_str(&it->text), it->text.len, 0, p->pattern) < it->text.len) {
            p->searched = 0;
            scroll_to(&p->scroll, p->hit - 1, height_of, p);
            return GREP_HIT;
        }
    }
    p->searched = 0;
    snprintf(message, size, "\"%.60s\" is nowhere in the reasoning", pattern);
    return GREP_NONE;
}

static void close_search(void *self)
{
    struct reasoning *p = self;
    p->pattern[0] = '\0';
    p->hit = p->searched = 0;
}

/* The last thousand lines. */
static void copy(void *self, const struct model *m, struct buf *out)
{
    struct reasoning *p = self;
    p->m = m;
    size_t n = m->s->nsays;
    for (size_t i = n > 1000 ? n - 1000 : 0; i < n; i++) {
        const struct item *it = item_at(p, i);
        buf_addf(out, "%s\n", buf_str(&it->text));
    }
}

const struct pane pane_reasoning = {"reasoning", "reasoning", make, destroy,      recalc, heading,
                                    draw,        keys,        grep, close_search, copy};
