/* SHA-256, as 64 lower-case hex digits: the name of a stored blob and the identity of a plan. */
#ifndef WARPLOOP_BASE_HASH_H
#define WARPLOOP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_LEN 64

struct hash {
    char hex[HASH_LEN + 1];
};

struct hash hash_bytes(const void *bytes, size_t n);

/* A well-mixed 64-bit number from two (splitmix64): seeds drawn from other seeds. */
uint64_t hash_mix(uint64_t a, uint64_t b);
/* A number that nobody could know before, mixed with `salt`: seeds of inputs. */
uint64_t hash_fresh(uint64_t salt);

#endif
