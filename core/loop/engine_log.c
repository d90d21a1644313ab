/* The batch of events that the next commit writes, the fold of what the engine alone must know, and
 * the blobs that it has at hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/loop/engine_private.h"

#define RETRY_NS 1000000000

char *engine_text(const char *s, size_t n)
{
    struct buf b = {0};
    size_t len = strnlen(s, n), at = 0;
    while (at < len) {
        uint32_t cp = 0;
        size_t step = text_decode(s + at, len - at, &cp);
        if (step == 1 && cp == 0xFFFD)
            buf_addc(&b, '?');
        else
            buf_add(&b, s + at, step);
        at += step ? step : 1;
    }
    return buf_take(&b);
}

/* ---- facts ------------------------------------------------------------------------------------
 */

struct tries *engine_tries(struct engine *g, int64_t version)
{
    struct facts *f = &g->facts;
    if (version < 0)
        return &f->ref;
    while (f->n <= (size_t)version) {
        VEC_ROOM(f->versions, f->n, f->cap);
        f->versions[f->n++] = (struct tries){0};
    }
    return &f->versions[version];
}

static bool is_build(enum effect_kind kind)
{
    return kind == EFFECT_BUILD || kind == EFFECT_REFERENCE;
}

static void fold_effect(struct engine *g, const struct event *ev)
{
    enum effect_kind kind = (enum effect_kind)ev->code;
    struct tries *t = engine_tries(g, kind == EFFECT_REFERENCE ? -1 : ev->ref);
    if (is_build(kind))
        t->builds++;
    else
        t->benches++;
}

/* Before the state takes it out of what is in flight. */
static void fold_closed(struct engine *g, const struct event *ev)
{
    const struct effect *f = state_effect(g->s, ev->id);
    if (!f)
        return;
    struct tries *t = engine_tries(g, f->kind == EFFECT_REFERENCE ? -1 : f->version);
    if (ev->kind == EV_EFFECT_DONE && f->kind == EFFECT_REFERENCE && ev->code == VERDICT_OK) {
        size_t n = strnlen(ev->hash, HASH_LEN);
        memcpy(g->facts.reference.hex, ev->hash, n);
        g->facts.reference.hex[n] = '\0';
    }
    if (ev->kind != EV_INTERRUPTED || ev->code == VERDICT_CANCELLED)
        return;
    if (ev->code == VERDICT_INFRA)
        (*(is_build(f->kind) ? &t->build_infra : &t->bench_infra))++;
    else
        (*(is_build(f->kind) ? &t->build_deaths : &t->bench_deaths))++;
}

void engine_fold(struct engine *g, const struct event *ev)
{
    switch ((unsigned)ev->kind) {
    case EV_EFFECT:
        fold_effect(g, ev);
        break;
    case EV_EFFECT_DONE:
    case EV_INTERRUPTED:
        fold_closed(g, ev);
        break;
    case EV_TRY:
        g->facts.infra_row = ev->code == VERDICT_INFRA ? g->facts.infra_row + 1 : 0;
        break;
    case EV_REOPENED: /* the fault may be mended: baseline and reference get their chances anew */
        *engine_tries(g, -1) = (struct tries){0};
        *engine_tries(g, 0) = (struct tries){0};
        g->facts.infra_row = 0;
        break;
    case EV_RESUMED:
        g->facts.infra_row = 0;
        break;
    default:
        break;
    }
    state_apply(g->s, ev);
}

/* ---- the batch --------------------------------------------------------------------------------
 */

/* Events after which the agent may have another answer. */
static bool concerns_agent(enum event_kind kind)
{
    return kind == EV_TRY || kind == EV_RECORD || kind == EV_VERSION || kind == EV_GOAL ||
           kind == EV_STEER || kind == EV_RESUMED || kind == EV_BASELINE || kind == EV_NOTE;
}

int64_t engine_add(struct engine *g, struct event ev)
{
    ev.seq = g->s->last_seq + 1;
    ev.time = clock_wall_ns();
    if (ev.time < g->s->last_time)
        ev.time = g->s->last_time; /* as the log does, so that both fold the same */
    ev.hash = xstrdup(ev.hash);
    ev.text = xstrdup(ev.text);
    ev.body = xstrdup(ev.body);
    VEC_ROOM(g->batch, g->nbatch, g->cap_batch);
    g->batch[g->nbatch++] = ev;
    engine_fold(g, &ev);
    if (concerns_agent(ev.kind))
        g->agent_waits = g->agent_finished = false;
    return ev.seq;
}

static char *text_of(struct engine *g, int64_t seq, bool body)
{
    for (size_t i = 0; i < g->nbatch; i++)
        if (g->batch[i].seq == seq)
            return xstrdup(body ? g->batch[i].body : g->batch[i].text);
    struct event ev;
    if (seq < 1 || !log_get(g->log, seq, &ev, NULL))
        return xstrdup("");
    char *text = xstrdup(body ? ev.body : ev.text);
    event_free_texts(&ev);
    return text;
}

char *engine_body(struct engine *g, int64_t seq)
{
    return text_of(g, seq, true);
}

char *engine_event_text(struct engine *g, int64_t seq)
{
    return text_of(g, seq, false);
}

static struct kept_blob *find_blob(struct engine *g, const char *hash)
{
    for (size_t i = 0; i < g->nblobs; i++) {
        if (strcmp(g->blobs[i]->name.hex, hash) == 0) {
            g->blobs[i]->used = ++g->blob_clock;
            return g->blobs[i];
        }
    }
    return NULL;
}

