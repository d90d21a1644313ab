#include "core/base/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"

void wire_msg_free(struct wire_msg *m)
{
    cJSON_Delete(m->head);
    for (size_t i = 0; i < m->nparts; i++)
        buf_free(&m->parts[i].bytes);
    free(m->parts);
    *m = (struct wire_msg){0};
}

void wire_add_part(struct wire_msg *m, const char *name, const void *bytes, size_t n)
{
    m->parts = xrealloc(m->parts, (m->nparts + 1) * sizeof *m->parts);
    struct wire_part *p = &m->parts[m->nparts++];
    *p = (struct wire_part){0};
    size_t len = strnlen(name, sizeof p->name - 1);
    memcpy(p->name, name, len);
    buf_add(&p->bytes, bytes, n);
}

const struct buf *wire_part(const struct wire_msg *m, const char *name)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (strcmp(m->parts[i].name, name) == 0)
            return &m->parts[i].bytes;
    return NULL;
}

static bool send_all(int fd, const char *s, size_t n, struct error *e)
{
    while (n) {
        ssize_t w = send(fd, s, n, MSG_NOSIGNAL);
        if (w < 0 && errno == ENOTSOCK)
            w = write(fd, s, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0 && errno == EAGAIN) {
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            poll(&p, 1, -1);
            continue;
        }
        if (w < 0)
            return error_sys(e, "cannot send to the other process");
        s += w;
        n -= (size_t)w;
    }
    return true;
}

bool wire_send(int fd, const struct wire_msg *m, struct error *e)
{
    cJSON_DeleteItemFromObjectCaseSensitive(m->head, "parts");
    if (m->nparts) {
        cJSON *list = cJSON_AddArrayToObject(m->head, "parts");
        for (size_t i = 0; i < m->nparts; i++) {
            cJSON *p = cJSON_CreateObject();
            cJSON_AddStringToObject(p, "name", m->parts[i].name);
            json_put_i64(p, "size", (int64_t)m->parts[i].bytes.len);
            cJSON_AddItemToArray(list, p);
        }
    }
    char *line = json_text(m->head);
    size_t n = strlen(line);
    bool ok = n < WIRE_LINE_MAX ||
              error_set(e, ERR_INPUT, "a message of %zu bytes is over the wire's limit of %u", n,
                        WIRE_LINE_MAX);
    ok = ok && send_all(fd, line, n, e) && send_all(fd, "\n", 1, e);
    for (size_t i = 0; ok && i < m->nparts; i++)
        ok = send_all(fd, m->parts[i].bytes.s, m->parts[i].bytes.len, e);
    free(line);
    return ok;
}

/* Make *m from the line at the front of r->in. *total = bytes of line and parts. */
static bool parse_head(struct wire_reader *r, size_t line, cJSON **head, size_t *total,
                       struct error *e)
{
    struct json_doc doc;
    if (!json_parse(&doc, "message", r->in.s, line, e))
        return false;
    *total = line + 1;
    const cJSON *parts = cJSON_GetObjectItemCaseSensitive(doc.root, "parts"), *p;
    bool ok = cJSON_IsObject(doc.root) || error_set(e, ERR_CHILD, "message is not an object");
    if (ok && cJSON_GetArraySize(parts) > WIRE_PARTS)
        ok = error_set(e, ERR_CHILD, "message announces more than %d parts", WIRE_PARTS);
    cJSON_ArrayForEach(p, parts)
    {
        int64_t size = json_i64(p, "size", -1);
        if (ok && (size < 0 || size > WIRE_PART_MAX))
            ok = error_set(e, ERR_CHILD, "message announces a part of a bad size");
        if (ok)
            *total += (size_t)size;
    }
    if (!ok) {
        json_free(&doc);
        return false;
    }
    *head = doc.root;
    return true;
}

static void take(struct wire_reader *r, size_t line, cJSON *head, size_t total, struct wire_msg *m)
{
    *m = (struct wire_msg){.head = head};
    size_t at = line + 1;
    const cJSON *p;
    cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(head, "parts"))
    {
        size_t size = (size_t)json_i64(p, "size", 0);
        wire_add_part(m, json_str(p, "name", ""), r->in.s + at, size);
        at += size;
    }
    memmove(r->in.s, r->in.s + total, r->in.len - total);
    r->in.len -= total;
    r->in.s[r->in.len] = '\0';
}

/* 1: a message was taken, 0: more bytes are needed, -1: error */
static int try_take(struct wire_reader *r, struct wire_msg *m, struct error *e)
{
    char *nl = r->in.len ? memchr(r->in.s, '\n', r->in.len) : NULL;
    if (!nl) {
        if (r->in.len <= WIRE_LINE_MAX)
            return 0;
        error_set(e, ERR_CHILD, "a line longer than %u bytes", WIRE_LINE_MAX);
        return -1;
    }
    cJSON *head = NULL;
    size_t line = (size_t)(nl - r->in.s), total = 0;
    if (!parse_head(r, line, &head, &total, e))
        return -1;
    if (r->in.len < total) {
        cJSON_Delete(head);
        return 0;
    }
    take(r, line, head, total, m);
    return 1;
}

enum wire_status wire_read(struct wire_reader *r, bool block, struct wire_msg *m, struct error *e)
{
    for (;;) {
        int got = try_take(r, m, e);
        if (got)
            return got > 0 ? WIRE_MSG : WIRE_ERROR;
        struct pollfd p = {.fd = r->fd, .events = POLLIN};
        int ready = poll(&p, 1, block ? -1 : 0);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return WIRE_MORE;
        ssize_t n = read(r->fd, buf_room(&r->in, 65536), 65536);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0 && errno != ECONNRESET) {
            error_sys(e, "cannot read from the other process");
            return WIRE_ERROR;
        }
        if (n <= 0) {
            if (r->in.len == 0)
                return WIRE_EOF;
            error_set(e, ERR_CHILD, "the other process ended in the middle of a message");
            return WIRE_ERROR;
        }
        r->in.len += (size_t)n;
        r->in.s[r->in.len] = '\0';
    }
}

void wire_reader_free(struct wire_reader *r)
{
    buf_free(&r->in);
}
