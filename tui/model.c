#include "tui/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/log/runs.h"

#define TAB      4
/* A long run is read in slices, so that frames and keys come between. */
#define SLICE_NS 40000000

bool model_open(struct model *m, const char *path, struct error *e)
{
    *m = (struct model){.loaded = -1, .parent_id = -1, .newest = true};
    m->reader = reader_open_brief(path, SLICE_NS, e);
    if (!m->reader)
        return false;
    m->s = reader_state(m->reader);
    m->path = xstrdup(path);
    m->name = runs_name(path);
    model_tick(m);
    model_follow(m);
    return true;
}

static void drop_texts(struct model *m)
{
    json_free(&m->result);
    json_free(&m->build);
    m->result = m->build = (struct json_doc){0};
    buf_clear(&m->result_text);
    buf_clear(&m->build_text);
    buf_clear(&m->source);
    buf_clear(&m->parent);
    m->why_no_source[0] = '\0';
    m->parent_id = -1;
}

void model_close(struct model *m)
{
    drop_texts(m);
    buf_free(&m->source);
    buf_free(&m->parent);
    buf_free(&m->result_text);
    buf_free(&m->build_text);
    reader_close(m->reader);
    free(m->path);
    free(m->name);
}

static bool load_source(struct model *m, int64_t id, struct buf *out, struct error *e)
{
    struct buf raw = {0};
    bool ok = reader_source(m->reader, id, &raw, e);
    if (ok)
        text_sanitise(out, buf_str(&raw), raw.len, TAB);
    buf_free(&raw);
    return ok;
}

static void load_json(struct json_doc *doc, struct buf *text, bool ok)
{
    if (!ok || text->len == 0 || !json_parse(doc, "result", buf_str(text), text->len, NULL))
        *doc = (struct json_doc){0};
}

/* Bring the texts of the selected version up to date. */
static void load(struct model *m)
{
    const struct version *v = state_version(m->s, m->selected);
    int64_t tried = v ? v->try_seq : 0, built = v ? v->build_seq : 0;
    if (v && v->id == 0 && m->s->have_baseline)
        tried = m->s->baseline_seq;
    int64_t id = v ? v->id : -1;
    if (m->loaded == id && m->loaded_try == tried && m->loaded_build == built && m->generation)
        return;
    m->loaded = id;
    m->loaded_try = tried;
    m->loaded_build = built;
    m->generation++;
    drop_texts(m);
    if (!v)
        return;
    struct error e = {0};
    if (!load_source(m, id, &m->source, &e))
        snprintf(m->why_no_source, sizeof m->why_no_source, "%.299s", e.msg);
    if (v->parent >= 0 && v->parent != id && load_source(m, v->parent, &m->parent, NULL))
        m->parent_id = v->parent;
    load_json(&m->result, &m->result_text, reader_result(m->reader, id, &m->result_text, NULL));
    load_json(&m->build, &m->build_text, reader_build(m->reader, id, &m->build_text, NULL));
}

void model_select(struct model *m, int64_t id)
{
    int64_t last = (int64_t)m->s->nversions - 1;
    m->selected = id > last ? last : id < 0 ? 0 : id;
    m->newest = m->selected == last;
    load(m);
}

void model_follow(struct model *m)
{
    model_select(m, (int64_t)m->s->nversions - 1);
    m->newest = true;
}

int64_t model_poll(struct model *m, struct error *e)
{
    int64_t n = reader_poll(m->reader, e);
    m->s = reader_state(m->reader);
    if (n > 0) {
        if (m->newest)
            model_follow(m);
        else
            load(m);
    }
    return n;
}

bool model_tick(struct model *m)
{
    bool was = m->driven;
    int64_t pid = m->pid;
    char live[sizeof m->live], host[sizeof m->host] = "";
    m->now = clock_wall_ns();
    m->driven = reader_driver(m->reader, &m->pid, host, sizeof host);
    if (m->driven)
        snprintf(m->host, sizeof m->host, "%s", host);
    reader_live(m->reader, live, sizeof live);
    struct buf clean = {0};
    text_line(&clean, live, strlen(live), 120);
    bool changed = was != m->driven || pid != m->pid || strcmp(buf_str(&clean), m->live) != 0;
    snprintf(m->live, sizeof m->live, "%s", m->driven ? buf_str(&clean) : "");
    buf_free(&clean);
    return changed;
}

enum model_state model_state(const struct model *m)
{
    if (m->s->ended)
        return MODEL_ENDED;
    if (m->driven)
        return m->s->paused ? MODEL_PAUSED : MODEL_RUNNING;
    if (m->s->engines == 0)
        return MODEL_NEW;
    return m->s->stopped ? MODEL_STOPPED : MODEL_DIED;
}

const char *model_state_text(const struct model *m, char *out, size_t size)
{
    double share = reader_share(m->reader);
    if (share < 1) {
        snprintf(out, size, "reading, %.0f %%", 100 * share);
        return out;
    }
    switch (model_state(m)) {
    case MODEL_NEW:
        snprintf(out, size, "not started");
        break;
    case MODEL_RUNNING:
        snprintf(out, size, "running");
        break;
    case MODEL_PAUSED:
        if (m->s->pause_code > 1 && m->s->pause_cause)
            snprintf(out, size, "paused: %s", m->s->pause_cause);
        else
            snprintf(out, size, "paused");
        break;
    case MODEL_STOPPED:
        snprintf(out, size, m->s->paused ? "stopped while paused" : "stopped");
        break;
    case MODEL_DIED:
        snprintf(out, size, "engine died");
        break;
    case MODEL_ENDED:
        snprintf(out, size, "ended: %s", end_reason_name(m->s->reason));
        break;
    }
    return out;
}

const char *put_change_text(double ratio, char out[40])
{
    out[0] = '\0';
    if (isfinite(ratio) && fabs(ratio) < 1e6)
        snprintf(out, 40, "%+.1f %%", (ratio - 1) * 100);
    return out;
}

const char *put_speedup_text(double x, double lo, double hi, char out[40])
{
    out[0] = '\0';
    if (isfinite(x) && isfinite(lo) && isfinite(hi))
        snprintf(out, 40, "%.2fx (%.2f..%.2f)", x, lo, hi);
    else if (isfinite(x))
        snprintf(out, 40, "%.2fx", x);
    return out;
}

const char *put_time_text(double ns, char out[40])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    size_t u = 0;
    out[0] = '\0';
    if (!isfinite(ns) || ns < 0)
        return out;
    while (ns >= 1000 && u + 1 < ARRAY_LEN(units)) {
        ns /= 1000;
        u++;
    }
    snprintf(out, 40, ns < 10 ? "%.2f %s" : ns < 100 ? "%.1f %s" : "%.0f %s", ns, units[u]);
    return out;
}
