/* What was measured of the selected version: times by shape, counters against the incumbent and the
 * baseline, where the kernel lies below the measured peak, instruction mix, errors, conditions.
 * What could not be read is shown as absent with the reason, never as zero. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/lines.h"
#include "tui/pane.h"
#include "tui/wrap.h"

#define NAME_COLS   18
#define NARROW_COLS 35 /* what a pane at 80 columns has */
#define WIDE_COLS   58 /* from here on there are more columns */
#define BAR_COLS    16

struct counters {
    struct lines lines;
    unsigned generation;
    int64_t version;
    bool wide; /* the lines were made for a wide window */
    bool stale;
};

static void *make(void)
{
    struct counters *p = xcalloc(1, sizeof *p);
    p->stale = true;
    return p;
}

static void destroy(void *self)
{
    struct counters *p = self;
    lines_free(&p->lines);
    free(p);
}

static void recalc(void *self, const struct model *m)
{
    struct counters *p = self;
    if (p->version != m->selected)
        p->lines.top = 0;
    p->version = m->selected;
    p->stale = true;
}

/* A foreign word or line in a line of ours. */
static void add_foreign(struct lines *l, enum style_role role, const char *s, int cols)
{
    struct buf b = {0};
    text_line(&b, s, strlen(s), cols);
    lines_add(l, role, buf_str(&b), b.len);
    buf_free(&b);
}

/* A foreign text in as many lines as it takes, indented. */
static void add_wrapped(struct lines *l, enum style_role role, const char *s, bool wide)
{
    struct buf b = {0};
    size_t starts[WRAP_MAX_ROWS];
    text_line(&b, s, strlen(s), 400);
    size_t rows = wrap_text(buf_str(&b), b.len, (wide ? WIDE_COLS : NARROW_COLS) - 2, 0, starts);
    for (size_t i = 0; i < rows; i++) {
        size_t end = i + 1 < rows ? starts[i + 1] : b.len;
        lines_pad(l, 2);
        lines_add(l, role, buf_str(&b) + starts[i], end - starts[i]);
        lines_end(l);
    }
    buf_free(&b);
}

/* 1234567 -> "1.23 M". */
static const char *short_number(double v, char out[40])
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t u = 0;
    double a = fabs(v);
    while (a >= 10000 && u + 1 < ARRAY_LEN(units)) {
        a /= 1000;
        v /= 1000;
        u++;
    }
    snprintf(out, 40,
             a == floor(a) && a < 10000 ? "%.0f%s"
             : a < 100                  ? "%.3g%s"
                                        : "%.4g%s",
             v, units[u]);
    return out;
}

