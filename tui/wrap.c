#include "tui/wrap.h"

#include "core/base/text.h"

size_t wrap_text(const char *s, size_t n, int width, int indent, size_t starts[WRAP_MAX_ROWS])
{
    size_t rows = 0, begin = 0;
    starts[rows++] = 0;
    while (rows < WRAP_MAX_ROWS) {
        int room = rows == 1 ? width : width - indent;
        if (room < 2)
            room = 2; /* so that a wide character fits and every row gets on */
        size_t i = begin, after_space = begin;
        int used = 0;
        while (i < n) {
            uint32_t cp;
            size_t len = text_decode(s + i, n - i, &cp);
            int w = text_width(cp);
            if (used + w > room)
                break;
            used += w;
            i += len;
            if (cp == ' ')
                after_space = i;
        }
        if (i >= n)
            break;
        if (s[i] == ' ') /* the break falls on a space, which vanishes */
            begin = i + 1;
        else
            begin = after_space > begin ? after_space : i;
        if (begin >= n)
            break;
        starts[rows++] = begin;
    }
    return rows;
}

void scroll_init(struct scroll *s)
{
    *s = (struct scroll){.follow = true, .height = 1};
}

/* Put the window where its last row is the last row of the list. */
static void pin_to_end(struct scroll *s, wrap_height_fn *fn, void *ctx)
{
    size_t left = s->height > 0 ? (size_t)s->height : 1;
    s->item = s->n;
    s->row = 0;
    while (s->item > 0 && left > 0) {
        size_t h = fn(ctx, s->item - 1);
        s->item--;
        if (h >= left) {
            s->row = h - left;
            return;
        }
        left -= h;
    }
}

/* Whether the rows from the position on fill less than the window, or just fill it. */
static bool at_end(const struct scroll *s, wrap_height_fn *fn, void *ctx)
{
    size_t rows = 0, room = s->height > 0 ? (size_t)s->height : 1;
    for (size_t i = s->item; i < s->n; i++) {
        size_t h = fn(ctx, i);
        rows += i == s->item ? h - (s->row < h ? s->row : h) : h;
        if (rows > room)
            return false;
    }
    return true;
}

static void settle(struct scroll *s, wrap_height_fn *fn, void *ctx)
{
    bool followed = s->follow;
    s->follow = at_end(s, fn, ctx);
    if (s->follow)
        pin_to_end(s, fn, ctx);
    else if (followed)
        s->seen = s->n;
}

void scroll_update(struct scroll *s, size_t n, int height, wrap_height_fn *fn, void *ctx)
{
    s->n = n;
    s->height = height < 1 ? 1 : height;
    if (s->item >= n) {
        s->item = n > 0 ? n - 1 : 0;
        s->row = 0;
    }
    if (s->follow) {
        pin_to_end(s, fn, ctx);
        return;
    }
    size_t h = n > 0 ? fn(ctx, s->item) : 1;
    if (s->row >= h)
        s->row = h - 1; /* another width: stay within the item */
}

void scroll_by(struct scroll *s, int rows, wrap_height_fn *fn, void *ctx)
{
    for (; rows < 0; rows++) {
        if (s->row > 0) {
            s->row--;
        } else if (s->item > 0) {
            s->item--;
            s->row = fn(ctx, s->item) - 1;
        } else {
            break;
        }
    }
    for (; rows > 0 && s->item < s->n; rows--) {
        if (at_end(s, fn, ctx))
            break;
        if (++s->row >= fn(ctx, s->item)) {
            s->row = 0;
            s->item++;
        }
    }
    settle(s, fn, ctx);
}

void scroll_top(struct scroll *s, wrap_height_fn *fn, void *ctx)
{
    s->item = s->row = 0;
    settle(s, fn, ctx);
}

void scroll_end(struct scroll *s, wrap_height_fn *fn, void *ctx)
{
    s->follow = true;
    pin_to_end(s, fn, ctx);
}

void scroll_to(struct scroll *s, size_t i, wrap_height_fn *fn, void *ctx)
{
    s->item = i < s->n ? i : s->n > 0 ? s->n - 1 : 0;
    s->row = 0;
    if (s->follow)
        s->seen = s->n;
    s->follow = false;
    scroll_by(s, -(s->height / 2), fn, ctx);
}

size_t scroll_new(const struct scroll *s)
{
    return s->follow || s->n < s->seen ? 0 : s->n - s->seen;
}
