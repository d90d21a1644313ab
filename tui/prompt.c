#include "tui/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/keys.h"

#define MAX_HISTORY 100

void prompt_set(struct prompt *p, const char *s)
{
    buf_clear(&p->text);
    p->cursor = 0;
    prompt_insert(p, s, strlen(s));
}

void prompt_start(struct prompt *p, const char *label, const char *text, bool single)
{
    snprintf(p->label, sizeof p->label, "%s", label);
    p->single = single;
    p->refused = false;
    p->at_history = p->nhistory;
    free(p->draft);
    p->draft = NULL;
    prompt_set(p, text);
}

void prompt_free(struct prompt *p)
{
    for (size_t i = 0; i < p->nhistory; i++)
        free(p->history[i]);
    free(p->history);
    free(p->draft);
    buf_free(&p->text);
    *p = (struct prompt){0};
}

bool prompt_insert(struct prompt *p, const char *s, size_t n)
{
    struct buf clean = {0};
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = text_decode(s + i, n - i, &cp);
        bool line = cp == '\n' || cp == '\r' || cp == 0x2028 || cp == 0x2029;
        i += len;
        if (cp == '\r' && i < n && s[i] == '\n')
            continue;
        if (line)
            buf_addc(&clean, p->single ? ' ' : '\n');
        else if (cp == '\t')
            buf_addc(&clean, p->single ? ' ' : '\t');
        else if (cp >= 0x20 && cp != 0x7F && (cp < 0x80 || cp >= 0xA0)) {
            char c[4];
            buf_add(&clean, c, text_encode(cp, c));
        }
    }
    bool fits = p->text.len + clean.len <= PROMPT_MAX;
    p->refused = !fits;
    if (fits && clean.len > 0) {
        buf_room(&p->text, clean.len);
        memmove(p->text.s + p->cursor + clean.len, p->text.s + p->cursor, p->text.len - p->cursor);
        memcpy(p->text.s + p->cursor, clean.s, clean.len);
        p->text.len += clean.len;
        p->text.s[p->text.len] = '\0';
        p->cursor += clean.len;
    }
    buf_free(&clean);
    return fits;
}

/* ------------------------------------------------------------------------------ movement */

static uint32_t char_at(const struct prompt *p, size_t at, size_t *len)
{
    uint32_t cp = 0;
    *len = text_decode(p->text.s + at, p->text.len - at, &cp);
    return cp;
}

/* The next place where the cursor may stand: past a character and the marks on it. */
static size_t after(const struct prompt *p, size_t at)
{
    size_t len;
    if (at >= p->text.len)
        return p->text.len;
    char_at(p, at, &len);
    at += len;
    while (at < p->text.len) {
        uint32_t cp = char_at(p, at, &len);
        if (cp < 0x20 || text_width(cp) > 0)
            break;
        at += len;
    }
    return at;
}

static size_t before(const struct prompt *p, size_t at)
{
    while (at > 0) {
        at--;
        while (at > 0 && ((unsigned char)p->text.s[at] & 0xC0) == 0x80)
            at--;
        size_t len;
        uint32_t cp = char_at(p, at, &len);
        if (cp < 0x20 || text_width(cp) > 0)
            break;
    }
    return at;
}

static bool in_word(const struct prompt *p, size_t at)
{
    return at < p->text.len && !strchr(" \t\n.,;:/()[]{}=\"'", p->text.s[at]);
}

static size_t word_left(const struct prompt *p, size_t at)
{
    while (at > 0 && !in_word(p, before(p, at)))
        at = before(p, at);
    while (at > 0 && in_word(p, before(p, at)))
        at = before(p, at);
    return at;
}

static size_t word_right(const struct prompt *p, size_t at)
{
    while (at < p->text.len && !in_word(p, at))
        at = after(p, at);
    while (at < p->text.len && in_word(p, at))
        at = after(p, at);
    return at;
}

