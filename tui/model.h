/* What the panes show: a run as seen through its reader, the version that is looked at, and that
 * version's texts, loaded when it is chosen or when they come to be. No curses, no SQL. */
#ifndef WARPLOOP_TUI_MODEL_H
#define WARPLOOP_TUI_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/log/reader.h"

struct model {
    struct reader *reader;
    const struct run_state *s; /* the reader's; valid until the next poll */
    char *path, *name;         /* name: "kda-3" */
    bool read_only;

    bool driven; /* an engine holds the run now */
    int64_t pid;
    char host[128];
    char live[512]; /* what is being worked on, sanitised; "" unknown */
    int64_t now;    /* wall ns when last looked */

    int64_t selected; /* version looked at */
    bool newest;      /* it is to be the newest one */

    /* Of the selected version: */
    int64_t loaded, loaded_build, loaded_try; /* what the texts below were read from */
    unsigned generation;                      /* counts their changes */
    struct buf source, parent;                /* sanitised sources */
    int64_t parent_id;                        /* -1: none to compare with */
    struct json_doc result, build;            /* root NULL: absent */
    struct buf result_text, build_text;
    char why_no_source[300]; /* "" when there is one */
};

/* Open the run at path; fills *m. */
bool model_open(struct model *m, const char *path, struct error *e) WARN_UNUSED;
void model_close(struct model *m);

/* Read what is new. Returns events that came; -1 with *e set when the run could not be read now. */
int64_t model_poll(struct model *m, struct error *e);
/* Look at what changes without events: the clock, the driver, the live text. True when something
 * that is shown changed. */
bool model_tick(struct model *m);

/* Look at version id (clamped to those that exist), or at the newest from now on. */
void model_select(struct model *m, int64_t id);
void model_follow(struct model *m);

/* What the run is doing: "running", "paused", "ended: target met", "stopped", "engine died" ... */
enum model_state { MODEL_NEW, MODEL_RUNNING, MODEL_PAUSED, MODEL_STOPPED, MODEL_DIED, MODEL_ENDED };
enum model_state model_state(const struct model *m);
const char *model_state_text(const struct model *m, char *out, size_t size);

/* "+12.3 %" from a ratio, "" for NaN; "1.84x (1.82..1.86)"; "12.3 ms". Fixed buffers of 40. */
const char *put_change_text(double ratio, char out[40]);
const char *put_speedup_text(double x, double lo, double hi, char out[40]);
const char *put_time_text(double ns, char out[40]);

#endif
