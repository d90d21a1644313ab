/* Run state: a pure fold over events. No clock, no file, no randomness: the same events give the
 * same state, in any process, so an engine that died is continued by folding again.
 *
 * Lists are append-only and carry the seq at which each element came to be, so that an earlier
 * moment is a prefix. Texts that may be long are not kept: their seq is, and the reader fetches
 * them when they are shown. */
#ifndef WARPLOOP_LOG_STATE_H
#define WARPLOOP_LOG_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "core/log/event.h"

struct version {
    int64_t id, parent;       /* baseline 0, start 1, then 2, 3 ...; versions[i].id == i */
    int64_t seq;              /* of EV_VERSION */
    int64_t call;             /* tool call that made it, 0 for baseline and start */
    struct hash source, plan; /* plan "" until built */
    char *config;             /* moves and tunables ("chunkwise CHUNK=16") or a file name; owned */
    const char *strategy;     /* the name of one of `strategies`, or ""; borrowed from the state */
    double predicted;         /* gain the author predicted, NaN none */
    enum verdict build;       /* VERDICT_NONE until built */
    enum verdict verdict;     /* VERDICT_NONE until tried */
    int64_t build_seq;        /* of the EV_EFFECT_DONE of its last build, 0 */
    int64_t try_seq;          /* of EV_TRY, 0 */
    double speedup, lo, hi;   /* against the baseline, NaN when not timed */
    double gain;              /* against the incumbent of then, NaN */
    int64_t against;          /* that incumbent */
    bool record;
    int64_t time_ns; /* how long build and bench took together */
};

struct effect {
    int64_t id, version, seq, attempt;
    int64_t started; /* wall ns of the intent */
    enum effect_kind kind;
    struct hash input;
};

struct goal {
    int64_t id, seq;
    char *text;    /* owned */
    double target; /* speedup, NaN none */
    double hours;  /* budget, 0 = none */
    int64_t calls; /* budget, 0 = none */
};

struct steer {
    int64_t id, seq, seen; /* seen: seq of EV_STEER_SEEN or 0 */
};

/* What one strategy (or one switch of the search) has been worth so far; the ledger's summary. */
struct strategy {
    char *name; /* owned */
    int64_t tries, records, failed;
    double best, worst; /* gain against the incumbent of then, NaN */
    int64_t last_version;
};

struct run_state {
    int64_t last_seq, last_time, created;
    char *task, *parent_run; /* owned; parent_run NULL unless forked */
    int64_t forked_from;     /* version */
    struct hash task_hash;
    uint64_t seed;
    int jobs;
    int64_t engines;    /* how often an engine was started */
    int64_t driver_pid; /* of the last engine; whether it lives is log_driver's to say */
    char *driver_host;  /* owned, may be NULL */
    bool stopped;       /* the last engine said that it stopped */
    bool paused, ended;
    int pause_code;
    char *pause_cause; /* owned, may be NULL */
    enum end_reason reason;
    /* Time that engines were at work up to last_time, pauses and the time between engines left out.
     * Already holds the running stretch up to last_time: see state_active_ns. */
    int64_t active_ns;
    int64_t engine_start; /* wall ns at which the running engine began, 0 when it has stopped */

    struct version *versions;
    size_t nversions, cap_versions;
    struct effect *inflight;
    size_t ninflight, cap_inflight; /* intents without a result */
    struct goal *goals;
    size_t ngoals, cap_goals; /* the last one holds */
    struct steer *steers;
    size_t nsteers, cap_steers;
    struct strategy *strategies;
    size_t nstrategies, cap_strategies;
    int64_t *records;
    size_t nrecords, cap_records; /* versions in order */
    int64_t *says;
    size_t nsays, cap_says;                        /* seqs of SAY, TRY, STEER, NOTE,
                                                      RECORD, PAUSED ...: the lines of
                                                      the reasoning pane */
    int64_t ncalls, ncalls_done, neffects, nnotes; /* ever begun; neffects = highest effect id */
    int64_t incumbent;                             /* version, -1 until one is right and timed */
    double best, best_lo, best_hi;                 /* speedup of the incumbent, NaN */
    bool have_baseline;
    double baseline_ns, baseline_lo, baseline_hi, baseline_peak;
    int64_t baseline_seq;
    int64_t tries_since_record;
    int64_t unknown; /* events of kinds this program does not know, and impossible ones */

    struct state_index *index; /* plan and config to version; state.c's own */
};

struct run_state *state_new(void);
void state_free(struct run_state *s);
/* Apply one event (its texts are copied where kept). Never fails: impossible events (a record of a
 * version that does not exist) are counted as unknown and skipped. */
void state_apply(struct run_state *s, const struct event *ev);

/* Time at work including what has passed since the last event, when an engine is running and not
 * paused (now: wall ns, clock_wall_ns). */
int64_t state_active_ns(const struct run_state *s, int64_t now);

/* NULL when there is no such version. */
const struct version *state_version(const struct run_state *s, int64_t id);
const struct goal *state_goal(const struct run_state *s); /* the current one or NULL */
const struct effect *state_effect(const struct run_state *s, int64_t id); /* in flight, or NULL */
/* First version tried with verdict (ok, screened, wrong ...) whose plan hash is this; -1 none. */
int64_t state_find_plan(const struct run_state *s, const char *plan);
int64_t state_find_config(const struct run_state *s, const char *config); /* -1 none */
/* A canonical text of everything that must be equal after a crash and resume (no times, pids,
 * hosts, durations, seqs, effect numbers, engine counts): what the crash test compares. One fact a
 * line; lines that hold what was measured (speedups, the baseline, the records that follow from
 * them) begin with "~ ", so that a test with a real clock can leave them out. Caller frees. */
char *state_canonical(const struct run_state *s);

#endif
