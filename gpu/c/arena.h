/* Memory that calls run in: sealed memfds, owned by the supervisor, mapped by the children.
 *
 * Two arenas serve a call. The inputs' is sealed F_SEAL_FUTURE_WRITE after the supervisor mapped
 * it: no one else can ever map it writable, so a candidate cannot change its inputs. The outputs'
 * and workspaces' is shared read-write. Both are sealed against shrinking, growing and further
 * seals.
 *
 * Each buffer has pages of its own: [front slack][data][tail slack]. The data end at most 63 bytes
 * before the end of the pages (data are 64-byte aligned), and the child leaves unmapped addresses
 * (ARENA_GUARD bytes) before and after: a write past the end faults, one just before the start hits
 * the front slack or faults. Slack is filled with a random pattern (the canary), outputs and
 * workspaces too, anew before every call:
 *   outputs     NaNs with random payloads, so an untouched element is never a plausible result
 *   workspaces  by turns NaNs and huge finite numbers, so what reads them unwritten shows it
 *   slack       random bits
 * Patterns are a function of the seed; nothing is stored to compare them.
 *
 * Buffers of 1 MiB and more lie in 2 MiB pages where the kernel gives them (MADV_COLLAPSE, Linux
 * 6.1): a call then costs 30 us instead of 8 ms to set up and 15 us instead of 1.6 ms to tear down
 * (32 MiB, measured), and does not depend on which small pages a process set happened to get. */
#ifndef WARPLOOP_GPU_C_ARENA_H
#define WARPLOOP_GPU_C_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "gpu/c/spec.h"

#define ARENA_GUARD ((size_t)64 << 10)
/* Large pages. A child maps each buffer at an address equal to its offset modulo this. */
#define ARENA_LARGE ((size_t)2 << 20)

/* One buffer's place in the memfd. */
struct arena_slot {
    size_t seg, seg_size; /* its pages; seg_size 0: this buffer is not in this arena */
    size_t data, bytes;   /* data begin at seg + data */
};

struct arena {
    int fd;              /* owned; -1 when none */
    unsigned char *base; /* the supervisor's mapping of the whole memfd */
    size_t size;
    bool large; /* every buffer of 1 MiB and more got large pages */
    size_t n;
    struct arena_slot slot[EV_BUFFERS];
    enum ev_kind kind[EV_BUFFERS];
};

enum arena_part { ARENA_INPUTS, ARENA_OUTPUTS };

/* The arena for one shape: its inputs, or its outputs and workspaces. `wide`: outputs are double.
 */
bool arena_new(const struct ev_request *r, const struct ev_shape *s, enum arena_part part,
               bool wide, struct arena *out, struct error *e) WARN_UNUSED;
void arena_free(struct arena *a);

/* Where buffer i begins in the supervisor's mapping; NULL if it is not in this arena. */
void *arena_data(const struct arena *a, size_t i);

/* Fill outputs, workspaces and slack with the pattern of `seed`. */
void arena_scribble(struct arena *a, uint64_t seed);

/* The first buffer whose slack no longer holds the pattern of `seed`: returns false and its index
 * and side (true: after the data). */
bool arena_slack_intact(const struct arena *a, uint64_t seed, size_t *buffer, bool *after);

/* How many 32-bit words of output i still hold the pattern of `seed`; *first = the first's index.
 */
size_t arena_untouched(const struct arena *a, uint64_t seed, size_t i, size_t *first);

#endif
