#include "tui/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

#define MAX_SIDE 2000 /* no terminal is larger; keeps products in an int */

static const struct cell blank = {{' '}, ROLE_TEXT, 0, 1};

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

void grid_clear(struct grid *g)
{
    for (int i = 0; i < g->rows * g->cols; i++)
        g->cells[i] = blank;
    g->cursor_y = g->cursor_x = -1;
}

void grid_resize(struct grid *g, int rows, int cols)
{
    g->rows = clamp(rows, 1, MAX_SIDE);
    g->cols = clamp(cols, 1, MAX_SIDE);
    g->cells = xrealloc(g->cells, (size_t)(g->rows * g->cols) * sizeof *g->cells);
    grid_clear(g);
}

struct grid *grid_new(int rows, int cols, enum glyphs glyphs)
{
    struct grid *g = xcalloc(1, sizeof *g);
    g->glyphs = glyphs;
    grid_resize(g, rows, cols);
    return g;
}

void grid_free(struct grid *g)
{
    if (!g)
        return;
    free(g->cells);
    free(g);
}

const struct cell *grid_at(const struct grid *g, int y, int x)
{
    return &g->cells[y * g->cols + x];
}

void grid_text(const struct grid *g, struct buf *out)
{
    for (int y = 0; y < g->rows; y++) {
        size_t end = out->len;
        for (int x = 0; x < g->cols; x++) {
            const struct cell *c = grid_at(g, y, x);
            if (c->width == 0)
                continue;
            for (int i = 0; i < CELL_CHARS && c->ch[i]; i++) {
                char s[4];
                buf_add(out, s, text_encode(c->ch[i], s));
            }
            if (c->ch[0] != ' ')
                end = out->len;
        }
        out->len = end;
        buf_addc(out, '\n');
    }
}

/* a cut to b. */
static struct rect intersect(struct rect a, struct rect b)
{
    int y0 = a.y > b.y ? a.y : b.y, x0 = a.x > b.x ? a.x : b.x;
    int y1 = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
    int x1 = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    if (y1 <= y0 || x1 <= x0)
        return (struct rect){b.y, b.x, 0, 0};
    return (struct rect){y0, x0, y1 - y0, x1 - x0};
}

struct view grid_view(struct grid *g, struct rect r)
{
    return (struct view){g, intersect(r, (struct rect){0, 0, g->rows, g->cols})};
}

struct view view_sub(struct view v, int y, int x, int h, int w)
{
    struct rect r = {v.r.y + y, v.r.x + x, h, w};
    return (struct view){v.g, intersect(r, v.r)};
}

static struct cell *cell_of(struct view v, int y, int x)
{
    return &v.g->cells[(v.r.y + y) * v.g->cols + v.r.x + x];
}

/* Before a cell is overwritten: the other half of a wide character that covers it goes blank. */
static void unhook(struct view v, int y, int x)
{
    int gx = v.r.x + x;
    struct cell *c = cell_of(v, y, x);
    if (c->width == 0 && gx > 0) {
        c[-1].ch[0] = ' ', c[-1].ch[1] = 0;
        c[-1].width = 1;
    } else if (c->width == 2 && gx + 1 < v.g->cols) {
        c[1].ch[0] = ' ', c[1].ch[1] = 0;
        c[1].width = 1;
    }
    c->width = 1;
}

static void set_cell(struct view v, int y, int x, uint32_t cp, enum style_role role, int width)
{
    unhook(v, y, x);
    struct cell *c = cell_of(v, y, x);
    *c = (struct cell){{cp}, (uint8_t)role, 0, (uint8_t)width};
}

/* A mark joins the character before it, if there is room. */
static void add_mark(struct view v, int y, int x, uint32_t cp)
{
    if (x < 1 || x > v.r.w)
        return;
    struct cell *c = cell_of(v, y, x - 1);
    if (c->width == 0 && x >= 2)
        c = cell_of(v, y, x - 2);
    for (int i = 1; i < CELL_CHARS; i++)
        if (c->ch[i] == 0) {
            c->ch[i] = cp;
            return;
        }
}

/* Controls, bidi and format characters have no business in a cell. */
static bool obeyed(uint32_t cp)
{
    return cp < 0x20 || (cp >= 0x7F && cp < 0xA0) || cp == 0xAD || cp == 0x061C ||
           (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x2028 && cp <= 0x202E) ||
           (cp >= 0x2060 && cp <= 0x206F) || (cp >= 0xFE00 && cp <= 0xFE0F) || cp == 0xFEFF ||
           (cp >= 0xD800 && cp <= 0xDFFF) || cp >= 0xE0000;
}

