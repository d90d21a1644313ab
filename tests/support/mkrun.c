#include "tests/support/mkrun.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/mem.h"

#define SECOND INT64_C(1000000000)
#define EPOCH  (INT64_C(1780000000) * SECOND)

/* A number in 0..1 that depends on the call and a salt alone. */
static double chance(int64_t call, uint64_t salt)
{
    return (double)(hash_mix((uint64_t)call, salt) >> 11) / 9007199254740992.0;
}

static uint64_t pick(int64_t call, uint64_t salt, uint64_t n)
{
    return hash_mix((uint64_t)call, salt) % n;
}

static const char *const strategies[] = {"chunkwise", "residual", "vblock",    "intrinsics",
                                         "fused",     "packed",   "CHUNK",     "VBLOCK",
                                         "UNROLL",    "prefetch", "transpose", "blocked-state"};
static const char *const words[] = {
    "state",  "decay", "chunk",  "loads",    "stores", "vector",   "port",       "latency",
    "cache",  "spill", "unroll", "register", "gate",   "residual", "triangular", "solve",
    "hidden", "bound", "reuse",  "block",    "fused",  "traffic",  "halves",     "doubles"};

static void add_words(struct buf *b, int64_t call, uint64_t salt, int n)
{
    for (int i = 0; i < n; i++)
        buf_addf(b, "%s%s", i ? " " : "", words[pick(call, salt + (uint64_t)i, ARRAY_LEN(words))]);
}

static void add_source(struct buf *b, int64_t call, size_t bytes)
{
    buf_addf(b, "/* kernel of call %lld */\n#include \"kda.h\"\n", (long long)call);
    for (uint64_t i = 0; b->len < bytes; i++)
        buf_addf(b, "    s%u = fmaf(k[%u], v[%u * %u + j], s%u * expf(g[%u])); /* %s */\n",
                 (unsigned)pick((int64_t)i, 1, 16), (unsigned)pick((int64_t)i, 2, 128),
                 (unsigned)pick((int64_t)i + call % 7, 3, 64), (unsigned)pick(call, i, 100) + 1,
                 (unsigned)pick((int64_t)i, 5, 16), (unsigned)pick((int64_t)i, 6, 128),
                 words[pick((int64_t)i, 7, ARRAY_LEN(words))]);
}

/* Machine code packs to about two fifths: every third eight bytes are of their own. */
static void add_object(struct buf *b, int64_t call, size_t bytes)
{
    for (uint64_t i = 0; i < bytes / 8; i++) {
        uint64_t w = i % 3 == 0 ? hash_mix((uint64_t)call, i) : hash_mix(i % 97, 4);
        buf_add(b, &w, sizeof w);
    }
}

static void add_build_reply(struct buf *b, int64_t call, const char *object)
{
    buf_addf(
        b,
        "{\"type\":\"built\",\"verdict\":\"ok\",\"message\":\"\",\"line\":0,\"command\":\"gcc "
        "-std=gnu11 -O3 -march=native -fno-fast-math -fno-plt -ffp-contract=fast -fPIC -shared "
        "-nostartfiles -Wall -o out.so kernel.c shim.c -lm\",\"compiler\":\"gcc (Debian "
        "12.2.0-14) 12.2.0\",\"jail\":\"bwrap (user, pid, net, mount namespaces), seccomp\","
        "\"seconds\":%.4f,\"object\":\"%s\",\"mix\":{\"instructions\":%d,\"vector512\":%d,"
        "\"vector256\":%d,\"vector128\":%d,\"fma\":%d,\"loads\":%d,\"stores\":%d,\"branches\":"
        "%d,\"stack\":%d,\"calls\":%d},\"log\":\"",
        0.2 + chance(call, 20), object, (int)pick(call, 21, 4000), (int)pick(call, 22, 900),
        (int)pick(call, 23, 300), (int)pick(call, 24, 100), (int)pick(call, 25, 600),
        (int)pick(call, 26, 700), (int)pick(call, 27, 300), (int)pick(call, 28, 90),
        (int)pick(call, 29, 60), (int)pick(call, 30, 9));
    for (uint64_t i = 0; i < pick(call, 31, 8); i++)
        buf_addf(b, "kernel.c:%d:%d: warning: unused variable 's%d' [-Wunused-variable]\\n",
                 (int)pick(call, 32 + i, 300), (int)pick(call, 33 + i, 60), (int)i);
    buf_adds(b, "\"}");
}

