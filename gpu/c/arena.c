#include "gpu/c/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/hash.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define PAGE       4096u
#define LARGE_FROM ((size_t)1 << 20)

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Page size: 4 KiB is the smallest; larger ones (64 KiB on some ARM) are asked for. */
static size_t page_size(void)
{
    long n = sysconf(_SC_PAGESIZE);
    return n > 0 ? (size_t)n : PAGE;
}

static bool in_part(enum ev_kind kind, enum arena_part part)
{
    return (kind == EV_INPUT) == (part == ARENA_INPUTS);
}

static void lay_out(const struct ev_request *r, const struct ev_shape *s, enum arena_part part,
                    bool wide, struct arena *a)
{
    size_t page = page_size();
    a->n = r->nbuffers;
    for (size_t i = 0; i < a->n; i++) {
        a->kind[i] = r->buffer[i].kind;
        a->slot[i] = (struct arena_slot){.seg = 0};
        if (!in_part(a->kind[i], part))
            continue;
        size_t bytes = ev_buffer_bytes(r, s, i, wide);
        size_t span = round_up(bytes ? bytes : 1, 64), seg = round_up(span, page);
        /* A large one ends at a large page's end; only its own pages are ever mapped by a child. */
        if (seg >= LARGE_FROM)
            a->size = round_up(a->size + seg, ARENA_LARGE) - seg;
        a->slot[i] = (struct arena_slot){
            .seg = a->size, .seg_size = seg, .data = seg - span, .bytes = bytes};
        a->size += seg;
    }
    a->size = round_up(a->size ? a->size : page, ARENA_LARGE);
}

