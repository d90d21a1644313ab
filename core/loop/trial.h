/* A kernel judged outside any run: what the engine does with a version (rules, build, check, time
 * against the baseline), with no log. Blocks until done; has its own build and bench processes,
 * which go with trials_free. */
#ifndef WARPLOOP_LOOP_TRIAL_H
#define WARPLOOP_LOOP_TRIAL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/log/event.h"
#include "core/task/task.h"

/* What goes on: "build", "check", "time" ...; done of `of` (both 0: unknown). Foreign text. */
typedef void trial_progress_fn(void *ctx, const char *stage, int64_t done, int64_t of,
                               const char *text);

struct trial_opts {
    const char *jail; /* "auto" or "none" */
    bool screen;      /* the quick form: two process sets, and less for what is clearly slower */
    int stop_fd;      /* readable: kill the children, ERR_CANCELLED; -1 */
    trial_progress_fn *progress; /* may be NULL */
    void *ctx;
};

struct trial {
    enum verdict verdict;  /* never NONE */
    char *message;         /* "" or what was found; foreign text within */
    int line;              /* of the source, for a broken rule; else 0 */
    cJSON *build, *result; /* the replies, NULL when it did not come to that */
    int64_t ns;            /* all of it took */
};

struct trials;

/* Builds the task's baseline and reference. Borrows t and o. NULL: *e says why. */
struct trials *trials_new(const struct task *t, const struct trial_opts *o, struct error *e);
void trials_free(struct trials *s);

/* One kernel. Whatever is wrong with it is a verdict; false only when stopped. *out is to be freed
 * with trial_free. An `infra` has been tried twice. */
bool trials_run(struct trials *s, const char *source, size_t n, struct trial *out,
                struct error *e) WARN_UNUSED;
/* The baseline alone, checked and timed in one process set: its shapes stand in out->result. One
 * attempt; false only when stopped. */
bool trials_baseline(struct trials *s, struct trial *out, struct error *e) WARN_UNUSED;
void trial_free(struct trial *t);

#endif
