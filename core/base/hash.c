#include "core/base/hash.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "core/base/clock.h"

static EVP_MD *sha256;

/* No name at all is better than a wrong one. */
static _Noreturn void die_without_digest(void)
{
    fputs("warploop: OpenSSL has no SHA-256 here (a restricted configuration?); the run's log is "
          "safe, mend it and use: warploop resume\n",
          stderr);
    abort();
}

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

struct hash hash_bytes(const void *bytes, size_t n)
{
    /* Found once: looking the digest up costs more than hashing a short text. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned char raw[EVP_MAX_MD_SIZE] = {0};
    struct hash h;
    pthread_once(&once, fetch);
    if (EVP_Digest(bytes ? bytes : "", n, raw, NULL, sha256, NULL) != 1)
        die_without_digest();
    for (size_t i = 0; i < HASH_LEN / 2; i++) {
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

uint64_t hash_fresh(uint64_t salt)
{
    uint64_t r = 0;
    if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
        r = hash_mix((uint64_t)clock_mono_ns(), (uint64_t)clock_wall_ns());
    return hash_mix(salt, r);
}