/* A place for one more: a free one, else that of the one not used for longest. */
static struct kept_blob *blob_place(struct engine *g)
{
    struct kept_blob *oldest = NULL;
    size_t kept = 0;
    for (size_t i = 0; i < g->nblobs; i++) {
        struct kept_blob *b = g->blobs[i];
        if (b->pending)
            continue;
        kept++;
        if (!oldest || b->used < oldest->used)
            oldest = b;
    }
    if (kept >= BLOBS_KEPT) {
        buf_free(&oldest->bytes);
        return oldest;
    }
    VEC_ROOM(g->blobs, g->nblobs, g->cap_blobs);
    return g->blobs[g->nblobs++] = xcalloc(1, sizeof **g->blobs);
}

struct hash engine_put_blob(struct engine *g, struct buf *b)
{
    struct hash name = hash_bytes(buf_str(b), b->len);
    if (find_blob(g, name.hex)) {
        buf_free(b);
        return name;
    }
    *blob_place(g) =
        (struct kept_blob){.name = name, .bytes = *b, .pending = true, .used = ++g->blob_clock};
    *b = (struct buf){0};
    return name;
}

const struct buf *engine_blob(struct engine *g, const char *hash)
{
    struct kept_blob *b = find_blob(g, hash);
    if (b)
        return &b->bytes;
    struct buf bytes = {0};
    struct error e = {0};
    if (!log_get_blob(g->log, hash, &bytes, &e)) {
        if (!g->fatal)
            g->fatal = xstrdup(e.msg);
        buf_free(&bytes);
        return NULL;
    }
    b = blob_place(g);
    *b = (struct kept_blob){.bytes = bytes, .used = ++g->blob_clock};
    snprintf(b->name.hex, sizeof b->name.hex, "%s", hash);
    return &b->bytes;
}

static void free_event(struct event *ev)
{
    const char *const texts[] = {ev->hash, ev->text, ev->body};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char *own;
        memcpy(&own, &texts[i], sizeof own); /* owned by the batch, const for everyone else */
        free(own);
    }
}

static void clear_batch(struct engine *g)
{
    for (size_t i = 0; i < g->nbatch; i++)
        free_event(&g->batch[i]);
    g->nbatch = g->ntaken = 0;
    for (size_t i = 0; i < g->nblobs; i++)
        g->blobs[i]->pending = false;
}

static bool write_batch(struct engine *g, struct error *e)
{
    log_begin(g->log);
    bool ok = true;
    for (size_t i = 0; ok && i < g->nblobs; i++) {
        struct hash name;
        const struct kept_blob *b = g->blobs[i];
        ok = !b->pending || log_put_blob(g->log, buf_str(&b->bytes), b->bytes.len, &name, e);
    }
    for (size_t i = 0; ok && i < g->nbatch; i++) {
        struct event ev = g->batch[i];
        ok = log_append(g->log, &ev, e);
        if (ok && ev.seq != g->batch[i].seq)
            ok = error_set(e, ERR_CORRUPT,
                           "%s: event %lld was written as %lld: another program "
                           "writes to this file",
                           g->path, (long long)g->batch[i].seq, (long long)ev.seq);
    }
    for (size_t i = 0; ok && i < g->ntaken; i++)
        ok = inbox_done(g->log, g->taken[i], e);
    if (ok)
        return log_commit(g->log, e);
    log_rollback(g->log);
    return false;
}

/* Full or locked: the batch stays, said once and in ID.live, tried again each second. */
static void trouble(struct engine *g, const struct error *e)
{
    if (!g->trouble_since) {
        g->trouble_since = clock_mono_ns();
        if (g->o->wake_fd < 0) /* no screen is in the way */
            fprintf(stderr,
                    "warploop: %s\nwarploop: the run waits; nothing is lost, it goes on by "
                    "itself once it can be written\n",
                    e->msg);
    }
    char *line = xasprintf("waits: %s", e->msg);
    engine_live(g, line);
    free(line);
    g->retry_at = clock_mono_ns() + RETRY_NS;
}

static void trouble_over(struct engine *g)
{
    char span[32], *text;
    clock_format_span(clock_mono_ns() - g->trouble_since, span, sizeof span);
    text = xasprintf("the log could not be written for %s; the run waited, nothing was lost", span);
    g->retry_at = g->trouble_since = 0;
    struct event ev = event_make(EV_FAULT);
    ev.code = ERR_FULL;
    ev.text = text;
    engine_add(g, ev);
    if (g->o->wake_fd < 0)
        fprintf(stderr, "warploop: %s\n", text);
    engine_live(g, "");
    free(text);
}

static void wake(const struct engine *g)
{
    uint64_t one = 1;
    if (g->o->wake_fd >= 0 && write(g->o->wake_fd, &one, sizeof one) < 0)
        return; /* full: the reader has not woken yet, which is as good */
}

bool engine_commit(struct engine *g)
{
    struct error e = {0};
    bool blobs = false;
    for (size_t i = 0; i < g->nblobs; i++)
        blobs = blobs || g->blobs[i]->pending;
    if (!g->nbatch && !g->ntaken && !blobs)
        return true;
    g->commits++;
    if (g->o->before_commit)
        g->o->before_commit(g->commits);
    if (write_batch(g, &e)) {
        clear_batch(g);
        wake(g);
        if (g->trouble_since)
            trouble_over(g);
        return true;
    }
    if (e.code == ERR_FULL || e.code == ERR_BUSY) {
        trouble(g, &e);
        return false;
    }
    g->broken = true;
    g->failure = e;
    return false;
}

void engine_log_free(struct engine *g)
{
    clear_batch(g);
    for (size_t i = 0; i < g->nblobs; i++) {
        buf_free(&g->blobs[i]->bytes);
        free(g->blobs[i]);
    }
    free(g->blobs);
    free(g->batch);
    free(g->taken);
    free(g->starts);
    free(g->facts.versions);
}
