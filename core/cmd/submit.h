/* Kernels handed to a run: shared by `warploop submit`, its batches, bench and the demo. */
#ifndef WARPLOOP_CMD_SUBMIT_H
#define WARPLOOP_CMD_SUBMIT_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/cmd/cmd.h"
#include "core/cmd/view.h"

enum submission_status {
    SUBMISSION_NEW,     /* handed to the run by this command */
    SUBMISSION_PENDING, /* was in the run's inbox already */
    SUBMISSION_KNOWN,   /* is a version already */
    SUBMISSION_TWIN,    /* has the source of another of the same batch */
};

struct submission {
    char *file, *why, *strategy; /* owned */
    int64_t parent;              /* the version it was made from; -1: the best when it is taken */
    struct buf source;
    struct hash hash; /* of the source */
    enum submission_status status;
    int64_t after;   /* the version that it becomes is above this one ... */
    int64_t version; /* ... and known to be this; -1 as long as there is none */
};

/* A kernel's source; ERR_INPUT when it is empty, holds a NUL or is over 1 MiB. */
bool kernel_read(const char *file, struct buf *out, struct error *e) WARN_UNUSED;

/* Read the file; texts are copied. ERR_INPUT also when the whole is more than a request may hold.
 * Free with submission_free, also after a failure. */
bool submission_read(struct submission *s, const char *file, const char *why, const char *strategy,
                     int64_t parent, struct error *e) WARN_UNUSED;
void submission_free(struct submission *s);
/* The text of the "submit" request in the inbox; caller frees. */
char *submission_request(const struct submission *s);

/* The newest version above s->after that carries its source, or -1. */
int64_t submission_find(const struct run_state *st, const struct submission *s);
/* Wait until all have their verdicts, at most so long. False: *e says why not (ERR_BUSY time is
 * over, ERR_CHILD nobody drives the run, it cannot be read). */
bool submissions_wait(struct run_view *v, struct submission *list, size_t n, double seconds,
                      struct error *e) WARN_UNUSED;
/* EXIT_DONE when every verdict is "ok", else EXIT_NOT_SO. */
enum exit_code submissions_exit(const struct run_state *st, const struct submission *list,
                                size_t n);
cJSON *submission_json(struct run_view *v, const struct submission *s);

#endif
