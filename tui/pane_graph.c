/* The speedup of every version; left and right go through them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "tui/graph.h"
#include "tui/pane.h"

struct graph {
    struct graph_point *points; /* version 1 and up */
    size_t n, cap;
    size_t failed;
};

static void *make(void)
{
    return xcalloc(1, sizeof(struct graph));
}

static void destroy(void *self)
{
    struct graph *p = self;
    free(p->points);
    free(p);
}

static struct graph_point point_of(const struct version *v)
{
    if (v->verdict == VERDICT_NONE)
        return (struct graph_point){(double)NAN, POINT_NONE};
    bool timed =
        isfinite(v->speedup) &&
        (v->verdict == VERDICT_OK || v->verdict == VERDICT_SCREENED || v->verdict == VERDICT_SAME);
    return (struct graph_point){v->speedup, !timed      ? POINT_FAILED
                                            : v->record ? POINT_RECORD
                                                        : POINT_TIMED};
}

static void recalc(void *self, const struct model *m)
{
    struct graph *p = self;
    size_t n = m->s->nversions > 0 ? m->s->nversions - 1 : 0;
    if (n > p->cap) {
        p->cap = n * 2;
        p->points = xrealloc(p->points, p->cap * sizeof *p->points);
    }
    p->n = n;
    p->failed = 0;
    for (size_t i = 0; i < n; i++) {
        p->points[i] = point_of(&m->s->versions[i + 1]);
        p->failed += p->points[i].kind == POINT_FAILED;
    }
}

static void heading(void *self, const struct model *m, struct buf *out)
{
    struct graph *p = self;
    const struct version *v = state_version(m->s, m->selected);
    buf_addf(out, "%zu tries", p->n);
    if (p->failed)
        buf_addf(out, ", %zu failed", p->failed);
    char s[40];
    if (v && v->id > 0) {
        const char *speed = put_speedup_text(v->speedup, (double)NAN, (double)NAN, s);
        buf_addf(out, "; v%lld %s", (long long)v->id,
                 *speed                       ? speed
                 : v->verdict != VERDICT_NONE ? verdict_name(v->verdict)
                                              : "in work");
    }
}

static void draw(void *self, const struct model *m, struct view v)
{
    struct graph *p = self;
    const struct goal *g = state_goal(m->s);
    struct graph_data d = {
        .points = p->points,
        .n = p->n,
        .first = 1,
        .target = g ? g->target : (double)NAN,
        .marked = m->selected - 1,
    };
    graph_draw(v, &d);
}

static bool keys(void *self, struct model *m, enum action a)
{
    struct graph *p = self;
    switch ((int)a) {
    case ACTION_LEFT:
    case ACTION_UP:
        model_select(m, m->selected - 1);
        return true;
    case ACTION_RIGHT:
    case ACTION_DOWN:
        model_select(m, m->selected + 1);
        return true;
    case ACTION_PAGE_UP:
        model_select(m, m->selected - 10);
        return true;
    case ACTION_PAGE_DOWN:
        model_select(m, m->selected + 10);
        return true;
    case ACTION_TOP:
        model_select(m, p->n > 0 ? 1 : 0);
        return true;
    case ACTION_BOTTOM:
        model_follow(m);
        return true;
    default:
        return false;
    }
}

/* The points as a table, for a spreadsheet. */
static void copy(void *self, const struct model *m, struct buf *out)
{
    (void)self;
    buf_adds(out, "version\tverdict\tspeedup\tlo\thi\trecord\tconfiguration\n");
    for (size_t i = 1; i < m->s->nversions; i++) {
        const struct version *v = &m->s->versions[i];
        buf_addf(out, "%lld\t%s\t", (long long)v->id, verdict_name(v->verdict));
        if (isfinite(v->speedup))
            buf_addf(out, "%.6g\t%.6g\t%.6g", v->speedup, v->lo, v->hi);
        else
            buf_adds(out, "\t\t");
        buf_addf(out, "\t%s\t%s\n", v->record ? "yes" : "", v->config);
    }
}

const struct pane pane_graph = {"graph", "speedup", make, destroy, recalc, heading,
                                draw,    keys,      NULL, NULL,    copy};