/* Whether more of this counter is better: rates and shares are, costs are not. */
static bool more_is_better(const char *name, const char *unit)
{
    static const char *const good[] = {"gflop",     "ipc",       "share", "per-cycle", "vector",
                                       "bandwidth", "occupancy", "hit",   "intensity"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (strcasestr(name, good[i]))
            return true;
    return strcasestr(unit, "/s") != NULL && !strcasestr(unit, "1/call");
}

/* The change from `before` to `now` as a column. */
static void add_change(struct lines *l, double now, double before, bool more_better)
{
    char s[40];
    if (!isfinite(before) || !isfinite(now)) {
        lines_add(l, ROLE_ABSENT, "-", 1);
        return;
    }
    if (now == before) {
        lines_add(l, ROLE_FAINT, "=", 1);
        return;
    }
    if (before == 0 || now / before > 100) {
        lines_addf(l, ROLE_COUNTER, "was %s", short_number(before, s));
        return;
    }
    bool better = (now > before) == more_better;
    bool small = fabs(now / before - 1) < 0.005;
    lines_addf(l,
               small    ? ROLE_FAINT
               : better ? ROLE_BETTER
                        : ROLE_WORSE,
               "%+.1f %%", (now / before - 1) * 100);
}

static void add_counter(struct lines *l, const cJSON *c, bool wide)
{
    const char *name = json_str(c, "name", "?"), *unit = json_str(c, "unit", "");
    double value = json_num(c, "value", (double)NAN);
    char s[40];
    add_foreign(l, ROLE_COUNTER, name, NAME_COLS - 1);
    lines_pad(l, NAME_COLS);
    lines_addf(l, ROLE_COUNTER, "%s", short_number(value, s));
    bool better = more_is_better(name, unit);
    lines_pad(l, NAME_COLS + 10);
    add_change(l, value, json_num(c, "incumbent", (double)NAN), better);
    if (wide) {
        lines_pad(l, NAME_COLS + 21);
        add_change(l, value, json_num(c, "baseline", (double)NAN), better);
        lines_pad(l, NAME_COLS + 32);
        add_foreign(l, ROLE_FAINT, unit, 20);
    } else if (*unit) {
        lines_pad(l, NAME_COLS + 19);
        add_foreign(l, ROLE_FAINT, unit, 12);
    }
    lines_end(l);
}

/* Why a counter has no value; NULL when it has one. */
static const char *absence(const cJSON *c)
{
    const char *why = json_str(c, "absent", NULL);
    if (!why && !isfinite(json_num(c, "value", (double)NAN)))
        why = "no value was given";
    return why;
}

/* Those that could not be read, and once for each run of them why. */
static void add_absent(struct lines *l, const cJSON *list, bool wide)
{
    const char *last = NULL;
    const cJSON *c;
    cJSON_ArrayForEach(c, list)
    {
        const char *why = absence(c);
        if (!why)
            continue;
        if (last && strcmp(last, why) != 0)
            add_wrapped(l, ROLE_ABSENT, last, wide);
        last = why;
        add_foreign(l, ROLE_ABSENT, json_str(c, "name", "?"), NAME_COLS - 1);
        lines_pad(l, NAME_COLS);
        lines_addf(l, ROLE_ABSENT, "absent");
        lines_end(l);
    }
    if (last)
        add_wrapped(l, ROLE_ABSENT, last, wide);
}

static void add_counters(struct lines *l, const cJSON *result, bool wide)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(result, "counters"), *c;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) == 0)
        return;
    lines_end(l);
    lines_addf(l, ROLE_TITLE, "counter");
    lines_pad(l, NAME_COLS);
    lines_addf(l, ROLE_TITLE, "value");
    lines_pad(l, NAME_COLS + 10);
    lines_addf(l, ROLE_TITLE, wide ? "vs best" : "vs best, unit");
    if (wide) {
        lines_pad(l, NAME_COLS + 21);
        lines_addf(l, ROLE_TITLE, "vs base");
        lines_pad(l, NAME_COLS + 32);
        lines_addf(l, ROLE_TITLE, "unit");
    }
    lines_end(l);
    cJSON_ArrayForEach(c, list) if (!absence(c)) add_counter(l, c, wide);
    add_absent(l, list, wide);
}

/* Time of each scored shape. */
static void add_shapes(struct lines *l, const cJSON *result, bool wide)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(result, "shapes"), *s;
    char t[40];
    if (!cJSON_IsArray(list))
        return;
    cJSON_ArrayForEach(s, list)
    {
        double ns = json_num(s, "ns", (double)NAN), base = json_num(s, "baseline_ns", (double)NAN);
        double rate = json_num(s, "gflops", (double)NAN);
        add_foreign(l, ROLE_COUNTER, json_str(s, "name", "?"), NAME_COLS - 1);
        lines_pad(l, NAME_COLS);
        lines_addf(l, ROLE_COUNTER, "%s", put_time_text(isfinite(ns) ? ns : base, t));
        lines_pad(l, NAME_COLS + 10);
        put_speedup_text(json_num(s, "speedup", (double)NAN), (double)NAN, (double)NAN, t);
        lines_addf(l, ROLE_COUNTER, "%s", t);
        if (wide && isfinite(base)) {
            lines_pad(l, NAME_COLS + 21);
            lines_addf(l, ROLE_FAINT, "baseline %s", put_time_text(base, t));
        }
        if (wide && isfinite(rate)) {
            lines_pad(l, NAME_COLS + 42);
            lines_addf(l, ROLE_COUNTER, "%.1f GFLOP/s", rate);
        }
        lines_end(l);
    }
}

/* Where the kernel lies below the measured peak: of its shapes the one that lies highest. */
static void add_roofline(struct lines *l, const cJSON *result)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(result, "shapes"), *s;
    const cJSON *machine = cJSON_GetObjectItemCaseSensitive(result, "machine");
    double share = (double)NAN, rate = (double)NAN;
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(s, list)
        {
            double p = json_num(s, "peak_share", (double)NAN);
            if (isfinite(p) && !(p >= share)) {
                share = p;
                rate = json_num(s, "gflops", (double)NAN);
            }
        }
    lines_addf(l, ROLE_ROOFLINE, "roofline ");
    if (!isfinite(share)) {
        lines_addf(l, ROLE_ABSENT, "absent: not timed");
        lines_end(l);
        return;
    }
    double peak = json_num(machine, "peak_gflops", (double)NAN);
    lines_addf(l, ROLE_ROOFLINE, "%.1f %% of measured peak", share * 100);
    lines_end(l);
    int full = (int)lround(fmin(fmax(share, 0), 1) * BAR_COLS);
    char bar[BAR_COLS + 1];
    memset(bar, '.', BAR_COLS);
    memset(bar, '#', (size_t)full);
    bar[BAR_COLS] = '\0';
    lines_addf(l, ROLE_ROOFLINE, "[%s]", bar);
    if (isfinite(rate))
        lines_addf(l, ROLE_ROOFLINE, " %.1f", rate);
    if (isfinite(rate) && isfinite(peak))
        lines_addf(l, ROLE_ROOFLINE, " of %.0f GFLOP/s", peak);
    lines_end(l);
}

