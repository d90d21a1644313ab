/* The kinds of event and what each one's columns mean.
 *
 * An event is one row of a run's log: append-only, never changed. The run's state is a fold over
 * these rows and nothing else (core/log/state.h), so everything the fold needs stands in columns;
 * `body` is JSON that is read only to be shown. Kinds are only ever added at the end; a reader
 * skips and counts those it does not know.
 *
 * Columns:  id    the thing the event is about (version, effect, steer, goal number ...)
 *           ref   another thing it refers to (parent version, effect's version ...)
 *           code  a small enum (verdict, effect kind, reason ...)
 *           n     a whole number (seed, nanoseconds, budget ...)
 *           x, lo, hi, y   real numbers (NaN = absent, stored as NULL)
 *           hash  a blob's or plan's SHA-256, or ""
 *           text  short text (up to some KB), or ""
 *           body  JSON for display, or ""
 */
#ifndef WARPLOOP_LOG_EVENT_H
#define WARPLOOP_LOG_EVENT_H

#include <math.h>
#include <stdint.h>

/* A real number that is not there (clang dislikes the float that NAN is where a double stands). */
#define NO_REAL ((double)NAN)

/* X(ID, "name", what its columns mean) */
#define EVENT_KINDS(X)                                                                             \
    X(RUN_CREATED, "run-created",                                                                  \
      "text: task; hash: task.json; n: seed; code: jobs; body: {backend, agent, run, host, "       \
      "version}")                                                                                  \
    X(FORKED, "forked", "text: parent run; ref: version forked from; n: last copied seq")          \
    X(ENGINE_STARTED, "engine-started",                                                            \
      "id: how many-th; n: pid; text: host; body: {machine, compiler, cpu, jail, warploop}")       \
    X(ENGINE_STOPPED, "engine-stopped", "id: as started; text: why (left, stop, budget ...)")      \
    X(GOAL, "goal",                                                                                \
      "id: goal number from 1; text: the goal; x: target speedup (NaN none); "                     \
      "lo: budget hours; n: budget tool calls; body: {author}")                                    \
    X(PAUSED, "paused", "text: author or cause; code: 1 by a person, 2 disk full, 3 fault")        \
    X(RESUMED, "resumed", "text: author")                                                          \
    X(STEER, "steer", "id: number; text: the message; body: {author}")                             \
    X(STEER_SEEN, "steer-seen", "id: number; ref: version about to be made")                       \
    X(SAY, "say", "one line of the agent's reasoning; text; ref: version or 0")                    \
    X(NOTE, "note", "id: number; text; body: {author}")                                            \
    X(CALL, "call",                                                                                \
      "a tool call begins: id: call number; code: enum tool; ref: version it makes or 0; "         \
      "text: hypothesis; hash: \"\"; body: {strategy, ...}")                                       \
    X(VERSION, "version",                                                                          \
      "id: version (baseline 0, start 1, then up); ref: parent; hash: source blob; "               \
      "text: configuration or file name; n: call; body: {strategy, hypothesis, prediction, "       \
      "author}")                                                                                   \
    X(STRATEGY, "strategy", "id: version; text: strategy name; x: predicted gain (NaN none)")      \
    X(EFFECT, "effect",                                                                            \
      "intent, committed before it starts: id: effect number; code: enum effect_kind; "            \
      "ref: version; n: attempt from 1; hash: its input (source or plan)")                         \
    X(EFFECT_DONE, "effect-done",                                                                  \
      "result, committed before anything uses it: id; code: enum verdict; ref: version; "          \
      "n: duration ns; hash: produced blob (plan) or \"\"; text: message; body: full reply")       \
    X(INTERRUPTED, "interrupted", "id: effect that died with its engine; ref: version; text: why") \
    X(BASELINE, "baseline",                                                                        \
      "x: geomean ns of the scored shapes; lo, hi: spread; y: share of peak; body: per shape")     \
    X(TRY, "try",                                                                                  \
      "outcome of a version, from a bench record: id: version; code: enum verdict; "               \
      "x: speedup against baseline (NaN when not timed); lo, hi: its interval; y: gain against "   \
      "the incumbent; ref: incumbent then; n: duration ns; hash: plan; text: message; "            \
      "body: the bench's result")                                                                  \
    X(RECORD, "record", "id: version, the incumbent from here on; x, lo, hi: speedup; y: gain")    \
    X(CALL_DONE, "call-done", "id: call; ref: version; code: enum verdict; n: duration ns")        \
    X(ENDED, "ended", "code: enum end_reason; text: one line")                                     \
    X(REOPENED, "reopened", "an ended run goes on: text: author or cause")                         \
    X(FAULT, "fault", "something of ours or the machine's failed: text; code: enum error_code")

enum event_kind {
    EV_NONE = 0,
#define X(id, name, doc) EV_##id,
    EVENT_KINDS(X)
#undef X
        EV_COUNT
};

/* What became of a candidate (DESIGN section 3). Stored as numbers: only ever added at the end. */
#define VERDICTS(X)                                                                                \
    X(NONE, "none")                                                                                \
    X(OK, "ok")                                                                                    \
    X(SCREENED, "screened")                                                                        \
    X(RULE, "rule")                                                                                \
    X(BUILD, "build")                                                                              \
    X(LAUNCH, "launch")                                                                            \
    X(FAULT, "fault")                                                                              \
    X(TIMEOUT, "timeout")                                                                          \
    X(WRONG, "wrong")                                                                              \
    X(INACCURATE, "inaccurate")                                                                    \
    X(IMPLAUSIBLE, "implausible")                                                                  \
    X(INFRA, "infra")                                                                              \
    X(CANCELLED, "cancelled")                                                                      \
    X(SAME, "same") /* an identical plan: the stored result of another version holds */            \
    X(DEAD, "dead") /* strategy measured dead on this base: answered with its evidence */

enum verdict {
#define X(id, name) VERDICT_##id,
    VERDICTS(X)
#undef X
        VERDICT_COUNT
};

enum effect_kind { EFFECT_NONE, EFFECT_BUILD, EFFECT_BENCH, EFFECT_BASELINE, EFFECT_REFERENCE };
enum tool { TOOL_NONE, TOOL_SUBMIT, TOOL_PROFILE, TOOL_NOTE, TOOL_FINISH };
enum end_reason { END_NONE, END_TARGET_MET, END_BUDGET, END_STALLED, END_STOPPED, END_ERROR };

/* One event. The texts are NUL-terminated and never NULL; who owns them is said by the function
 * that hands the event over. */
struct event {
    int64_t seq;  /* from 1; 0 before it is appended */
    int64_t time; /* wall clock, ns since the epoch */
    enum event_kind kind;
    int code;
    int64_t id, ref, n;
    double x, lo, hi, y; /* NaN = absent */
    const char *hash, *text, *body;
};

/* An event of a kind with everything else empty (numbers NaN, texts ""). */
struct event event_make(enum event_kind kind);

const char *event_kind_name(enum event_kind kind); /* "run-created"; "?" for an unknown number */
const char *verdict_name(enum verdict v);
enum verdict verdict_of(const char *name);      /* VERDICT_NONE when unknown */
const char *end_reason_name(enum end_reason r); /* "target met", "budget" ... */
const char *effect_name(enum effect_kind k);    /* "build", "bench" ... */

#endif