static void add_bench_result(struct buf *b, int64_t call, double speedup)
{
    static const char *const shapes[] = {"t1024h4", "t2048h2", "t4096h1", "t512h8"};
    static const char *const counters[] = {
        "page-faults",  "context-switches", "user-seconds", "instructions", "cycles",
        "cache-misses", "branch-misses",    "l1d-loads",    "max-rss",      "vector-share"};
    buf_addf(
        b,
        "{\"type\":\"result\",\"verdict\":\"ok\",\"message\":\"\",\"speedup\":%.9g,\"lo\":%.9g,"
        "\"hi\":%.9g,\"record\":false,\"sets\":5,\"level\":0.9998,\"shapes\":[",
        speedup, speedup * 0.99, speedup * 1.01);
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        buf_addf(b,
                 "%s{\"name\":\"%s\",\"speedup\":%.9g,\"gain\":%.9g,\"ns\":%.1f,\"ns_spread\":%.2f,"
                 "\"baseline_ns\":%.1f,\"incumbent_ns\":%.1f,\"gflops\":%.5f,\"peak_share\":%.5f}",
                 i ? "," : "", shapes[i], speedup * (0.9 + chance(call, 40 + i) / 5),
                 0.9 + chance(call, 50 + i) / 5, 2e7 + 1e7 * chance(call, 60 + i),
                 1e5 * chance(call, 70 + i), 5e7 + 1e6 * chance(call, 80 + i),
                 2e7 + 1e7 * chance(call, 90 + i), 30 * chance(call, 100 + i),
                 chance(call, 110 + i));
    buf_adds(b,
             "],\"errors\":{\"o\":{\"ratio\":0.031,\"limit\":0.0001,\"baseline\":2.1e-06},\"s\":{"
             "\"ratio\":0.027,\"limit\":0.0001,\"baseline\":1.9e-06}},\"counters\":[");
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        buf_addf(b,
                 "%s{\"name\":\"%s\",\"unit\":\"1/call\",\"value\":%.6g,\"baseline\":%.6g,"
                 "\"incumbent\":%.6g}",
                 i ? "," : "", counters[i], 1e6 * chance(call, 120 + i),
                 1e6 * chance(call, 130 + i), 1e6 * chance(call, 140 + i));
    buf_addf(b,
             "],\"machine\":{\"cpu\":\"Intel(R) Xeon(R) Processor @ 2.10GHz\",\"flags\":\"avx2 "
             "fma avx512f avx512vl\",\"peak_gflops\":67.2,\"core\":1,\"jail\":\"bwrap, seccomp\","
             "\"clock\":\"window (CLOCK_MONOTONIC, exit of the child)\",\"calibration_ns\":412345},"
             "\"seconds\":%.4f}",
             1 + chance(call, 150));
}

/* What one call is about to write, and the log it goes to. */
struct writer {
    struct log *log;
    struct error *e;
    int64_t time;
    int at, of, commits; /* event number in the call, how many there are, batches wanted */
    bool ok;
};

static void put(struct writer *w, struct event ev)
{
    w->time += SECOND / 20;
    ev.time = w->time;
    w->ok = w->ok && log_append(w->log, &ev, w->e);
    w->at++;
    if (w->ok && w->commits > 1 && w->at % (w->of / w->commits) == 0 && w->at < w->of) {
        w->ok = log_commit(w->log, w->e);
        log_begin(w->log);
    }
}

static void put_say(struct writer *w, int64_t call, uint64_t salt, int64_t version)
{
    struct buf b = {0};
    struct event ev = event_make(EV_SAY);
    add_words(&b, call, salt, 8 + (int)pick(call, salt, 12));
    ev.text = buf_str(&b);
    ev.ref = version;
    put(w, ev);
    buf_free(&b);
}

