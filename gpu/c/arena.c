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

#define PAGE 4096u

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
        a->slot[i] = (struct arena_slot){.seg = a->size};
        if (!in_part(a->kind[i], part))
            continue;
        size_t bytes = ev_buffer_bytes(r, s, i, wide);
        size_t span = round_up(bytes ? bytes : 1, 64), seg = round_up(span, page);
        a->slot[i] = (struct arena_slot){
            .seg = a->size, .seg_size = seg, .data = seg - span, .bytes = bytes};
        a->size += seg;
    }
    if (a->size == 0)
        a->size = page; /* a memfd of length 0 cannot be mapped */
}

bool arena_new(const struct ev_request *r, const struct ev_shape *s, enum arena_part part,
               bool wide, struct arena *out, struct error *e)
{
    *out = (struct arena){.fd = -1};
    lay_out(r, s, part, wide, out);
    out->fd = memfd_create("warploop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (out->fd < 0)
        return error_sys(e, "cannot make memory for the buffers (memfd_create)");
    if (ftruncate(out->fd, (off_t)out->size) != 0)
        goto fail;
    void *p = mmap(NULL, out->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, out->fd, 0);
    if (p == MAP_FAILED)
        goto fail;
    out->base = p;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    if (part == ARENA_INPUTS)
        seals |= F_SEAL_FUTURE_WRITE;
    if (fcntl(out->fd, F_ADD_SEALS, seals | F_SEAL_SEAL) != 0)
        goto fail;
    return true;
fail:
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
        scribble(p + s->data, s->bytes, part_seed(seed, i, 1), pattern_of(a, seed, i));
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
