#include "core/cmd/evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cmd/view.h"

static void parse(const char *name, const struct buf *text, struct json_doc *doc)
{
    if (text->len && !json_parse(doc, name, text->s, text->len, NULL)) {
        doc->root = NULL;
    }
}

bool evidence_open(struct reader *r, int64_t version, struct evidence *ev, struct error *e)
{
    *ev = (struct evidence){0};
    bool result = reader_result(r, version, &ev->result_text, e);
    bool build = reader_build(r, version, &ev->build_text, e);
    if (result) {
        parse("result", &ev->result_text, &ev->result);
    }
    if (build) {
        parse("build reply", &ev->build_text, &ev->build);
    }
    return ev->result.root || ev->build.root;
}

void evidence_free(struct evidence *ev)
{
    json_free(&ev->result);
    json_free(&ev->build);
    buf_free(&ev->result_text);
    buf_free(&ev->build_text);
}

void text_block(const char *text, struct buf *out)
{
    struct buf clean = {0};
    text_sanitise(&clean, text, strlen(text), 8);
    for (const char *s = buf_str(&clean); *s;) {
        size_t n = strcspn(s, "\n");
        buf_adds(out, "    ");
        buf_add(out, s, n);
        buf_addc(out, '\n');
        s += n + (s[n] == '\n');
    }
    buf_free(&clean);
}

static void put_number(struct buf *out, double v)
{
    if (isnan(v)) {
        buf_addc(out, '-');
    } else if (fabs(v) < 1e15 && (v == floor(v) || fabs(v) >= 1e4)) {
        buf_addf(out, "%.0f", v);
    } else {
        buf_addf(out, "%.3g", v);
    }
}

void evidence_shapes(const struct evidence *ev, struct buf *out)
{
    const cJSON *shapes = cJSON_GetObjectItemCaseSensitive(ev->result.root, "shapes");
    if (!cJSON_IsArray(shapes) || !cJSON_GetArraySize(shapes)) {
        return;
    }
    buf_adds(out,
             "\n  shape            time        +-       baseline    speedup              gain      "
             "GFLOP/s  of peak\n");
    const cJSON *s = NULL;
    cJSON_ArrayForEach(s, shapes)
    {
        double ns = json_num(s, "ns", NO_REAL);
        buf_adds(out, "  ");
        put_line(out, json_str(s, "name", "?"), 15);
        put_pad(out, 19);
        put_ns(out, ns);
        put_pad(out, 31);
        double spread = json_num(s, "ns_spread", NO_REAL);
        if (!isnan(spread)) { /* a share of the time */
            buf_addf(out, "%.1f %%", spread * 100);
        } else {
            buf_addc(out, '-');
        }
        put_pad(out, 40);
        put_ns(out, json_num(s, "baseline_ns", NO_REAL));
        put_pad(out, 52);
        put_speedup(out, json_num(s, "speedup", NO_REAL), json_num(s, "lo", NO_REAL),
                    json_num(s, "hi", NO_REAL));
        put_pad(out, 73);
        put_change(out, json_num(s, "gain", NO_REAL));
        put_pad(out, 83);
        put_number(out, json_num(s, "gflops", NO_REAL));
        put_pad(out, 92);
        double share = json_num(s, "peak_share", NO_REAL);
        if (isnan(share)) {
            buf_addc(out, '-');
        } else {
            buf_addf(out, "%.1f %%", share * 100);
        }
        buf_addc(out, '\n');
    }
}

/* Counters that could not be read: a line for each reason, with the names that it holds for. */
static void put_absent(const cJSON *list, struct buf *out)
{
    for (const cJSON *c = list->child; c; c = c->next) {
        const char *why = json_str(c, "absent", NULL);
        const cJSON *d = list->child;
        while (why && d != c && strcmp(json_str(d, "absent", ""), why) != 0) {
            d = d->next;
        }
        if (!why || d != c) {
            continue; /* measured, or said with an earlier one */
        }
        struct buf line = {0};
        buf_adds(&line, "not measured: ");
        for (; d; d = d->next) {
            if (strcmp(json_str(d, "absent", ""), why) == 0) {
                buf_addf(&line, "%s%s", d == c ? "" : ", ", json_str(d, "name", "?"));
            }
        }
        buf_addf(&line, ": %s", why);
        buf_adds(out, "  ");
        put_line(out, buf_str(&line), 400);
        buf_addc(out, '\n');
        buf_free(&line);
    }
}

