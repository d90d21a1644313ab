/* Running the engine in tests: a run on task `tiny` with the back end that only pretends (see
 * tests/fake/fakeback.c), in a folder of its own. Failures abort with a message. */
#ifndef WARPLOOP_TESTS_SUPPORT_ENGINETEST_H
#define WARPLOOP_TESTS_SUPPORT_ENGINETEST_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/log/log.h"
#include "core/log/state.h"
#include "core/loop/engine.h"

/* Points WARPLOOP_HOME at `dir`, WARPLOOP_BACKEND_DIR at the fake back end (it lies beside this
 * program's folder; `real`: at the real one), and takes other settings away. */
void et_setup(const char *dir, bool real);

/* A new run; calls 0: no limit; target NaN is none. Caller frees. */
char *et_create(const char *agent, int jobs, int64_t calls);
char *et_create_task(const char *task, const char *agent, int jobs, int64_t calls);
/* A source for `tiny` that keeps the rules, with a marker ("FAKE_BENCH=wrong") and a number that
 * makes it differ from others. Caller frees. */
char *et_source(const char *marker, int number);
/* Hand it to the run through the inbox. */
void et_submit(const char *path, const char *name, const char *marker, int number);
void et_ask(const char *path, const char *kind, const char *text);

/* Drive to the end in this thread. */
enum engine_result et_run(const char *path);

/* An engine in a thread of its own. */
struct et_engine {
    pthread_t thread;
    sem_t up;
    const char *path;
    struct engine_opts o;
    int stop[2]; /* write bytes to stop[1] */
    enum engine_result result;
    struct error e;
    int64_t cpu_ns; /* of the thread, at its end */
};
/* Returns once the engine has started. */
void et_start(struct et_engine *g, const char *path);
void et_stop(struct et_engine *g, int bytes);
enum engine_result et_join(struct et_engine *g);

/* The state as the log has it. state_free. */
struct run_state *et_state(const char *path);
/* Wait at most ms until `ok` holds of the state. False: it did not come to that. */
bool et_wait(const char *path, bool (*ok)(const struct run_state *s), int ms);
/* How many events of a kind the log has whose text contains `text`. */
int et_count(const char *path, enum event_kind kind, const char *text);
/* The log keeps its invariants; aborts with what is wrong. */
void et_check(const char *path);

#endif