int view_put(struct view v, int y, int x, uint32_t cp, enum style_role role)
{
    if (y < 0 || y >= v.r.h || x < 0)
        return 0;
    if (obeyed(cp))
        cp = 0xFFFD;
    int w = text_width(cp);
    if (w == 0) {
        add_mark(v, y, x, cp);
        return 0;
    }
    if (x >= v.r.w)
        return 0;
    if (w == 2 && x + 1 >= v.r.w) {
        set_cell(v, y, x, ' ', role, 1);
        return 1;
    }
    if (w == 2)
        set_cell(v, y, x + 1, ' ', role, 1);
    set_cell(v, y, x, cp, role, w);
    if (w == 2)
        cell_of(v, y, x + 1)->width = 0;
    return w;
}

int view_textn(struct view v, int y, int x, enum style_role role, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_decode(s + i, n - i, &cp);
        if (x >= v.r.w && text_width(cp) > 0)
            break;
        if (x < 0)
            x += text_width(cp);
        else
            x += view_put(v, y, x, cp, role);
    }
    return x;
}

int view_text(struct view v, int y, int x, enum style_role role, const char *s)
{
    return view_textn(v, y, x, role, s, strlen(s));
}

int view_textf(struct view v, int y, int x, enum style_role role, const char *fmt, ...)
{
    char s[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    return view_text(v, y, x, role, s);
}

int view_right(struct view v, int y, enum style_role role, const char *s)
{
    int x = v.r.w - columns_of(s, strlen(s));
    view_text(v, y, x < 0 ? 0 : x, role, s);
    return x;
}

void view_fill(struct view v, int y, int x, int h, int w, uint32_t cp, enum style_role role)
{
    struct view s = view_sub(v, y, x, h, w);
    for (int i = 0; i < s.r.h; i++)
        for (int j = 0; j < s.r.w; j++)
            set_cell(s, i, j, cp, role, 1);
}

void view_role(struct view v, int y, int x, int w, enum style_role role)
{
    struct view s = view_sub(v, y, x, 1, w);
    for (int j = 0; j < s.r.w && s.r.h > 0; j++)
        cell_of(s, 0, j)->role = (uint8_t)role;
}

void view_flags(struct view v, int y, int x, int w, unsigned flags)
{
    struct view s = view_sub(v, y, x, 1, w);
    for (int j = 0; j < s.r.w && s.r.h > 0; j++)
        cell_of(s, 0, j)->flags |= (uint8_t)flags;
}

void view_hline(struct view v, int y, int x, int w, enum style_role role)
{
    view_fill(v, y, x, 1, w, v.g->glyphs == GLYPHS_ASCII ? '-' : 0x2500, role);
}

void view_vline(struct view v, int y, int x, int h, enum style_role role)
{
    view_fill(v, y, x, h, 1, v.g->glyphs == GLYPHS_ASCII ? '|' : 0x2502, role);
}

struct view view_frame(struct view v, const char *title, enum style_role role)
{
    bool ascii = v.g->glyphs == GLYPHS_ASCII;
    int h = v.r.h, w = v.r.w;
    view_hline(v, 0, 0, w, role);
    view_hline(v, h - 1, 0, w, role);
    view_vline(v, 1, 0, h - 2, role);
    view_vline(v, 1, w - 1, h - 2, role);
    view_put(v, 0, 0, ascii ? '+' : 0x250C, role);
    view_put(v, 0, w - 1, ascii ? '+' : 0x2510, role);
    view_put(v, h - 1, 0, ascii ? '+' : 0x2514, role);
    view_put(v, h - 1, w - 1, ascii ? '+' : 0x2518, role);
    struct view top = view_sub(v, 0, 2, 1, w - 4);
    if (*title)
        view_textf(top, 0, 0, ROLE_TITLE, " %s ", title);
    struct view in = view_sub(v, 1, 2, h - 2, w - 4);
    view_fill(v, 1, 1, h - 2, w - 2, ' ', ROLE_TEXT);
    return in;
}

void view_cursor(struct view v, int y, int x)
{
    bool inside = y >= 0 && y < v.r.h && x >= 0 && x < v.r.w;
    v.g->cursor_y = inside ? v.r.y + y : -1;
    v.g->cursor_x = inside ? v.r.x + x : -1;
}

int columns_of(const char *s, size_t n)
{
    int cols = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        i += text_decode(s + i, n - i, &cp);
        cols += text_width(cp);
    }
    return cols;
}