void evidence_counters(const struct evidence *ev, struct buf *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(ev->result.root, "counters");
    if (!cJSON_IsArray(list) || !cJSON_GetArraySize(list)) {
        return;
    }
    buf_adds(out,
             "\n  counter                       value         baseline      incumbent     unit\n");
    const cJSON *c = NULL;
    cJSON_ArrayForEach(c, list)
    {
        if (json_str(c, "absent", NULL)) {
            continue;
        }
        buf_adds(out, "  ");
        put_line(out, json_str(c, "name", "?"), 28);
        put_pad(out, 32);
        put_number(out, json_num(c, "value", NO_REAL));
        put_pad(out, 46);
        put_number(out, json_num(c, "baseline", NO_REAL));
        put_pad(out, 60);
        put_number(out, json_num(c, "incumbent", NO_REAL));
        put_pad(out, 74);
        put_line(out, json_str(c, "unit", ""), 20);
        buf_addc(out, '\n');
    }
    put_absent(list, out);
}

static void put_fact(const cJSON *o, const char *key, const char *label, struct buf *out)
{
    const char *text = json_str(o, key, NULL);
    if (text && *text) {
        buf_addf(out, "  %-10s ", label);
        put_line(out, text, 160);
        buf_addc(out, '\n');
    }
}

void evidence_machine(const struct evidence *ev, struct buf *out)
{
    const cJSON *m = cJSON_GetObjectItemCaseSensitive(ev->result.root, "machine");
    if (m) {
        buf_addc(out, '\n');
        put_fact(m, "cpu", "machine", out);
        put_fact(m, "flags", "flags", out);
        put_fact(m, "jail", "jail", out);
        put_fact(m, "clock", "clock", out);
    }
    put_fact(ev->build.root, "compiler", "compiler", out);
    put_fact(ev->build.root, "command", "command", out);
}

void evidence_build(const struct evidence *ev, struct buf *out)
{
    const cJSON *mix = cJSON_GetObjectItemCaseSensitive(ev->build.root, "mix");
    if (cJSON_IsObject(mix)) {
        buf_adds(out, "\n  instruction mix (static):");
        const cJSON *m = NULL;
        cJSON_ArrayForEach(m, mix)
        {
            if (cJSON_IsNumber(m)) {
                buf_addc(out, ' ');
                put_line(out, m->string ? m->string : "?", 24);
                buf_addc(out, ' ');
                put_number(out, m->valuedouble);
            }
        }
        const char *absent = json_str(mix, "absent", NULL);
        if (absent) {
            buf_adds(out, " not counted: ");
            put_line(out, absent, 80);
        }
        buf_addc(out, '\n');
    }
    const char *log = json_str(ev->build.root, "log", "");
    if (*log) {
        buf_adds(out, "\n  compiler output:\n");
        text_block(log, out);
    }
}

static const cJSON *counter_of(const struct evidence *ev, const char *name)
{
    const cJSON *c = NULL;
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(ev->result.root, "counters"))
    {
        if (strcmp(json_str(c, "name", ""), name) == 0) {
            return c;
        }
    }
    return NULL;
}

static void compare_row(const char *name, double a, double b, const char *unit, struct buf *out)
{
    buf_adds(out, "  ");
    put_line(out, name, 28);
    put_pad(out, 32);
    put_number(out, a);
    put_pad(out, 48);
    put_number(out, b);
    put_pad(out, 64);
    put_change(out, a > 0 ? b / a : (double)NO_REAL);
    put_pad(out, 76);
    put_line(out, unit, 20);
    buf_addc(out, '\n');
}

/* The baseline has no result of its own kind in every run; its counters stand in the results of the
 * others then. */
static double counter_value(const cJSON *own, const cJSON *other, const char *key)
{
    double v = json_num(own, "value", NO_REAL);
    return isnan(v) && key ? json_num(other, key, NO_REAL) : v;
}

void evidence_compare(const struct evidence *a, const char *name_a, const struct evidence *b,
                      const char *name_b, struct buf *out)
{
    buf_adds(out, "\n  counter");
    put_pad(out, 32);
    put_line(out, name_a, 14);
    put_pad(out, 48);
    put_line(out, name_b, 14);
    put_pad(out, 64);
    buf_adds(out, "change      unit\n");
    bool a_is_base = strcmp(name_a, "v0") == 0;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(b->result.root, "counters");
    const cJSON *c = NULL;
    cJSON_ArrayForEach(c, list)
    {
        const char *name = json_str(c, "name", "?");
        if (json_str(c, "absent", NULL)) {
            continue;
        }
        double va = counter_value(counter_of(a, name), c, a_is_base ? "baseline" : NULL);
        compare_row(name, va, json_num(c, "value", NO_REAL), json_str(c, "unit", ""), out);
    }
    const cJSON *mix = cJSON_GetObjectItemCaseSensitive(b->build.root, "mix");
    const cJSON *mix_a = cJSON_GetObjectItemCaseSensitive(a->build.root, "mix");
    const cJSON *m = NULL;
    cJSON_ArrayForEach(m, mix)
    {
        if (cJSON_IsNumber(m) && m->string) {
            compare_row(m->string, json_num(mix_a, m->string, NO_REAL), m->valuedouble,
                        "in the code", out);
        }
    }
    if (list) {
        put_absent(list, out);
    }
}
