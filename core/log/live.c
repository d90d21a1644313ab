#include "core/log/live.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/log/log_private.h"

#define LIVE_TEXT  501 /* 500 bytes and a NUL */
#define LIVE_MAGIC 0x4556494cu

/* A sequence lock: `turn` is odd while the text is being written, so a reader that saw the same
 * even number before and after has a whole text. */
struct live_page {
    uint32_t magic;
    _Atomic uint32_t turn;
    char text[LIVE_TEXT];
};

struct live {
    struct live_page *page;
};

/* How much of s fits in `max` bytes without a cut character. */
static size_t whole_chars(const char *s, size_t max)
{
    size_t n = strnlen(s, max + 1);
    if (n <= max)
        return n;
    for (n = max; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
        n--;
    return n;
}

struct live *live_open(const char *run_path, struct error *e)
{
    char *path = log_sibling(run_path, ".live");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct live *l = NULL;
    void *map = MAP_FAILED;
    /* Blocks are reserved now: a store into a hole of a full disk would be a SIGBUS. */
    if (fd >= 0 && posix_fallocate(fd, 0, sizeof(struct live_page)) == 0)
        map = mmap(NULL, sizeof(struct live_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        error_sys(e, "cannot map %s", path);
    } else {
        l = xmalloc(sizeof *l);
        l->page = map;
        l->page->magic = LIVE_MAGIC;
        /* The last writer may have died in the middle. */
        atomic_store(&l->page->turn, (atomic_load(&l->page->turn) + 1) & ~1u);
        live_set(l, "");
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return l;
}

void live_set(struct live *l, const char *text)
{
    if (!l)
        return;
    size_t n = whole_chars(text, LIVE_TEXT - 1);
    atomic_fetch_add(&l->page->turn, 1);
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(l->page->text, text, n);
    l->page->text[n] = '\0';
    atomic_thread_fence(memory_order_seq_cst);
    atomic_fetch_add(&l->page->turn, 1);
}

void live_close(struct live *l)
{
    if (!l)
        return;
    live_set(l, "");
    munmap(l->page, sizeof *l->page);
    free(l);
}

void live_read(const char *run_path, char *out, size_t size)
{
    struct live_page p, again;
    if (!size)
        return;
    out[0] = '\0';
    char *path = log_sibling(run_path, ".live");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return;
    /* Read, not mapped: a file that someone cuts short then gives a short read, not a signal. */
    for (int i = 0; i < 3; i++) {
        if (pread(fd, &p, sizeof p, 0) != (ssize_t)sizeof p || p.magic != LIVE_MAGIC)
            break;
        if (pread(fd, &again, sizeof again, 0) != (ssize_t)sizeof again)
            break;
        if (atomic_load(&p.turn) % 2 == 0 && atomic_load(&p.turn) == atomic_load(&again.turn) &&
            memcmp(p.text, again.text, sizeof p.text) == 0) {
            p.text[LIVE_TEXT - 1] = '\0';
            size_t n = whole_chars(p.text, size - 1);
            memcpy(out, p.text, n);
            out[n] = '\0';
            break;
        }
    }
    close(fd);
}