static void add_mix(struct lines *l, const cJSON *build)
{
    const cJSON *mix = cJSON_GetObjectItemCaseSensitive(build, "mix");
    double all = json_num(mix, "instructions", (double)NAN);
    if (!isfinite(all) || all <= 0)
        return;
    static const struct {
        const char *key, *name;
    } t[] = {{"vector512", "512-bit"}, {"vector256", "256-bit"}, {"vector128", "128-bit"},
             {"fma", "fma"},           {"loads", "loads"},       {"stores", "stores"},
             {"branches", "branches"}, {"stack", "stack"},       {"calls", "calls"}};
    lines_end(l);
    lines_addf(l, ROLE_TITLE, "instructions");
    lines_pad(l, NAME_COLS);
    lines_addf(l, ROLE_COUNTER, "%.0f", all);
    lines_end(l);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        double v = json_num(mix, t[i].key, (double)NAN);
        if (!isfinite(v))
            continue;
        lines_addf(l, ROLE_COUNTER, "  %s", t[i].name);
        lines_pad(l, NAME_COLS);
        lines_addf(l, ROLE_COUNTER, "%.0f", v);
        lines_pad(l, NAME_COLS + 10);
        lines_addf(l, ROLE_FAINT, "%.1f %%", v / all * 100);
        lines_end(l);
    }
}

static void add_errors(struct lines *l, const cJSON *result)
{
    const cJSON *errors = cJSON_GetObjectItemCaseSensitive(result, "errors"), *t;
    if (!cJSON_IsObject(errors) || !errors->child)
        return;
    lines_end(l);
    lines_addf(l, ROLE_TITLE, "error of output");
    lines_end(l);
    cJSON_ArrayForEach(t, errors)
    {
        lines_addf(l, ROLE_COUNTER, "  ");
        add_foreign(l, ROLE_COUNTER, t->string ? t->string : "?", NAME_COLS - 3);
        lines_pad(l, NAME_COLS);
        lines_addf(l, ROLE_COUNTER, "%.2g of the limit %.2g", json_num(t, "ratio", (double)NAN),
                   json_num(t, "limit", (double)NAN));
        lines_end(l);
    }
}

/* Where and under which conditions it was measured. */
static void add_conditions(struct lines *l, const struct model *m)
{
    const cJSON *r = m->result.root, *b = m->build.root;
    const cJSON *machine = cJSON_GetObjectItemCaseSensitive(r, "machine");
    const struct {
        const char *label, *value;
    } t[] = {{"cpu", json_str(machine, "cpu", "")},
             {"clock", json_str(machine, "clock", "")},
             {"jail", json_str(machine, "jail", json_str(b, "jail", ""))},
             {"compiler", json_str(b, "compiler", "")},
             {"command", json_str(b, "command", "")}};
    lines_end(l);
    double sets = json_num(r, "sets", (double)NAN);
    if (isfinite(sets)) {
        lines_addf(l, ROLE_FAINT, "%.0f process sets", sets);
        lines_end(l);
    }
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (*t[i].value) {
            lines_addf(l, ROLE_FAINT, "%-9s ", t[i].label);
            add_foreign(l, ROLE_FAINT, t[i].value, 400);
            lines_end(l);
        }
}

