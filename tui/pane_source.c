/* Source of the selected version, highlighted; lines that its parent has not are marked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/diff.h"
#include "core/base/mem.h"
#include "tui/highlight.h"
#include "tui/lines.h"
#include "tui/pane.h"

struct source {
    struct lines lines;
    bool *added; /* of each line */
    size_t nadded;
    size_t inserted, deleted; /* against the parent */
    unsigned generation;
    int64_t version;
    bool moved;  /* scrolled by hand: new versions leave the place alone */
    int numbers; /* digits of the last line number */
};

static void *make(void)
{
    struct source *p = xcalloc(1, sizeof *p);
    p->version = -1;
    return p;
}

static void destroy(void *self)
{
    struct source *p = self;
    lines_free(&p->lines);
    free(p->added);
    free(p);
}

/* Which lines are new against the parent, and where the first stands (0 when none). */
static size_t compare(struct source *p, const struct model *m)
{
    p->inserted = p->deleted = 0;
    p->nadded = p->lines.n;
    free(p->added);
    p->added = xcalloc(p->nadded + 1, sizeof *p->added);
    if (m->parent_id < 0)
        return 0;
    struct diff_line *d;
    size_t n, first = 0;
    diff_lines(buf_str(&m->parent), m->parent.len, buf_str(&m->source), m->source.len, &d, &n);
    for (size_t i = 0; i < n; i++) {
        p->deleted += d[i].op == DIFF_DELETE;
        if (d[i].op != DIFF_INSERT)
            continue;
        if (p->inserted++ == 0)
            first = d[i].b;
        if (d[i].b < p->nadded)
            p->added[d[i].b] = true;
    }
    free(d);
    return first;
}

static void highlight(struct source *p, const struct model *m)
{
    const struct version *v = state_version(m->s, m->selected);
    enum hl_language lang = v ? hl_language_of(v->config) : HL_NONE;
    enum hl_state state = HL_START;
    const char *s = buf_str(&m->source), *end = s + m->source.len;
    if (lang == HL_NONE)
        lang = HL_C; /* configurations of moves are C */
    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        size_t n = (size_t)((nl ? nl : end) - s);
        size_t at = p->lines.text.len;
        lines_add(&p->lines, ROLE_TEXT, s, n);
        state = hl_line(lang, state, s, n, (uint8_t *)p->lines.roles.s + at);
        lines_end(&p->lines);
        s += n + (nl != NULL);
    }
}

static void recalc(void *self, const struct model *m)
{
    struct source *p = self;
    if (p->generation == m->generation)
        return;
    p->generation = m->generation;
    lines_clear(&p->lines);
    if (m->why_no_source[0])
        lines_add_foreign(&p->lines, ROLE_ERROR, m->why_no_source, 0);
    else
        highlight(p, m);
    size_t first = compare(p, m);
    if (p->version != m->selected && !p->moved && p->inserted > 0)
        p->lines.top = first > 3 ? first - 3 : 0;
    p->version = m->selected;
    p->numbers = 3;
    for (size_t n = 1000; n <= p->lines.n; n *= 10)
        p->numbers++;
}

static void heading(void *self, const struct model *m, struct buf *out)
{
    struct source *p = self;
    if (m->selected == 0)
        buf_adds(out, "v0, the baseline");
    else
        buf_addf(out, "v%lld", (long long)m->selected);
    if (m->parent_id >= 0)
        buf_addf(out, " from v%lld +%zu -%zu", (long long)m->parent_id, p->inserted, p->deleted);
    if (m->selected == m->s->incumbent)
        buf_adds(out, ", the best");
    if (m->newest)
        buf_adds(out, ", newest");
}

static void gutter(void *ctx, size_t line, struct view v)
{
    const struct source *p = ctx;
    bool added = line < p->nadded && p->added[line];
    view_textf(v, 0, 0, ROLE_NUMBER_LINE, "%*zu", p->numbers, line + 1);
    if (added)
        view_put(v, 0, p->numbers, '+', ROLE_ADDED);
}

static void draw(void *self, const struct model *m, struct view v)
{
    struct source *p = self;
    if (p->lines.n == 0)
        view_text(v, 0, 0, ROLE_FAINT, m->s->nversions ? "(empty)" : "no version yet");
    lines_draw(&p->lines, v, v.r.w > 24 ? p->numbers + 2 : 0, gutter, p);
}

static bool keys(void *self, struct model *m, enum action a)
{
    struct source *p = self;
    (void)m;
    if (!lines_key(&p->lines, a))
        return false;
    p->moved = p->lines.top > 0 && a != ACTION_TOP;
    return true;
}

static enum grep_result grep(void *self, const struct model *m, const char *pattern, int direction,
                             char *message, size_t size)
{
    struct source *p = self;
    (void)m;
    p->moved = true;
    if (lines_search(&p->lines, pattern, direction))
        return GREP_HIT;
    snprintf(message, size, "\"%.60s\" is not in this source", pattern);
    return GREP_NONE;
}

static void close_search(void *self)
{
    struct source *p = self;
    p->lines.pattern[0] = '\0';
}

static void copy(void *self, const struct model *m, struct buf *out)
{
    (void)self;
    buf_add(out, buf_str(&m->source), m->source.len);
}

const struct pane pane_source = {"source", "source", make, destroy,      recalc, heading,
                                 draw,     keys,     grep, close_search, copy};
