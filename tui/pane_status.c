/* The status lines: what is run, how it stands, what is being done at this moment; and key hints.
 * What does not fit is left out, the least important first. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/text.h"
#include "tui/pane.h"

struct row {
    struct view v;
    int x;
};

/* Add a piece when it fits whole (the first one is cut instead). */
static void add(struct row *r, enum style_role role, const char *s)
{
    int w = columns_of(s, strlen(s));
    if (w == 0 || (r->x > 0 && r->x + 2 + w > r->v.r.w))
        return;
    if (r->x > 0)
        r->x += 2;
    r->x = view_text(r->v, 0, r->x, role, s);
}

static enum style_role state_role(const struct model *m)
{
    switch (model_state(m)) {
    case MODEL_RUNNING:
        return ROLE_RUNNING;
    case MODEL_PAUSED:
        return ROLE_PAUSED;
    case MODEL_ENDED:
        return ROLE_ENDED;
    case MODEL_DIED:
        return ROLE_ERROR;
    case MODEL_NEW:
    case MODEL_STOPPED:
        break;
    }
    return ROLE_STATUS;
}

/* "v14 bench 12 s" for the oldest effect in flight, and how many more there are. */
static void in_flight(const struct model *m, char *out, size_t size)
{
    const struct run_state *s = m->s;
    out[0] = '\0';
    if (!m->driven || s->ninflight == 0)
        return;
    const struct effect *f = &s->inflight[0];
    int64_t seconds = (m->now - f->started) / 1000000000;
    int n = snprintf(out, size, "v%lld %s %lld s", (long long)f->version, effect_name(f->kind),
                     (long long)(seconds > 0 ? seconds : 0));
    if (s->ninflight > 1 && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " (+%zu)", s->ninflight - 1);
}

static void spent(const struct model *m, char time[100], char calls[100])
{
    const struct goal *g = state_goal(m->s);
    char a[40], b[40];
    clock_format_span(m->driven ? state_active_ns(m->s, m->now) : m->s->active_ns, a, sizeof a);
    if (g && g->hours > 0) {
        clock_format_span((int64_t)(g->hours * 3.6e12), b, sizeof b);
        snprintf(time, 100, "%s of %s", a, b);
    } else {
        snprintf(time, 100, "%s", a);
    }
    if (g && g->calls > 0)
        snprintf(calls, 100, "%lld of %lld calls", (long long)m->s->ncalls, (long long)g->calls);
    else
        snprintf(calls, 100, "%lld calls", (long long)m->s->ncalls);
}

void status_draw(const struct model *m, struct view v)
{
    const struct run_state *s = m->s;
    struct row r = {v, 0};
    char best[80], flight[80], time[100], calls[100], at[60], driver[200], text[60];
    char state[200];
    struct buf line = {0};
    if (v.r.h < 1)
        return;
    model_state_text(m, state, sizeof state);
    text_line(&line, m->name, strlen(m->name), 40);
    add(&r, ROLE_STATUS_NAME, buf_str(&line));
    buf_clear(&line);
    text_line(&line, state, strlen(state), 60);
    add(&r, state_role(m), buf_str(&line));
    buf_clear(&line);
    if (m->read_only)
        add(&r, ROLE_STATUS, "watch");
    best[0] = '\0';
    if (s->incumbent >= 0)
        snprintf(best, sizeof best, "best v%lld %s", (long long)s->incumbent,
                 put_speedup_text(s->best, s->best_lo, s->best_hi, text));
    add(&r, ROLE_RECORD, best);
    snprintf(at, sizeof at, "v%lld of %zu", (long long)m->selected,
             s->nversions ? s->nversions - 1 : 0);
    add(&r, ROLE_STATUS, at);
    in_flight(m, flight, sizeof flight);
    add(&r, ROLE_STATUS, flight);
    spent(m, time, calls);
    add(&r, ROLE_STATUS, time);
    add(&r, ROLE_STATUS, calls);
    add(&r, ROLE_FAINT, m->live);
    if (s->task) {
        text_line(&line, s->task, strlen(s->task), 40);
        snprintf(driver, sizeof driver, "task %s", buf_str(&line));
        add(&r, ROLE_FAINT, driver);
        buf_clear(&line);
    }
    if (m->driven) {
        text_line(&line, m->host, strlen(m->host), 60);
        snprintf(driver, sizeof driver, "driven by %lld on %s", (long long)m->pid, buf_str(&line));
        add(&r, ROLE_FAINT, driver);
    }
    buf_free(&line);
}

void status_hints(const struct model *m, const struct keymap *keys, struct view v)
{
    static const struct {
        enum action action;
        const char *word;
        bool writes;
    } t[] = {{ACTION_HELP, "help", false},         {ACTION_LEAVE, "leave", false},
             {ACTION_PAUSE, "pause", true},        {ACTION_STEER, "steer", true},
             {ACTION_VERSION_PREVIOUS, "", false}, {ACTION_VERSION_NEXT, "versions", false},
             {ACTION_ZOOM, "zoom", false},         {ACTION_FOCUS_NEXT, "pane", false},
             {ACTION_FORK, "fork", true},          {ACTION_GOAL, "goal", true},
             {ACTION_SEARCH, "search", false},     {ACTION_COMMAND, "command", false}};
    int x = 0;
    if (m->read_only)
        x = view_text(v, 0, 0, ROLE_STATUS_NAME, "read-only") + 2;
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        char key[24];
        const char *word = t[i].word;
        if ((t[i].writes && m->read_only) || !*keymap_key(keys, t[i].action, key))
            continue;
        if (t[i].action == ACTION_PAUSE && model_state(m) == MODEL_PAUSED)
            word = "resume";
        int w = columns_of(key, strlen(key)) + (int)strlen(word) + (*word != '\0');
        if (x + w > v.r.w)
            break;
        x = view_text(v, 0, x, ROLE_KEY, key);
        if (*word) {
            x = view_text(v, 0, x + 1, ROLE_HINT, word);
            x += 2;
        } else {
            x += 1;
        }
    }
}
