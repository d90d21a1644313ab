#include "tui/lines.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

void lines_clear(struct lines *l)
{
    buf_clear(&l->text);
    buf_clear(&l->roles);
    l->n = 0;
    l->open = false;
}

void lines_free(struct lines *l)
{
    buf_free(&l->text);
    buf_free(&l->roles);
    free(l->begin);
    *l = (struct lines){0};
}

void lines_add(struct lines *l, enum style_role role, const char *s, size_t n)
{
    if (!l->open) {
        VEC_ROOM(l->begin, l->n, l->cap);
        l->begin[l->n++] = l->text.len;
        l->open = true;
    }
    buf_add(&l->text, s, n);
    memset(buf_room(&l->roles, n), role, n);
    l->roles.len += n;
}

void lines_addf(struct lines *l, enum style_role role, const char *fmt, ...)
{
    char s[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s, sizeof s, fmt, ap);
    va_end(ap);
    lines_add(l, role, s, strlen(s));
}

void lines_end(struct lines *l)
{
    lines_add(l, ROLE_TEXT, "\n", 1);
    l->open = false;
}

void lines_pad(struct lines *l, int col)
{
    size_t begin = l->open ? l->begin[l->n - 1] : l->text.len;
    int used = columns_of(buf_str(&l->text) + begin, l->text.len - begin);
    for (; used < col; used++)
        lines_add(l, ROLE_TEXT, " ", 1);
}

void lines_add_foreign(struct lines *l, enum style_role role, const char *s, int indent)
{
    struct buf clean = {0};
    text_sanitise(&clean, s, strlen(s), 8);
    const char *p = buf_str(&clean);
    while (*p) {
        size_t n = strcspn(p, "\n");
        lines_pad(l, indent);
        lines_add(l, role, p, n);
        lines_end(l);
        p += n + (p[n] == '\n');
    }
    buf_free(&clean);
}

const char *lines_get(const struct lines *l, size_t i, size_t *n)
{
    *n = 0;
    if (i >= l->n)
        return "";
    size_t end = i + 1 < l->n ? l->begin[i + 1] : l->text.len;
    size_t begin = l->begin[i];
    if (end > begin && l->text.s[end - 1] == '\n')
        end--;
    *n = end - begin;
    return l->text.s + begin;
}

/* ------------------------------------------------------------------------------- search */

size_t text_find(const char *s, size_t n, size_t from, const char *pattern)
{
    size_t m = strlen(pattern);
    bool fold = true;
    for (size_t i = 0; i < m; i++)
        fold = fold && !isupper((unsigned char)pattern[i]);
    for (size_t i = from; m > 0 && i + m <= n; i++) {
        size_t k = 0;
        while (k < m && (s[i + k] == pattern[k] ||
                         (fold && tolower((unsigned char)s[i + k]) == (unsigned char)pattern[k])))
            k++;
        if (k == m)
            return i;
    }
    return n;
}

void lines_show(struct lines *l, size_t line)
{
    size_t third = l->height / 3;
    if (line < l->top || line >= l->top + l->height)
        l->top = line > third ? line - third : 0;
}

bool lines_search(struct lines *l, const char *pattern, int direction)
{
    snprintf(l->pattern, sizeof l->pattern, "%s", pattern);
    for (size_t k = direction == 0 ? 0 : 1; k <= l->n; k++) {
        size_t i = direction < 0 ? (l->top + l->n - k % l->n) % l->n : (l->top + k) % l->n, n;
        const char *s = lines_get(l, i, &n);
        if (text_find(s, n, 0, l->pattern) < n) {
            l->top = i;
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------ drawing */

static void draw_line(const struct lines *l, size_t line, struct view v)
{
    size_t n, hit, hit_end;
    const char *s = lines_get(l, line, &n);
    const char *roles = l->roles.s + (line < l->n ? l->begin[line] : 0);
    hit = text_find(s, n, 0, l->pattern);
    hit_end = hit < n ? hit + strlen(l->pattern) : n;
    int x = -(int)l->left;
    for (size_t i = 0; i < n && x <= v.r.w;) {
        uint32_t cp;
        size_t len = text_decode(s + i, n - i, &cp);
        enum style_role role = (enum style_role)(unsigned char)roles[i];
        if (i >= hit_end && hit < n) {
            hit = text_find(s, n, i, l->pattern);
            hit_end = hit < n ? hit + strlen(l->pattern) : n;
        }
        if (i >= hit && i < hit_end && hit < n)
            role = ROLE_MATCH;
        if (x >= 0)
            x += view_put(v, 0, x, cp, role);
        else
            x += text_width(cp);
        i += len;
    }
}

static void clamp(struct lines *l)
{
    size_t most = l->n > l->height ? l->n - l->height : 0;
    if (l->top > most)
        l->top = most;
}

void lines_draw(struct lines *l, struct view v, int width, lines_gutter_fn *gutter, void *ctx)
{
    l->height = v.r.h > 0 ? (size_t)v.r.h : 1;
    clamp(l);
    for (int y = 0; y < v.r.h && l->top + (size_t)y < l->n; y++) {
        size_t line = l->top + (size_t)y;
        if (gutter)
            gutter(ctx, line, view_sub(v, y, 0, 1, width));
        draw_line(l, line, view_sub(v, y, width, 1, v.r.w - width));
    }
}

bool lines_key(struct lines *l, enum action a)
{
    size_t page = l->height > 2 ? l->height - 1 : 1;
    switch ((int)a) {
    case ACTION_UP:
        l->top -= l->top > 0;
        return true;
    case ACTION_DOWN:
        l->top++;
        break;
    case ACTION_LEFT:
        l->left -= l->left > 8 ? 8 : l->left;
        return true;
    case ACTION_RIGHT:
        l->left += l->left < 2000 ? 8 : 0;
        return true;
    case ACTION_PAGE_UP:
        l->top -= l->top > page ? page : l->top;
        return true;
    case ACTION_PAGE_DOWN:
        l->top += page;
        break;
    case ACTION_TOP:
        l->top = l->left = 0;
        return true;
    case ACTION_BOTTOM:
        l->top = l->n;
        break;
    default:
        return false;
    }
    clamp(l);
    return true;
}
