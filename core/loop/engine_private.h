/* Inside of the engine: what its parts share. engine.c has the loop, engine_log.c the batch of
 * events that the next commit writes, engine_effects.c what the children are asked and answer,
 * engine_judge.c verdicts, engine_propose.c new versions, engine_inbox.c what people ask for.
 *
 * How it stays restartable: everything that happens is an event, added to the batch and folded into
 * the state at once; effects that the batch begins are started only after its commit. When a commit
 * cannot be made (disk full), the batch is kept and nothing is started until it could. */
#ifndef WARPLOOP_LOOP_ENGINE_PRIVATE_H
#define WARPLOOP_LOOP_ENGINE_PRIVATE_H

#include "core/log/live.h"
#include "core/log/log.h"
#include "core/log/state.h"
#include "core/loop/agent.h"
#include "core/loop/backend.h"
#include "core/loop/engine.h"
#include "core/loop/next.h"
#include "core/task/spec.h"

#define TEXT_KEEP      2000               /* bytes of a message kept in an event's text */
#define LOG_KEEP       ((size_t)16 << 10) /* of compiler output kept in a body */
#define SOURCE_MAX     ((size_t)1 << 20)
#define BLOBS_KEPT     16
#define INFRA_IN_A_ROW 3
#define DEATHS_MAX     8 /* a version whose effect died with its engine so often is given up */

/* How often a version's effects were begun and failed through no fault of its own. */
struct tries {
    int builds, benches;            /* begun */
    int build_infra, bench_infra;   /* ended as infra */
    int build_deaths, bench_deaths; /* died with their engine */
};

/* What the engine must know beyond the run state, folded from the same events. */
struct facts {
    struct hash reference; /* object of the reference; "" until built */
    struct tries ref;
    struct tries *versions;
    size_t n, cap;
    int infra_row; /* versions in a row that ended as infra, since the last resume */
};

/* A blob in memory: on its way to the log, or kept because it is needed again and again. */
struct kept_blob {
    struct hash name;
    struct buf bytes;
    bool pending;
    int64_t used;
};

/* What every evaluation of a run asks alike: shapes, families, limits. Made once. */
struct eval_text {
    char *rest; /* of the JSON line, from after id, seed and parts to its end; NULL until made */
    int64_t timeout_ms;
};

struct engine {
    const struct engine_opts *o;
    const char *path;
    struct log *log;
    struct live *live;
    struct task *task;
    struct agent agent;
    struct backend *be;
    struct run_state *s;
    struct facts facts;
    char *agent_name;
    struct eval_text full, baseline;

    /* the batch of the next commit */
    struct event *batch; /* texts owned */
    size_t nbatch, cap_batch;
    int64_t *taken; /* inbox commands that it answers */
    size_t ntaken, cap_taken;
    int64_t last_taken;
    int64_t *starts; /* effects to start once it is committed */
    size_t nstarts, cap_starts;
    int64_t commits;

    struct kept_blob **blobs; /* pointers, so that borrowed bytes stay where they are */
    size_t nblobs, cap_blobs;
    int64_t blob_clock;

    bool agent_waits, agent_finished;
    char *agent_why; /* why it has finished, when it said so; else NULL */
    bool inbox_seen; /* looked at since the start */
    int stops;       /* 1: at the next safe point, 2: at once */
    int stop_fd;     /* -1 when it has ended */
    const char *stop_why;
    bool leaving; /* ENGINE_STOPPED is in the batch or the log */
    enum engine_result result;
    char *fatal; /* the run cannot go on: it ends as an error with this message */
    bool broken; /* the log cannot be written: the engine ends with `failure` */
    struct error failure;
    int64_t retry_at; /* monotonic ns of the next try to commit; 0: no trouble */
    int64_t trouble_since;
    int notify_fd; /* inotify on the run's file; -1 */
};

/* ---- engine_log.c -------------------------------------------------------------------------- */
/* Add an event to the batch (texts are copied) and to the state. Fills nothing else. Returns seq.
 */
int64_t engine_add(struct engine *g, struct event ev);
/* Fold one event that comes from the log. */
void engine_fold(struct engine *g, const struct event *ev);
/* Bytes under their hash, written with the next commit. Takes *b. */
struct hash engine_put_blob(struct engine *g, struct buf *b);
/* Bytes of a blob, borrowed until a few other blobs were asked for; NULL: g->fatal is set. */
const struct buf *engine_blob(struct engine *g, const char *hash);
/* Body of the event `seq`, from the batch or the log; "" when it cannot be read. Caller frees. */
char *engine_body(struct engine *g, int64_t seq);
/* Its text, likewise. */
char *engine_event_text(struct engine *g, int64_t seq);
/* Write the batch. False: kept for later (g->retry_at) or g->broken. */
bool engine_commit(struct engine *g);
void engine_log_free(struct engine *g);
struct tries *engine_tries(struct engine *g, int64_t version); /* -1: the reference's */

/* ---- engine_effects.c ---------------------------------------------------------------------- */
/* Begin an effect: intent in the batch, to be started after the commit. */
void engine_begin(struct engine *g, enum effect_kind kind, int64_t version);
/* Begin the reference's build; false: it is in flight. */
bool engine_begin_reference(struct engine *g);
/* Give every effect in g->starts to the back end. */
void engine_start_effects(struct engine *g);
/* Effects that an engine which died has left: marked and so open to be repeated. */
void engine_recover(struct engine *g);
/* backend_fn */
void engine_news(void *ctx, const struct backend_event *ev);
/* Kill what version's effect does now; closes it as cancelled. False: nothing was in flight. */
bool engine_cancel(struct engine *g, int64_t effect, const char *why);
void engine_interrupt_all(struct engine *g, const char *why);
void engine_live(struct engine *g, const char *text);
/* A reply as it is stored: long texts cut, what only the wire needs taken out of `head`. Caller
 * frees. */
char *engine_reply_body(cJSON *head);

/* ---- engine_judge.c ------------------------------------------------------------------------ */
/* Close a version without a measurement of its own: its build failed or its plan is known. */
void engine_judge(struct engine *g, int64_t version);
/* The bench's answer about a version or the baseline. `verdict` is the engine's reading of it. */
void engine_judge_bench(struct engine *g, int64_t version, enum verdict verdict, cJSON *result,
                        const char *message, int64_t ns);
bool engine_take_baseline(struct engine *g, cJSON *result, struct error *e);

/* ---- engine_propose.c ---------------------------------------------------------------------- */
void engine_propose(struct engine *g);
/* All steers are seen by the version about to be made: an outside agent has read them itself. */
void engine_see_steers(struct engine *g);
bool engine_is_outside(const struct engine *g);
/* Add the events of a new version; takes *p. Returns its number. */
int64_t engine_new_version(struct engine *g, struct proposal *p, const char *author);

/* ---- engine_inbox.c ------------------------------------------------------------------------ */
void engine_inbox(struct engine *g);
void engine_pause(struct engine *g, int code, const char *cause);

/* ---- create.c ------------------------------------------------------------------------------ */
/* The task that a run was made for, still as it was measured with. Agent's name to *agent. */
struct task *engine_task(struct log *log, const struct run_state *s, char **agent, struct error *e);

/* ---- small things -------------------------------------------------------------------------- */
/* At most n bytes of foreign text, cut at a character, invalid UTF-8 replaced. Caller frees. */
char *engine_text(const char *s, size_t n);

#endif
