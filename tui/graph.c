#include "tui/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define LABEL_COLS 6   /* "12.5x " at the left */
#define MIN_COLS   12  /* below: no labels at the left */
#define MIN_ROWS   5   /* below: no lane and no axis below */
#define FAR        2.5 /* a target this far above everything is named, not drawn */

/* What a cell of the plot shows; of several things the most important gives its colour. */
enum layer { LAYER_NONE, LAYER_BASELINE, LAYER_TARGET, LAYER_POINT, LAYER_STAIRCASE };

static const enum style_role layer_role[] = {ROLE_TEXT, ROLE_BASELINE, ROLE_TARGET, ROLE_POINT,
                                             ROLE_STAIRCASE};
/* In ASCII one sign a layer: there the layer must be told by shape. */
static const char layer_sign[] = {' ', '-', '.', 'o', '#'};

struct plot {
    struct view v;   /* the plot area */
    int dw, dh;      /* its size in dots */
    int sx, sy;      /* dots a cell: 2 x 4, or 1 x 1 in ASCII */
    double lo, hi;   /* speedups at the lower and upper edge */
    uint8_t *dots;   /* braille pattern of each cell */
    uint8_t *layers; /* enum layer of each cell */
};

static bool timed(const struct graph_point *p)
{
    return (p->kind == POINT_TIMED || p->kind == POINT_RECORD) && isfinite(p->speedup) &&
           p->speedup > 0;
}

static bool failed(const struct graph_point *p)
{
    return p->kind != POINT_NONE && !timed(p);
}

/* Speedups shown: all points, the baseline, and the target unless it is out of sight. */
static void choose_range(struct plot *p, const struct graph_data *d)
{
    double lo = 1, hi = 1;
    for (size_t i = 0; i < d->n; i++)
        if (timed(&d->points[i])) {
            lo = fmin(lo, d->points[i].speedup);
            hi = fmax(hi, d->points[i].speedup);
        }
    if (isfinite(d->target) && d->target > 0 && d->target <= hi * FAR)
        hi = fmax(hi, d->target);
    double room = fmax((hi - lo) * 0.06, 0.05);
    p->lo = fmax(0, lo - room);
    p->hi = hi + room;
}

static int dot_y(const struct plot *p, double speedup)
{
    double f = (speedup - p->lo) / (p->hi - p->lo);
    int y = (int)lround((1 - f) * (p->dh - 1));
    return y < 0 ? 0 : y >= p->dh ? p->dh - 1 : y;
}

/* Dot column of the i-th of n points. Few points stand close together, not miles apart. */
static int dot_x(const struct plot *p, const struct graph_data *d, size_t i)
{
    size_t span = d->n > 1 ? d->n - 1 : 1;
    size_t step_max = (size_t)p->sx * 3;
    if (span * step_max < (size_t)p->dw)
        return (int)(i * step_max) + (p->sx > 1);
    return (int)((double)i * (p->dw - 1) / (double)span);
}

static void dot(struct plot *p, int x, int y, enum layer layer)
{
    /* Bits of the braille block: dots 1-3 and 7 at the left, 4-6 and 8 at the right. */
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (x < 0 || y < 0 || x >= p->dw || y >= p->dh)
        return;
    int cell = y / p->sy * p->v.r.w + x / p->sx;
    p->dots[cell] |= bits[y % p->sy % 4][x % p->sx % 2];
    if (layer > p->layers[cell])
        p->layers[cell] = (uint8_t)layer;
}

static void draw_lines(struct plot *p, const struct graph_data *d)
{
    int y = dot_y(p, 1);
    for (int x = 0; x < p->dw; x++)
        if (p->sx == 1 || x % 6 < 3)
            dot(p, x, y, LAYER_BASELINE);
    if (!isfinite(d->target) || d->target < p->lo || d->target > p->hi)
        return;
    y = dot_y(p, d->target);
    for (int x = 0; x < p->dw; x += p->sx == 1 ? 2 : 3)
        dot(p, x, y, LAYER_TARGET);
}

static void draw_points(struct plot *p, const struct graph_data *d)
{
    double best = (double)NAN;
    int last_x = 0, last_y = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct graph_point *pt = &d->points[i];
        int x = dot_x(p, d, i);
        if (isfinite(best)) /* the tread */
            for (int k = last_x; k <= x; k++)
                dot(p, k, last_y, LAYER_STAIRCASE);
        if (timed(pt)) {
            int y = dot_y(p, pt->speedup);
            dot(p, x, y, LAYER_POINT);
            if (pt->kind == POINT_RECORD) { /* the riser */
                if (isfinite(best))
                    for (int k = y; k <= last_y; k++)
                        dot(p, x, k, LAYER_STAIRCASE);
                dot(p, x, y, LAYER_STAIRCASE);
                best = pt->speedup;
                last_y = y;
            }
        }
        last_x = x;
    }
}

static void put_plot(const struct plot *p)
{
    bool braille = p->sx == 2;
    for (int y = 0; y < p->v.r.h; y++)
        for (int x = 0; x < p->v.r.w; x++) {
            int cell = y * p->v.r.w + x;
            enum layer l = (enum layer)p->layers[cell];
            if (l == LAYER_NONE)
                continue;
            uint32_t cp = braille ? 0x2800u + p->dots[cell] : (uint32_t)layer_sign[l];
            view_put(p->v, y, x, cp, layer_role[l]);
        }
}

