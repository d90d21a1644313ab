/* Full-text search over the texts of a run: FTS5 where SQLite has it, else a plain scan. */
#include "core/log/log_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

bool search_covers(enum event_kind kind)
{
    return kind == EV_CALL || kind == EV_VERSION || kind == EV_TRY || kind == EV_NOTE ||
           kind == EV_SAY || kind == EV_STEER || kind == EV_GOAL || kind == EV_FAULT ||
           kind == EV_ENDED;
}

/* Bytes that may be part of a word: letters, digits, _ and everything beyond ASCII. */
static bool is_word(unsigned char c)
{
    return c >= 0x80 || isalnum(c) || c == '_';
}

char *search_query(const char *words)
{
    struct buf q = {0};
    const char *p = words;
    for (int n = 0; *p && n < 32; n++) {
        while (*p && !is_word((unsigned char)*p))
            p++;
        const char *start = p;
        while (is_word((unsigned char)*p))
            p++;
        if (p == start)
            break;
        if (q.len)
            buf_addc(&q, ' ');
        buf_addc(&q, '"');
        buf_add(&q, start, (size_t)(p - start));
        buf_adds(&q, "\"*");
    }
    return buf_take(&q);
}

/* LIKE's wildcards in the words are quoted by a backslash. */
static char *like_pattern(const char *words)
{
    struct buf p = {0};
    buf_addc(&p, '%');
    for (; *words; words++) {
        if (strchr("%_\\", *words))
            buf_addc(&p, '\\');
        buf_addc(&p, *words);
    }
    buf_addc(&p, '%');
    return buf_take(&p);
}

static const char by_index[] =
    "SELECT rowid, snippet(search, 0, '', '', '...', 24), 0 FROM search WHERE search MATCH ?1"
    " ORDER BY rowid DESC";
static const char by_scan[] =
    "SELECT seq, substr(text, max(1, instr(lower(text), lower(?2)) - 60), 160), kind FROM event"
    " WHERE text LIKE ?1 ESCAPE '\\' ORDER BY seq DESC";

bool log_search(struct log *log, const char *words, size_t limit, struct log_hit **hits, size_t *n,
                struct error *e)
{
    *hits = NULL;
    *n = 0;
    size_t cap = 0;
    sqlite3_stmt *st = NULL;
    char *query = log->indexed ? search_query(words) : like_pattern(words);
    bool ok = true;
    if (!*words || !*query || limit == 0)
        goto done;
    if (sqlite3_prepare_v2(log->db, log->indexed ? by_index : by_scan, -1, &st, NULL) !=
        SQLITE_OK) {
        ok = log_sql_error(log, e, "search");
        goto done;
    }
    sqlite3_bind_text(st, 1, query, -1, SQLITE_STATIC);
    if (!log->indexed)
        sqlite3_bind_text(st, 2, words, -1, SQLITE_STATIC);
    int rc = SQLITE_DONE;
    while (*n < limit && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        if (!log->indexed && !search_covers((enum event_kind)sqlite3_column_int(st, 2)))
            continue;
        const unsigned char *s = sqlite3_column_text(st, 1);
        VEC_ROOM(*hits, *n, cap);
        (*hits)[(*n)++] = (struct log_hit){.seq = sqlite3_column_int64(st, 0),
                                           .snippet = xstrdup(s ? (const char *)s : "")};
    }
    ok = rc == SQLITE_DONE || rc == SQLITE_ROW || log_sql_error(log, e, "search");
done:
    sqlite3_finalize(st);
    free(query);
    if (!ok) {
        log_hits_free(*hits, *n);
        *hits = NULL;
        *n = 0;
    }
    return ok;
}

void log_hits_free(struct log_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(hits[i].snippet);
    free(hits);
}