/* Map the memfd at an address that is a multiple of ARENA_LARGE. */
static unsigned char *map_aligned(int fd, size_t size)
{
    unsigned char *p = mmap(NULL, size + ARENA_LARGE, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t skip = (ARENA_LARGE - (uintptr_t)p % ARENA_LARGE) % ARENA_LARGE;
    if (skip)
        munmap(p, skip);
    if (skip < ARENA_LARGE)
        munmap(p + skip + size, ARENA_LARGE - skip);
    p += skip;
    if (mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
        return p;
    munmap(p, size);
    return NULL;
}

/* Give the buffers their pages. Out of memory shows as SIGBUS later if it does not show here. */
static bool back_with_pages(struct arena *a)
{
    a->large = true;
    for (size_t i = 0; i < a->n; i++) {
        const struct arena_slot *s = &a->slot[i];
        if (s->seg_size >= LARGE_FROM) {
            size_t from = s->seg / ARENA_LARGE * ARENA_LARGE, n = s->seg + s->seg_size - from;
            for (size_t k = 0; k < n; k += ARENA_LARGE)
                a->base[from + k] = 1; /* an empty range is not collapsed */
            a->large = madvise(a->base + from, n, MADV_COLLAPSE) == 0 && a->large;
        }
        if (s->seg_size && madvise(a->base + s->seg, s->seg_size, MADV_POPULATE_WRITE) != 0) {
            if (errno != EINVAL)
                return false;
            memset(a->base + s->seg, 0, s->seg_size);
        }
    }
    return true;
}

bool arena_new(const struct ev_request *r, const struct ev_shape *s, enum arena_part part,
               bool wide, struct arena *out, struct error *e)
{
    *out = (struct arena){.fd = -1};
    lay_out(r, s, part, wide, out);
    out->fd = memfd_create("warploop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (out->fd < 0)
        return error_sys(e, "cannot make memory for the buffers (memfd_create)");
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (part == ARENA_INPUTS)
        seals |= F_SEAL_FUTURE_WRITE;
    if (ftruncate(out->fd, (off_t)out->size) == 0 &&
        (out->base = map_aligned(out->fd, out->size)) != NULL && back_with_pages(out) &&
        fcntl(out->fd, F_ADD_SEALS, seals) == 0)
        return true;
    error_sys(e, "cannot get %zu MiB for the buffers", out->size >> 20);
    arena_free(out);
    return false;
}

void arena_free(struct arena *a)
{
    if (a->base)
        munmap(a->base, a->size);
    if (a->fd >= 0)
        close(a->fd);
    *a = (struct arena){.fd = -1};
}

void *arena_data(const struct arena *a, size_t i)
{
    return a->slot[i].seg_size ? a->base + a->slot[i].seg + a->slot[i].data : NULL;
}

/* ---------------------------------------------------------------- patterns */

enum pattern { PATTERN_RAW, PATTERN_NAN, PATTERN_HUGE };

/* Word k (8 bytes) of the pattern: a cheap mixed counter; every call's seed is a fresh one. */
static inline uint64_t word(uint64_t seed, uint64_t k)
{
    uint64_t x = (seed + k) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

static inline uint64_t shaped(uint64_t x, enum pattern p)
{
    if (p == PATTERN_NAN) /* quiet NaNs, sign and 21 payload bits random, never the default NaN */
        return (x & 0x803fffff803fffffu) | 0x7fc000017fc00001u;
    if (p == PATTERN_HUGE) /* 2^64 .. 2^96, either sign */
        return (x & 0x8fffffff8fffffffu) | 0x6000000060000000u;
    return x;
}

static enum pattern pattern_of(const struct arena *a, uint64_t seed, size_t i)
{
    if (a->kind[i] == EV_OUTPUT)
        return PATTERN_NAN;
    return hash_mix(seed, i) & 1 ? PATTERN_NAN : PATTERN_HUGE;
}

/* A workspace repeats one block of pattern: writing it must not cost more than the call. */
#define BLOCK ((size_t)64 << 10)

/* Fill whole words, then the odd bytes at the end from one more word. */
static void scribble(unsigned char *p, size_t n, uint64_t seed, enum pattern how)
{
    size_t words = n / 8;
    for (size_t k = 0; k < words; k++) {
        uint64_t x = shaped(word(seed, k), how);
        memcpy(p + 8 * k, &x, 8);
    }
    uint64_t x = shaped(word(seed, words), how);
    memcpy(p + 8 * words, &x, n % 8);
}

static bool matches(const unsigned char *p, size_t n, uint64_t seed)
{
    for (size_t k = 0; k < n / 8; k++) {
        uint64_t x = word(seed, k);
        if (memcmp(p + 8 * k, &x, 8) != 0)
            return false;
    }
    uint64_t x = word(seed, n / 8);
    return memcmp(p + 8 * (n / 8), &x, n % 8) == 0;
}

static uint64_t part_seed(uint64_t seed, size_t i, unsigned part)
{
    return hash_mix(seed, 3 * i + part);
}

void arena_scribble(struct arena *a, uint64_t seed)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct arena_slot *s = &a->slot[i];
        if (!s->seg_size)
            continue;
        unsigned char *p = a->base + s->seg;
        size_t tail = s->data + s->bytes;
        scribble(p, s->data, part_seed(seed, i, 0), PATTERN_RAW);
        size_t n = a->kind[i] == EV_WORKSPACE && s->bytes > BLOCK ? BLOCK : s->bytes;
        scribble(p + s->data, n, part_seed(seed, i, 1), pattern_of(a, seed, i));
        for (size_t k = n; k < s->bytes; k += n)
            memcpy(p + s->data + k, p + s->data, s->bytes - k < n ? s->bytes - k : n);
        scribble(p + tail, s->seg_size - tail, part_seed(seed, i, 2), PATTERN_RAW);
    }
}

bool arena_slack_intact(const struct arena *a, uint64_t seed, size_t *buffer, bool *after)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct arena_slot *s = &a->slot[i];
        const unsigned char *p = a->base + s->seg;
        size_t tail = s->data + s->bytes;
        *buffer = i;
        *after = false;
        if (!matches(p, s->data, part_seed(seed, i, 0)))
            return false;
        *after = true;
        if (!matches(p + tail, s->seg_size - tail, part_seed(seed, i, 2)))
            return false;
    }
    return true;
}

size_t arena_untouched(const struct arena *a, uint64_t seed, size_t i, size_t *first)
{
    const struct arena_slot *s = &a->slot[i];
    const unsigned char *p = a->base + s->seg + s->data;
    uint64_t from = part_seed(seed, i, 1);
    size_t count = 0;
    for (size_t k = 0; k < s->bytes / 4; k++) {
        uint32_t have, want = (uint32_t)(shaped(word(from, k / 2), pattern_of(a, seed, i)) >>
                                         (k & 1 ? 32 : 0));
        memcpy(&have, p + 4 * k, 4);
        if (have != want)
            continue;
        if (count++ == 0)
            *first = k;
    }
    return count;
}