static void put_effect(struct writer *w, int64_t id, enum effect_kind kind, int64_t version,
                       const char *input, const char *output, const char *body)
{
    struct event ev = event_make(EV_EFFECT);
    ev.id = id;
    ev.code = kind;
    ev.ref = version;
    ev.n = 1;
    ev.hash = input;
    put(w, ev);
    ev = event_make(EV_EFFECT_DONE);
    ev.id = id;
    ev.code = VERDICT_OK;
    ev.ref = version;
    ev.n = SECOND / 3;
    ev.hash = output;
    ev.body = body;
    put(w, ev);
}

/* The opening of a call: the call, its version and strategy. */
static void put_call(struct writer *w, int64_t call, int64_t version, const char *source)
{
    struct buf text = {0}, body = {0};
    const char *strategy = strategies[pick(call, 8, ARRAY_LEN(strategies))];
    struct event ev = event_make(EV_CALL);
    add_words(&text, call, 200, 14);
    buf_addf(&body, "{\"strategy\":\"%s\",\"agent\":\"tuner\"}", strategy);
    ev.id = call;
    ev.code = TOOL_SUBMIT;
    ev.ref = version;
    ev.text = buf_str(&text);
    ev.body = buf_str(&body);
    put(w, ev);
    buf_clear(&text);
    buf_addf(&text, "chunkwise residual vblock CHUNK=%d VBLOCK=%d TRY=%lld", 8 << pick(call, 9, 3),
             16 << pick(call, 10, 3), (long long)call);
    ev = event_make(EV_VERSION);
    ev.id = version;
    ev.ref = version - 1;
    ev.n = call;
    ev.hash = source;
    ev.text = buf_str(&text);
    ev.body = buf_str(&body);
    put(w, ev);
    ev = event_make(EV_STRATEGY);
    ev.id = version;
    ev.text = strategy;
    ev.x = 1.1;
    put(w, ev);
    buf_free(&text);
    buf_free(&body);
}

static void put_outcome(struct writer *w, int64_t call, int64_t version, const char *plan,
                        double speedup, const char *body)
{
    struct event ev = event_make(EV_TRY);
    ev.id = version;
    ev.code = VERDICT_OK;
    ev.x = speedup;
    ev.lo = speedup * 0.99;
    ev.hi = speedup * 1.01;
    ev.y = 0.9 + chance(call, 11) / 5;
    ev.ref = version - 1;
    ev.n = SECOND;
    ev.hash = plan;
    ev.text = "clearly measured, nothing of note";
    ev.body = body;
    put(w, ev);
    ev.kind = call % 20 == 1 ? EV_RECORD : EV_SAY;
    ev.hash = ev.body = "";
    put(w, ev);
    ev = event_make(EV_CALL_DONE);
    ev.id = call;
    ev.ref = version;
    ev.code = VERDICT_OK;
    ev.n = 2 * SECOND;
    put(w, ev);
}

bool mkrun_call(struct log *log, int64_t call, const struct mkrun_opts *o, struct error *e)
{
    struct writer w = {.log = log,
                       .e = e,
                       .time = EPOCH + call * 2 * SECOND,
                       .of = 20,
                       .commits = o->commits,
                       .ok = true};
    struct buf source = {0}, object = {0}, build = {0}, result = {0};
    struct hash src, obj = {""};
    int64_t version = call + 1;
    double speedup = 1 + 2 * chance(call, 12);
    add_source(&source, call, o->source_bytes ? o->source_bytes : 6000);
    add_object(&object, call, o->object_bytes);
    w.ok = log_put_blob(log, source.s, source.len, &src, e);
    put_call(&w, call, version, src.hex);
    for (uint64_t i = 0; i < 5; i++)
        put_say(&w, call, 300 + 20 * i, version);
    if (w.ok && o->object_bytes)
        w.ok = log_put_blob(log, object.s, object.len, &obj, e);
    else
        obj = hash_bytes(&call, sizeof call);
    if (o->small_bodies)
        buf_addf(&build, "{\"verdict\":\"ok\",\"seconds\":%.4f}", 0.2 + chance(call, 20));
    else
        add_build_reply(&build, call, obj.hex);
    put_effect(&w, 2 * call + 1, EFFECT_BUILD, version, src.hex, obj.hex, buf_str(&build));
    put_say(&w, call, 500, version);
    if (o->small_bodies)
        buf_addf(&result, "{\"verdict\":\"ok\",\"speedup\":%.6g,\"sets\":5}", speedup);
    else
        add_bench_result(&result, call, speedup);
    put_effect(&w, 2 * call + 2, EFFECT_BENCH, version, obj.hex, "", buf_str(&result));
    put_outcome(&w, call, version, obj.hex, speedup, buf_str(&result));
    for (uint64_t i = 0; i < 4; i++)
        put_say(&w, call, 600 + 20 * i, version);
    buf_free(&source);
    buf_free(&object);
    buf_free(&build);
    buf_free(&result);
    return w.ok;
}