/* Round distance between labels, so that there are about `most` of them. */
static double nice_step(double span, int most)
{
    double raw = span / (most > 0 ? most : 1), mag = pow(10, floor(log10(raw)));
    double f = raw / mag;
    return (f <= 1 ? 1 : f <= 2 ? 2 : f <= 5 ? 5 : 10) * mag;
}

static void label(struct view axis, int y, double value, enum style_role role)
{
    char s[16];
    if (value < 10)
        snprintf(s, sizeof s, value * 10 == floor(value * 10) ? "%.1fx" : "%.2fx", value);
    else
        snprintf(s, sizeof s, "%.0fx", value);
    view_right(view_sub(axis, y, 0, 1, axis.r.w - 1), 0, role, s);
}

static void draw_left_axis(struct view axis, const struct plot *p, const struct graph_data *d)
{
    bool *taken = xcalloc((size_t)axis.r.h + 1, sizeof *taken);
    int base = dot_y(p, 1) / p->sy;
    label(axis, base, 1, ROLE_BASELINE);
    taken[base] = true;
    if (isfinite(d->target) && d->target >= p->lo && d->target <= p->hi) {
        int y = dot_y(p, d->target) / p->sy;
        if (!taken[y])
            label(axis, y, d->target, ROLE_TARGET);
        taken[y] = true;
    }
    double step = nice_step(p->hi - p->lo, axis.r.h / 2);
    int first = (int)ceil(p->lo / step), last = (int)floor(p->hi / step);
    for (int k = first; k <= last && k - first < 2 * axis.r.h; k++) {
        double s = k * step;
        int y = dot_y(p, s) / p->sy;
        bool near = taken[y] || (y > 0 && taken[y - 1]) || taken[y + 1];
        if (near)
            continue;
        label(axis, y, round(s * 100) / 100, ROLE_AXIS);
        taken[y] = true;
    }
    free(taken);
}

/* Failed tries, and the mark of the selected one, below the plot. */
static void draw_lane(struct view lane, const struct plot *p, const struct graph_data *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (failed(&d->points[i]))
            view_put(lane, 0, dot_x(p, d, i) / p->sx, 'x', ROLE_FAILED);
    if (d->marked >= 0 && (size_t)d->marked < d->n) {
        int x = dot_x(p, d, (size_t)d->marked) / p->sx;
        bool x_there = failed(&d->points[d->marked]);
        view_put(lane, 0, x, x_there ? 'x' : '^', ROLE_SELECTED);
    }
}

/* The axis of versions: the first, the last, and the selected one by name. */
static void draw_bottom_axis(struct view axis, const struct plot *p, const struct graph_data *d)
{
    if (d->n == 0)
        return;
    char first[24], last[24], mark[24];
    snprintf(first, sizeof first, "v%lld", (long long)d->first);
    int used = view_text(axis, 0, dot_x(p, d, 0) / p->sx, ROLE_AXIS, first);
    long long newest = (long long)d->first - 1 + (long long)d->n;
    snprintf(last, sizeof last, "v%lld", newest);
    int x = dot_x(p, d, d->n - 1) / p->sx;
    if (x + (int)strlen(last) > axis.r.w)
        x = axis.r.w - (int)strlen(last);
    if (x > used)
        view_text(axis, 0, x, ROLE_AXIS, last);
    else
        x = axis.r.w;
    if (d->marked < 0 || (size_t)d->marked >= d->n)
        return;
    snprintf(mark, sizeof mark, "v%lld", (long long)d->first + (long long)d->marked);
    int m = dot_x(p, d, (size_t)d->marked) / p->sx;
    if (m > used && m + (int)strlen(mark) < x)
        view_text(axis, 0, m, ROLE_SELECTED, mark);
}

void graph_draw(struct view v, const struct graph_data *d)
{
    int left = v.r.w >= MIN_COLS ? LABEL_COLS : 0;
    int below = v.r.h >= MIN_ROWS ? 2 : 0;
    struct plot p = {.v = view_sub(v, 0, left, v.r.h - below, v.r.w - left)};
    if (p.v.r.h < 1 || p.v.r.w < 1)
        return;
    bool braille = v.g->glyphs == GLYPHS_BRAILLE;
    p.sx = braille ? 2 : 1;
    p.sy = braille ? 4 : 1;
    p.dw = p.v.r.w * p.sx;
    p.dh = p.v.r.h * p.sy;
    size_t cells = (size_t)p.v.r.w * (size_t)p.v.r.h;
    p.dots = xcalloc(cells, 1);
    p.layers = xcalloc(cells, 1);
    choose_range(&p, d);
    draw_lines(&p, d);
    draw_points(&p, d);
    put_plot(&p);
    if (left)
        draw_left_axis(view_sub(v, 0, 0, p.v.r.h, left), &p, d);
    if (below) {
        draw_lane(view_sub(v, v.r.h - 2, left, 1, v.r.w - left), &p, d);
        draw_bottom_axis(view_sub(v, v.r.h - 1, left, 1, v.r.w - left), &p, d);
        if (left)
            view_text(v, v.r.h - 2, 0, ROLE_AXIS, "fail");
    }
    free(p.dots);
    free(p.layers);
}