/* What became of it, in a line or two. */
static void add_verdict(struct lines *l, const struct model *m, const struct version *v)
{
    char s[40];
    if (v->id == 0) {
        if (m->s->have_baseline) {
            lines_addf(l, ROLE_COUNTER, "baseline: %s a call", put_time_text(m->s->baseline_ns, s));
            if (isfinite(m->s->baseline_peak))
                lines_addf(l, ROLE_COUNTER, ", %.1f %% of the peak", m->s->baseline_peak * 100);
        } else {
            lines_addf(l, ROLE_ABSENT, "the baseline has not been measured yet");
        }
        lines_end(l);
        return;
    }
    if (v->verdict == VERDICT_NONE) {
        lines_addf(l, ROLE_ABSENT, "not measured yet");
        lines_end(l);
        return;
    }
    bool timed = isfinite(v->speedup);
    lines_addf(l, timed ? (v->record ? ROLE_RECORD : ROLE_TRIED) : ROLE_REFUSED, "%s",
               v->record ? "record" : verdict_name(v->verdict));
    if (timed)
        lines_addf(l, ROLE_COUNTER, " %s", put_speedup_text(v->speedup, v->lo, v->hi, s));
    if (isfinite(v->gain) && v->against >= 0)
        lines_addf(l, v->gain >= 1 ? ROLE_BETTER : ROLE_WORSE, ", %s on v%lld",
                   put_change_text(v->gain, s), (long long)v->against);
    lines_end(l);
}

/* The message and the place of a failure. */
static void add_failure(struct lines *l, const struct model *m, const struct version *v)
{
    const cJSON *r = m->result.root;
    const char *message = json_str(r, "message", "");
    if (v->verdict == VERDICT_OK || v->verdict == VERDICT_NONE)
        return;
    if (*message)
        lines_add_foreign(l, ROLE_REFUSED, message, 0);
    static const char *const keys[] = {"family", "shape", "tensor", "index"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *s = json_str(r, keys[i], "");
        if (*s) {
            lines_addf(l, ROLE_COUNTER, "  %-8s ", keys[i]);
            add_foreign(l, ROLE_COUNTER, s, 200);
            lines_end(l);
        }
    }
    double got = json_num(r, "got", (double)NAN), want = json_num(r, "want", (double)NAN);
    if (isfinite(want)) {
        lines_addf(l, ROLE_COUNTER, "  got %.6g, want %.6g", got, want);
        lines_end(l);
    }
    if (v->build != VERDICT_NONE && v->build != VERDICT_OK) {
        const char *log = json_str(m->build.root, "log", "");
        lines_add_foreign(l, ROLE_REFUSED, log, 0);
    }
}

static void rebuild(struct counters *p, const struct model *m, bool wide)
{
    struct lines *l = &p->lines;
    const struct version *v = state_version(m->s, m->selected);
    lines_clear(l);
    p->stale = false;
    p->wide = wide;
    if (!v)
        return;
    add_verdict(l, m, v);
    add_failure(l, m, v);
    if (m->result.root) {
        add_shapes(l, m->result.root, wide);
        add_roofline(l, m->result.root);
        add_counters(l, m->result.root, wide);
    }
    add_mix(l, m->build.root);
    add_errors(l, m->result.root);
    if (m->result.root || m->build.root)
        add_conditions(l, m);
}

static void heading(void *self, const struct model *m, struct buf *out)
{
    (void)self;
    const struct version *v = state_version(m->s, m->selected);
    if (!v)
        return;
    buf_addf(out, "v%lld", (long long)v->id);
    if (*v->config && v->id > 0) {
        struct buf b = {0};
        text_line(&b, v->config, strlen(v->config), 200);
        buf_addf(out, " %s", buf_str(&b));
        buf_free(&b);
    }
}

static void draw(void *self, const struct model *m, struct view v)
{
    struct counters *p = self;
    bool wide = v.r.w >= WIDE_COLS;
    if (p->stale || wide != p->wide)
        rebuild(p, m, wide);
    lines_draw(&p->lines, v, 0, NULL, NULL);
    if (p->lines.n == 0)
        view_text(v, 0, 0, ROLE_FAINT, "nothing measured yet");
}

static bool keys(void *self, struct model *m, enum action a)
{
    struct counters *p = self;
    (void)m;
    return lines_key(&p->lines, a);
}

static enum grep_result grep(void *self, const struct model *m, const char *pattern, int direction,
                             char *message, size_t size)
{
    struct counters *p = self;
    (void)m;
    if (lines_search(&p->lines, pattern, direction))
        return GREP_HIT;
    snprintf(message, size, "\"%.60s\" is not among the counters", pattern);
    return GREP_NONE;
}

static void close_search(void *self)
{
    struct counters *p = self;
    p->lines.pattern[0] = '\0';
}

static void copy(void *self, const struct model *m, struct buf *out)
{
    struct counters *p = self;
    rebuild(p, m, true);
    buf_add(out, buf_str(&p->lines.text), p->lines.text.len);
    p->stale = true;
}

const struct pane pane_counters = {"counters", "counters", make, destroy,      recalc, heading,
                                   draw,       keys,       grep, close_search, copy};
