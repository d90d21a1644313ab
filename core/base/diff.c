#include "core/base/diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define MAX_LINES 20000
#define MAX_EDITS 5000

struct line {
    const char *s;
    size_t n;   /* without the newline */
    bool ended; /* it has one: a last line without is another line */
    int32_t id; /* equal lines have equal numbers */
};

struct text {
    struct line *lines;
    size_t n, cap;
    bool *changed; /* a line that the other text has not */
};

static void split(struct text *t, const char *s, size_t n)
{
    *t = (struct text){0};
    for (size_t at = 0; at < n;) {
        const char *nl = memchr(s + at, '\n', n - at);
        size_t len = nl ? (size_t)(nl - (s + at)) : n - at;
        VEC_ROOM(t->lines, t->n, t->cap);
        t->lines[t->n++] = (struct line){.s = s + at, .n = len, .ended = nl != NULL};
        at += len + (nl != NULL);
    }
    t->changed = xcalloc(t->n + 1, sizeof *t->changed);
}

static void text_free(struct text *t)
{
    free(t->lines);
    free(t->changed);
}

/* ---- equal lines get equal numbers ------------------------------------------------------------
 */

static uint64_t line_hash(const struct line *l)
{
    uint64_t h = 1469598103934665603u + l->ended;
    for (size_t i = 0; i < l->n; i++)
        h = (h ^ (unsigned char)l->s[i]) * 1099511628211u;
    return h ^ (h >> 31);
}

static bool line_equal(const struct line *a, const struct line *b)
{
    return a->n == b->n && a->ended == b->ended && memcmp(a->s, b->s, a->n) == 0;
}

static void number_lines(struct text *a, struct text *b)
{
    size_t size = 64;
    while (size < 2 * (a->n + b->n))
        size *= 2;
    const struct line **slots = xcalloc(size, sizeof *slots);
    int32_t next = 0;
    for (size_t i = 0; i < a->n + b->n; i++) {
        struct line *l = i < a->n ? &a->lines[i] : &b->lines[i - a->n];
        size_t at = (size_t)line_hash(l) & (size - 1);
        while (slots[at] && !line_equal(slots[at], l))
            at = (at + 1) & (size - 1);
        if (slots[at]) {
            l->id = slots[at]->id;
        } else {
            l->id = next++;
            slots[at] = l;
        }
    }
    free(slots);
}

/* ---- Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section 4b: the middle of
 * a shortest edit script is searched from both ends, then each half in turn. ----------------------
 */

struct search {
    struct text *a, *b;
    int32_t *forward, *backward; /* furthest x on each diagonal, index = diagonal + offset */
    long offset;
};

struct box {
    long a0, a1, b0, b1;
};

static bool same(const struct search *s, long x, long y)
{
    return s->a->lines[x].id == s->b->lines[y].id;
}

/* One more step of the search from the front; true when it met the search from the back. */
static bool step_forward(struct search *s, const struct box *q, long d, long *mx, long *my)
{
    long n = q->a1 - q->a0, m = q->b1 - q->b0, delta = n - m;
    int32_t *v = s->forward + s->offset, *w = s->backward + s->offset;
    for (long k = -d; k <= d; k += 2) {
        long x = k == -d || (k != d && v[k - 1] < v[k + 1]) ? v[k + 1] : v[k - 1] + 1;
        long y = x - k;
        while (x < n && y >= 0 && y < m && same(s, q->a0 + x, q->b0 + y)) {
            x++;
            y++;
        }
        v[k] = (int32_t)x;
        long c = delta - k; /* the same diagonal as the other side counts it */
        if (delta % 2 != 0 && c >= -(d - 1) && c <= d - 1 && x + w[c] >= n) {
            *mx = q->a0 + x;
            *my = q->b0 + y;
            return true;
        }
    }
    return false;
}

static bool step_backward(struct search *s, const struct box *q, long d, long *mx, long *my)
{
    long n = q->a1 - q->a0, m = q->b1 - q->b0, delta = n - m;
    int32_t *v = s->forward + s->offset, *w = s->backward + s->offset;
    for (long k = -d; k <= d; k += 2) {
        long x = k == -d || (k != d && w[k - 1] < w[k + 1]) ? w[k + 1] : w[k - 1] + 1;
        long y = x - k;
        while (x < n && y >= 0 && y < m && same(s, q->a1 - 1 - x, q->b1 - 1 - y)) {
            x++;
            y++;
        }
        w[k] = (int32_t)x;
        long c = delta - k;
        if (delta % 2 == 0 && c >= -d && c <= d && x + v[c] >= n) {
            *mx = q->a1 - x;
            *my = q->b1 - y;
            return true;
        }
    }
    return false;
}

/* A point on a shortest path through the box; false when more than `limit` edits are needed. */
static bool middle(struct search *s, const struct box *q, long limit, long *mx, long *my)
{
    s->forward[s->offset + 1] = 0;
    s->backward[s->offset + 1] = 0;
    for (long d = 0; 2 * d <= limit + 1; d++)
        if (step_forward(s, q, d, mx, my) || step_backward(s, q, d, mx, my))
            return true;
    return false;
}

static void mark(struct search *s, const struct box *q)
{
    for (long i = q->a0; i < q->a1; i++)
        s->a->changed[i] = true;
    for (long i = q->b0; i < q->b1; i++)
        s->b->changed[i] = true;
}

