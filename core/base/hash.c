#include "core/base/hash.h"

#include <openssl/sha.h>

struct hash hash_bytes(const void *bytes, size_t n)
{
    unsigned char raw[SHA256_DIGEST_LENGTH];
    struct hash h;
    SHA256(bytes ? bytes : "", n, raw);
    for (size_t i = 0; i < sizeof raw; i++) {
        h.hex[2 * i] = "0123456789abcdef"[raw[i] >> 4];
        h.hex[2 * i + 1] = "0123456789abcdef"[raw[i] & 15];
    }
    h.hex[HASH_LEN] = '\0';
    return h;
}

uint64_t hash_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a + 0x9e3779b97f4a7c15u * (b + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