static size_t line_begin(const struct prompt *p, size_t at)
{
    while (at > 0 && p->text.s[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct prompt *p, size_t at)
{
    while (at < p->text.len && p->text.s[at] != '\n')
        at++;
    return at;
}

static void erase_range(struct prompt *p, size_t from, size_t to)
{
    if (to <= from)
        return;
    memmove(p->text.s + from, p->text.s + to, p->text.len - to);
    p->text.len -= to - from;
    p->text.s[p->text.len] = '\0';
    p->cursor = from;
}

/* ------------------------------------------------------------------------------- history */

static void remember(struct prompt *p)
{
    if (p->text.len == 0 || p->text.len > 4096)
        return;
    if (p->nhistory > 0 && strcmp(p->history[p->nhistory - 1], p->text.s) == 0)
        return;
    if (p->nhistory >= MAX_HISTORY) {
        free(p->history[0]);
        p->nhistory--;
        memmove(p->history, p->history + 1, p->nhistory * sizeof *p->history);
    }
    VEC_ROOM(p->history, p->nhistory, p->cap_history);
    p->history[p->nhistory++] = xstrdup(p->text.s);
}

static void recall(struct prompt *p, size_t at)
{
    if (at > p->nhistory || at == p->at_history)
        return;
    if (p->at_history == p->nhistory) {
        free(p->draft);
        p->draft = xstrdup(buf_str(&p->text));
    }
    p->at_history = at;
    prompt_set(p, at < p->nhistory ? p->history[at] : p->draft ? p->draft : "");
}

/* Up and down: between the lines of the text, beyond them through the history. */
static void vertical(struct prompt *p, bool up)
{
    size_t begin = line_begin(p, p->cursor);
    size_t end = line_end(p, p->cursor);
    if (up ? begin == 0 : end >= p->text.len) {
        if (up && p->at_history > 0)
            recall(p, p->at_history - 1);
        else if (!up)
            recall(p, p->at_history + 1);
        return;
    }
    size_t column = p->cursor - begin;
    size_t to = up ? line_begin(p, begin - 1) : end + 1;
    size_t last = line_end(p, to);
    p->cursor = to + column < last ? to + column : last;
    while (p->cursor > to && p->cursor < p->text.len &&
           ((unsigned char)p->text.s[p->cursor] & 0xC0) == 0x80)
        p->cursor--;
}

/* ----------------------------------------------------------------------------------- keys */

static bool edit_key(struct prompt *p, uint32_t key)
{
    size_t c = p->cursor;
    switch (key) {
    case K_BACKSPACE:
        erase_range(p, before(p, c), c);
        return true;
    case K_DELETE:
    case K_CTRL | 'd':
        erase_range(p, c, after(p, c));
        return true;
    case K_CTRL | 'w':
    case K_ALT | K_BACKSPACE:
        erase_range(p, word_left(p, c), c);
        return true;
    case K_CTRL | 'u':
        erase_range(p, line_begin(p, c), c);
        return true;
    case K_CTRL | 'k':
        erase_range(p, c, line_end(p, c));
        return true;
    case K_ALT | 'd':
        erase_range(p, c, word_right(p, c));
        p->cursor = c;
        return true;
    case K_ALT | K_ENTER:
        if (!p->single)
            prompt_insert(p, "\n", 1);
        return true;
    default:
        return false;
    }
}

static bool move_key(struct prompt *p, uint32_t key)
{
    switch (key) {
    case K_LEFT:
    case K_CTRL | 'b':
        p->cursor = before(p, p->cursor);
        return true;
    case K_RIGHT:
    case K_CTRL | 'f':
        p->cursor = after(p, p->cursor);
        return true;
    case K_HOME:
    case K_CTRL | 'a':
        p->cursor = line_begin(p, p->cursor);
        return true;
    case K_END:
    case K_CTRL | 'e':
        p->cursor = line_end(p, p->cursor);
        return true;
    case K_ALT | 'b':
        p->cursor = word_left(p, p->cursor);
        return true;
    case K_ALT | 'f':
        p->cursor = word_right(p, p->cursor);
        return true;
    case K_UP:
    case K_CTRL | 'p':
        vertical(p, true);
        return true;
    case K_DOWN:
    case K_CTRL | 'n':
        vertical(p, false);
        return true;
    default:
        return false;
    }
}

enum prompt_result prompt_key(struct prompt *p, uint32_t key)
{
    buf_add(&p->text, "", 0); /* from here on there is a string */
    if (key == K_ESCAPE || key == (K_CTRL | 'c') || key == (K_CTRL | 'g'))
        return PROMPT_CANCELLED;
    if (key == K_BACKSPACE && p->text.len == 0)
        return PROMPT_CANCELLED;
    if (key == K_ENTER) {
        remember(p);
        return PROMPT_ACCEPTED;
    }
    if (edit_key(p, key)) {
        p->refused = false;
        return PROMPT_MORE;
    }
    if (!move_key(p, key) && key < K_SPECIAL) {
        char s[4];
        prompt_insert(p, s, text_encode(key, s));
    }
    return PROMPT_MORE;
}

/* ------------------------------------------------------------------------------- drawing */

/* Where byte `at` lies when the text is broken to `width` columns after the label; and, through
 * v, draws what falls into rows first..first+v.r.h. A tab is one blank, a new line breaks. */
static void place(const struct prompt *p, size_t at, int width, int *row, int *col, int *rows,
                  const struct view *v, int first)
{
    int y = 0, x = columns_of(p->label, strlen(p->label));
    if (x >= width)
        x = 0;
    *row = -1;
    *col = 0;
    for (size_t i = 0; i <= p->text.len;) {
        size_t len = 1;
        uint32_t cp = i < p->text.len ? char_at(p, i, &len) : '\n';
        int w = cp == '\t' ? 1 : text_width(cp);
        if (cp != '\n' && x + w > width) {
            y++;
            x = 0;
        }
        if (i == at) {
            *row = y;
            *col = x >= width && i < p->text.len ? width - 1 : x;
        }
        if (v && cp != '\n')
            view_put(*v, y - first, x, cp == '\t' ? ' ' : cp, ROLE_INPUT);
        x += w;
        if (cp == '\n' && i < p->text.len) {
            y++;
            x = 0;
        }
        i += len;
    }
    if (*row == y && *col >= width) { /* the cursor past a full row stands in a new one */
        y++;
        *row = y;
        *col = 0;
    }
    *rows = y + 1;
}

int prompt_rows(const struct prompt *p, int width)
{
    int row, col, rows;
    place(p, p->cursor, width, &row, &col, &rows, NULL, 0);
    return rows > PROMPT_ROWS ? PROMPT_ROWS : rows;
}

void prompt_draw(const struct prompt *p, struct view v)
{
    int row, col, rows;
    if (v.r.w < 1 || v.r.h < 1)
        return;
    place(p, p->cursor, v.r.w, &row, &col, &rows, NULL, 0);
    int first = row >= v.r.h ? row - v.r.h + 1 : 0;
    view_fill(v, 0, 0, v.r.h, v.r.w, ' ', ROLE_INPUT);
    if (first == 0 && columns_of(p->label, strlen(p->label)) < v.r.w)
        view_text(v, 0, 0, ROLE_PROMPT, p->label);
    place(p, p->cursor, v.r.w, &row, &col, &rows, &v, first);
    view_cursor(v, row - first, col);
}