static void compare(struct search *s, struct box q, long limit)
{
    long mx = 0, my = 0;
    for (;;) {
        while (q.a0 < q.a1 && q.b0 < q.b1 && same(s, q.a0, q.b0)) {
            q.a0++;
            q.b0++;
        }
        while (q.a0 < q.a1 && q.b0 < q.b1 && same(s, q.a1 - 1, q.b1 - 1)) {
            q.a1--;
            q.b1--;
        }
        if (q.a0 == q.a1 || q.b0 == q.b1 || !middle(s, &q, limit, &mx, &my)) {
            mark(s, &q);
            return;
        }
        /* A point in a corner would not make the box smaller: then nothing is common. */
        if ((mx == q.a0 && my == q.b0) || (mx == q.a1 && my == q.b1)) {
            mark(s, &q);
            return;
        }
        compare(s, (struct box){q.a0, mx, q.b0, my}, limit);
        q.a0 = mx;
        q.b0 = my;
    }
}

static void find_changes(struct text *a, struct text *b)
{
    long size = MAX_EDITS / 2 + 8;
    struct search s = {.a = a, .b = b, .offset = size};
    struct box all = {0, (long)a->n, 0, (long)b->n};
    if (a->n > MAX_LINES || b->n > MAX_LINES) {
        mark(&s, &all);
        return;
    }
    number_lines(a, b);
    s.forward = xcalloc((size_t)(2 * size + 1), sizeof *s.forward);
    s.backward = xcalloc((size_t)(2 * size + 1), sizeof *s.backward);
    compare(&s, all, MAX_EDITS);
    free(s.forward);
    free(s.backward);
}

static void emit(struct diff_line **lines, size_t *n, size_t *cap, struct diff_line l)
{
    VEC_ROOM(*lines, *n, *cap);
    (*lines)[(*n)++] = l;
}

/* Deletions stand before insertions within a change. */
static void diff_texts(struct text *a, struct text *b, struct diff_line **lines, size_t *n)
{
    size_t cap = 0, i = 0, j = 0;
    *lines = NULL;
    *n = 0;
    find_changes(a, b);
    while (i < a->n || j < b->n) {
        for (; i < a->n && a->changed[i]; i++)
            emit(lines, n, &cap,
                 (struct diff_line){DIFF_DELETE, i, j, a->lines[i].s, a->lines[i].n});
        for (; j < b->n && b->changed[j]; j++)
            emit(lines, n, &cap,
                 (struct diff_line){DIFF_INSERT, i, j, b->lines[j].s, b->lines[j].n});
        for (; i < a->n && j < b->n && !a->changed[i] && !b->changed[j]; i++, j++)
            emit(lines, n, &cap, (struct diff_line){DIFF_SAME, i, j, b->lines[j].s, b->lines[j].n});
    }
}

void diff_lines(const char *a, size_t na, const char *b, size_t nb, struct diff_line **lines,
                size_t *n)
{
    struct text ta, tb;
    split(&ta, a, na);
    split(&tb, b, nb);
    diff_texts(&ta, &tb, lines, n);
    text_free(&ta);
    text_free(&tb);
}

/* ---- unified format ---------------------------------------------------------------------------
 */

static bool has_newline(const struct text *a, const struct text *b, const struct diff_line *l)
{
    return l->op == DIFF_INSERT ? b->lines[l->b].ended : a->lines[l->a].ended;
}

/* Lines from..to of the script are one hunk. */
static void add_hunk(const struct text *a, const struct text *b, const struct diff_line *lines,
                     size_t from, size_t to, struct buf *out)
{
    size_t in_a = 0, in_b = 0;
    for (size_t i = from; i < to; i++) {
        in_a += lines[i].op != DIFF_INSERT;
        in_b += lines[i].op != DIFF_DELETE;
    }
    /* An empty side is named by the line before it. */
    buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", lines[from].a + (in_a > 0), in_a,
             lines[from].b + (in_b > 0), in_b);
    for (size_t i = from; i < to; i++) {
        buf_addc(out, " -+"[lines[i].op]);
        buf_add(out, lines[i].s, lines[i].n);
        buf_adds(out, has_newline(a, b, &lines[i]) ? "\n" : "\n\\ No newline at end of file\n");
    }
}

void diff_unified(const char *label_a, const char *a, const char *label_b, const char *b,
                  int context, struct buf *out)
{
    struct text ta, tb;
    struct diff_line *lines = NULL;
    size_t n = 0, around = context > 0 ? (size_t)context : 0;
    bool any = false;
    split(&ta, a, strlen(a));
    split(&tb, b, strlen(b));
    diff_texts(&ta, &tb, &lines, &n);
    for (size_t i = 0; i < n;) {
        if (lines[i].op == DIFF_SAME) {
            i++;
            continue;
        }
        size_t from = i > around ? i - around : 0, last = i;
        for (; i < n && i - last <= 2 * around + 1; i++)
            if (lines[i].op != DIFF_SAME)
                last = i;
        size_t to = last + 1 + around < n ? last + 1 + around : n;
        if (!any)
            buf_addf(out, "--- %s\n+++ %s\n", label_a, label_b);
        any = true;
        add_hunk(&ta, &tb, lines, from, to, out);
        i = to;
    }
    free(lines);
    text_free(&ta);
    text_free(&tb);
}