static void put_version(struct writer *w, int64_t id, const char *source, const char *text)
{
    struct event ev = event_make(EV_VERSION);
    ev.id = id;
    ev.hash = source;
    ev.text = text;
    put(w, ev);
}

bool mkrun_begin(struct log *log, struct error *e)
{
    struct writer w = {.log = log, .e = e, .time = EPOCH, .of = 8, .ok = true};
    struct hash task = {""}, src = {""};
    w.ok = log_put_blob(log, "{\"schema\":1,\"name\":\"kda\"}", 25, &task, e) &&
           log_put_blob(log, "/* plain */\n", 12, &src, e);
    struct event ev = event_make(EV_RUN_CREATED);
    ev.text = "kda";
    ev.hash = task.hex;
    ev.n = 42;
    ev.code = 2;
    ev.body = "{\"backend\":\"c\",\"agent\":\"tuner\"}";
    put(&w, ev);
    ev = event_make(EV_GOAL);
    ev.id = 1;
    ev.text = "make the kernel at least three times as fast as the baseline";
    ev.x = 3;
    ev.lo = 8;
    put(&w, ev);
    put_version(&w, 0, src.hex, "baseline");
    put_version(&w, 1, src.hex, "start");
    ev = event_make(EV_ENGINE_STARTED);
    ev.id = 1;
    ev.n = 1234;
    ev.text = "host";
    put(&w, ev);
    ev = event_make(EV_EFFECT);
    ev.id = 1;
    ev.code = EFFECT_BASELINE;
    ev.n = 1;
    ev.hash = src.hex;
    put(&w, ev);
    ev = event_make(EV_EFFECT_DONE);
    ev.id = 1;
    ev.code = VERDICT_OK;
    ev.n = SECOND;
    put(&w, ev);
    ev = event_make(EV_BASELINE);
    ev.x = 5e7;
    ev.lo = 4.9e7;
    ev.hi = 5.1e7;
    ev.y = 0.18;
    put(&w, ev);
    return w.ok;
}

bool mkrun(const char *path, const struct mkrun_opts *o, struct mkrun_stats *stats, struct error *e)
{
    struct log *log = log_create(path, e);
    if (!log)
        return false;
    log_begin(log);
    bool ok = mkrun_begin(log, e) && log_commit(log, e);
    int64_t calls = o->events ? (o->events + 19) / 20 : o->calls;
    int64_t every = o->commits ? 1 : 100, before = log_commits(log);
    int64_t cpu = clock_thread_cpu_ns(), wall = clock_mono_ns();
    log_begin(log);
    for (int64_t call = 1; ok && call <= calls; call++) {
        ok = mkrun_call(log, call, o, e);
        if (ok && (call % every == 0 || call == calls)) {
            ok = log_commit(log, e);
            log_begin(log);
        }
    }
    log_rollback(log);
    if (stats)
        *stats = (struct mkrun_stats){.events = log_last_seq(log),
                                      .calls = calls,
                                      .versions = calls + 2,
                                      .commits = log_commits(log) - before,
                                      .cpu_ns = clock_thread_cpu_ns() - cpu,
                                      .wall_ns = clock_mono_ns() - wall};
    log_close(log);
    return ok;
}
