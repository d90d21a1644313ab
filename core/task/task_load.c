#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/task/switches.h"
#include "core/task/task_private.h"

/* So much keeps an evaluate request within a line of the wire. */
#define TASK_JSON_MAX ((size_t)256 << 10)
#define MAX_HEADERS   64
#define MAX_CHEATS    32

/* ---------------------------------------------------------------- sources */

/* The text of a file that a field names, relative to the task's folder. */
static bool take_source(struct task *t, const struct field *o, const char *key, bool needed,
                        char **out, struct error *e)
{
    struct field f;
    char *name = NULL;
    if (!field_get(o, key, &f))
        return !needed ||
               field_need(o, key, "a source file of the task, such as \"c/start.c\"", &f, e);
    if (!field_text(&f, 200, &name, e))
        return false;
    if (*name == '/' || strstr(name, "..")) {
        free(name);
        return field_error(&f, e, "expected a file within the task's folder: no .. and no / first");
    }
    struct buf text = {0};
    struct error why = {0};
    char *path = fs_join(t->dir, name);
    bool ok = fs_read(path, TASK_MAX_SOURCE, &text, &why);
    free(path);
    free(name);
    if (!ok) {
        buf_free(&text);
        return field_error(&f, e, "expected a readable file of at most 1 MiB: %s", why.msg);
    }
    if (text.len == 0 || memchr(text.s, '\0', text.len)) {
        buf_free(&text);
        return field_error(&f, e, "expected a text file: it is empty or holds a NUL byte");
    }
    *out = buf_take(&text);
    return true;
}

static bool take_headers(struct task *t, const struct field *o, struct error *e)
{
    struct field f;
    if (!field_need(o, "headers", "the headers that a candidate may include, such as [\"math.h\"]",
                    &f, e) ||
        !field_array(&f, 0, MAX_HEADERS, e))
        return false;
    t->c.headers = xcalloc((size_t)cJSON_GetArraySize(f.v) + 1, sizeof *t->c.headers);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, (int)t->c.nheaders, m);
        char *name = NULL;
        if (!field_text(&at, 60, &name, e))
            return false;
        size_t n = strlen(name),
               good =
                   strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
        bool ok = n > 2 && good == n - 2 && strcmp(name + n - 2, ".h") == 0;
        for (size_t i = 0; i < t->c.nheaders; i++)
            ok = ok && strcmp(t->c.headers[i], name) != 0;
        if (!ok) {
            free(name);
            return field_error(&at, e,
                               "expected the plain name of a header, each once, such as "
                               "\"math.h\": no folder and no ..");
        }
        t->c.headers[t->c.nheaders++] = name;
    }
    return true;
}

static bool take_backend(struct task *t, const struct field *root, struct error *e)
{
    static const char *const backends[] = {"c", NULL};
    static const char *const known[] = {"entry", "reference", "baseline", "start",
                                        "moves", "headers",   "call_ms",  NULL};
    struct field all, f, at;
    if (!field_need(root, "backends", "{\"c\": {...}}", &all, e) ||
        !field_object(&all, backends, e) ||
        !field_need(&all, "c", "what the back end needs: entry, sources, headers", &f, e) ||
        !field_object(&f, known, e) ||
        !field_need(&f, "entry", "the function's name, such as \"kda_fwd\"", &at, e))
        return false;
    char *entry = NULL;
    if (!field_identifier(&at, &entry, e))
        return false;
    const char *use = task_c_name_use(t, entry);
    t->c.entry = entry;
    if (use)
        return field_error(&at, e, "expected a name of its own; \"%s\" is %s already", entry, use);
    t->c.call_ms = 2000;
    if (field_get(&f, "call_ms", &at) && !field_whole(&at, 1, 3600000, &t->c.call_ms, e))
        return false;
    return take_headers(t, &f, e) && take_source(t, &f, "reference", true, &t->c.reference, e) &&
           take_source(t, &f, "baseline", true, &t->c.baseline, e) &&
           take_source(t, &f, "start", true, &t->c.start, e) &&
           take_source(t, &f, "moves", false, &t->c.moves, e);
}

static bool take_cheats(struct task *t, const struct field *root, struct error *e)
{
    static const char *const known[] = {"name", "source", NULL};
    struct field f, name;
    if (!field_get(root, "cheats", &f))
        return true;
    if (!field_array(&f, 0, MAX_CHEATS, e))
        return false;
    t->cheats = xcalloc(MAX_CHEATS, sizeof *t->cheats);
    const cJSON *m;
    cJSON_ArrayForEach(m, f.v)
    {
        struct field at = field_item(&f, (int)t->ncheats, m);
        struct cheat *c = &t->cheats[t->ncheats++];
        if (!field_object(&at, known, e) ||
            !field_need(&at, "name", "what it does, such as \"dropped-history\"", &name, e) ||
            !field_name(&name, &c->name, e) || !take_source(t, &at, "source", true, &c->source, e))
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the whole */

static bool take_head(struct task *t, const struct field *root, struct error *e)
{
    static const char *const known[] = {
        "schema",   "name",   "title",          "summary",  "params",   "constants",
        "flop",     "bytes",  "shapes",         "families", "backends", "moves",
        "tunables", "margin", "max_shape_loss", "target",   "cheats",   NULL};
    struct field f;
    int64_t schema;
    if (!cJSON_IsObject(root->v))
        return field_object(root, known, e);
    if (!field_need(root, "schema", "the number 1", &f, e) ||
        !field_whole(&f, 1, INT32_MAX, &schema, e))
        return false;
    if (schema != 1)
        return field_error(&f, e,
                           "expected 1; schema %lld is newer than this program: update "
                           "warploop",
                           (long long)schema);
    return field_object(root, known, e) && field_need(root, "name", "the task's name", &f, e) &&
           field_name(&f, &t->name, e) && field_need(root, "title", "one line", &f, e) &&
           field_text(&f, 120, &t->title, e) &&
           field_need(root, "summary", "one paragraph", &f, e) &&
           field_text(&f, 2000, &t->summary, e);
}

static bool take_numbers(struct task *t, const struct field *root, struct error *e)
{
    struct field f;
    t->margin = 0.005;
    t->max_shape_loss = 0.03;
    t->target = (double)NAN;
    if (field_get(root, "margin", &f) && !field_number(&f, 0, 0.5, &t->margin, e))
        return false;
    if (field_get(root, "max_shape_loss", &f) && !field_number(&f, 0, 1, &t->max_shape_loss, e))
        return false;
    if (field_get(root, "target", &f) && !field_number(&f, 0.01, 1e6, &t->target, e))
        return false;
    return field_need(root, "flop", "floating-point operations of one call, such as \"2*N\"", &f,
                      e) &&
           task_take_expr(&f, &t->flop, e) &&
           field_need(root, "bytes", "bytes that one call has to move at least", &f, e) &&
           task_take_expr(&f, &t->bytes, e);
}

/* The moves source resolves (start, and everything on that can be). */
static bool check_moves_source(const struct task *t, const struct field *root, struct error *e)
{
    struct field f = *root;
    if (!t->c.moves)
        return true;
    struct config c = config_default(t);
    struct buf out = {0};
    struct error why = {0};
    bool ok = switches_resolve(t, t->c.moves, &c, &out, &why);
    for (size_t i = 0; i < t->nmoves && ok; i++) {
        struct config one = c;
        one.moves = config_closure(t, i);
        config_normalise(t, &one);
        buf_clear(&out);
        ok = switches_resolve(t, t->c.moves, &one, &out, &why);
    }
    buf_free(&out);
    if (ok)
        return true;
    if (field_get(root, "backends", &f) && field_get(&f, "c", &f))
        field_get(&f, "moves", &f);
    return field_error(&f, e, "expected a source with sound switches: %s", why.msg);
}

static void add_identity(struct buf *b, const char *name, const char *text)
{
    if (text)
        buf_addf(b, "%s %zu\n%s\n", name, strlen(text), text);
}

static struct hash identity(const struct task *t)
{
    struct buf b = {0};
    add_identity(&b, "task.json", buf_str(&t->text));
    add_identity(&b, "reference", t->c.reference);
    add_identity(&b, "baseline", t->c.baseline);
    add_identity(&b, "start", t->c.start);
    add_identity(&b, "moves", t->c.moves);
    struct hash h = hash_bytes(b.s, b.len);
    buf_free(&b);
    return h;
}

/* A broken byte would end up in a log and on a screen. */
static bool check_utf8(const char *file, const char *text, size_t n, struct error *e)
{
    int line = 1;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = text_decode(text + i, n - i, &cp);
        if (cp == 0xfffd && len == 1)
            return error_set(e, ERR_INPUT,
                             "%s:%d: field (top): expected UTF-8 text; byte 0x%02x is "
                             "not",
                             file, line, (unsigned char)text[i]);
        line += cp == '\n';
        i += len;
    }
    return true;
}

struct task *task_from_text(const char *dir, const char *file, const char *text, size_t n,
                            struct error *e)
{
    struct json_doc doc;
    if (!check_utf8(file, text, n, e))
        return NULL;
    struct task *t = xcalloc(1, sizeof *t);
    t->dir = xstrdup(dir);
    buf_add(&t->text, text, n);
    if (!json_parse(&doc, file, buf_str(&t->text), n, e)) {
        task_free(t);
        return NULL;
    }
    struct field root = field_root(&doc);
    bool ok = take_head(t, &root, e) && task_take_constants(t, &root, e) &&
              task_take_params(t, &root, e) && take_numbers(t, &root, e) &&
              task_take_shapes(t, &root, e) && task_check_sizes(t, &root, e) &&
              task_take_families(t, &root, e) && take_backend(t, &root, e) &&
              task_take_moves(t, &root, e) && task_take_tunables(t, &root, e) &&
              take_cheats(t, &root, e) && check_moves_source(t, &root, e);
    json_free(&doc);
    if (!ok) {
        task_free(t);
        return NULL;
    }
    t->hash = identity(t);
    return t;
}

/* ---------------------------------------------------------------- finding */

struct names {
    char **v;
    size_t n, cap;
};

/* Put in order; a name that stands already is that of an earlier folder. */
static void add_name(struct names *l, const char *name)
{
    size_t i = l->n;
    while (i > 0 && strcmp(l->v[i - 1], name) > 0)
        i--;
    if (i > 0 && strcmp(l->v[i - 1], name) == 0)
        return;
    VEC_ROOM(l->v, l->n, l->cap);
    memmove(l->v + i + 1, l->v + i, (l->n - i) * sizeof *l->v);
    l->v[i] = xstrdup(name);
    l->n++;
}

/* The tasks of one folder. false: it cannot be read (errno). */
static bool add_names(const char *kernels, struct names *l)
{
    DIR *d = opendir(kernels);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (*entry->d_name == '.')
            continue;
        char *path = xasprintf("%s/%s/task.json", kernels, entry->d_name);
        if (fs_exists(path))
            add_name(l, entry->d_name);
        free(path);
    }
    if (d)
        closedir(d);
    return d;
}

bool task_names(char ***names, size_t *n, struct error *e)
{
    char *kernels = fs_kernels_dir(), *own = fs_user_kernels_dir();
    struct names l = {0};
    bool ok = add_names(kernels, &l);
    if (!ok)
        error_sys(e, "the folder of tasks, %s (set WARPLOOP_KERNELS to another)", kernels);
    else if (own)
        add_names(own, &l); /* as a rule it is not there */
    if (!ok) {
        task_names_free(l.v, l.n);
        l = (struct names){0};
    }
    *names = l.v;
    *n = l.n;
    free(kernels);
    free(own);
    return ok;
}

void task_names_free(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static bool unknown_task(const char *name, struct error *e)
{
    char **names = NULL;
    size_t n = 0;
    struct buf list = {0};
    if (!task_names(&names, &n, e))
        return error_prefix(e, "task \"%.80s\"", name);
    for (size_t i = 0; i < n && list.len < 600; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", names[i]);
    const char *near = name_nearest(name, (const char *const *)names, n);
    error_set(e, ERR_NOTFOUND,
              "there is no task \"%.80s\"%s%s%s there are: %s (or give the path of "
              "a folder that holds a task.json)",
              name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : ";",
              n ? buf_str(&list) : "none");
    buf_free(&list);
    task_names_free(names, n);
    return false;
}

/* NAME in a folder of tasks (freed; may be NULL), when it is a task; the caller frees. */
static char *find_in(char *kernels_take, const char *name)
{
    char *dir = kernels_take ? fs_join(kernels_take, name) : NULL,
         *file = dir ? fs_join(dir, "task.json") : NULL;
    bool found = file && fs_exists(file);
    free(kernels_take);
    free(file);
    if (found)
        return dir;
    free(dir);
    return NULL;
}

/* The folder of a task by name or path; the caller frees. */
static char *find_dir(const char *name, bool *by_name, struct error *e)
{
    *by_name = false;
    if (!strchr(name, '/') && *name && *name != '.') {
        char *dir = find_in(fs_user_kernels_dir(), name);
        if (!dir)
            dir = find_in(fs_kernels_dir(), name);
        *by_name = dir;
        if (dir)
            return dir;
    }
    size_t n = strlen(name);
    bool is_file = n > 10 && strcmp(name + n - 10, "/task.json") == 0;
    char *path = is_file ? xstrndup(name, n - 10) : xstrdup(name);
    char *file = fs_join(path, "task.json");
    bool found = *name && fs_exists(file);
    free(file);
    if (found)
        return path;
    free(path);
    if (strchr(name, '/') || *name == '.')
        error_set(e, ERR_NOTFOUND, "%.300s: there is no task.json in this folder", name);
    else
        unknown_task(name, e);
    return NULL;
}

struct task *task_load(const char *name, struct error *e)
{
    bool by_name;
    char *found = find_dir(name, &by_name, e);
    if (!found)
        return NULL;
    char real[PATH_MAX]; /* a run is resumed from other working folders */
    const char *dir = realpath(found, real) ? real : found;
    char *file = fs_join(dir, "task.json");
    struct buf text = {0};
    struct task *t = NULL;
    if (fs_read(file, TASK_JSON_MAX, &text, e))
        t = task_from_text(dir, file, buf_str(&text), text.len, e);
    if (t && by_name && strcmp(t->name, name) != 0) {
        error_set(e, ERR_INPUT, "%s: field name: expected \"%.80s\", the folder's name, got \"%s\"",
                  file, name, t->name);
        task_free(t);
        t = NULL;
    }
    buf_free(&text);
    free(file);
    free(found);
    return t;
}

/* ---------------------------------------------------------------- freeing */

static void free_lists(struct task *t)
{
    for (size_t i = 0; i < t->nparams; i++) {
        for (size_t k = 0; k < t->params[i].nextents; k++)
            free(t->params[i].extents[k]);
        free(t->params[i].extents);
        free(t->params[i].name);
        free(t->params[i].bytes);
    }
    for (size_t i = 0; i < t->nconstants; i++)
        free(t->constants[i].name);
    for (size_t i = 0; i < t->nshapes; i++) {
        free(t->shapes[i].name);
        free(t->shapes[i].family);
        free(t->shapes[i].dims);
    }
    for (size_t i = 0; i < t->nmoves; i++) {
        struct move *m = &t->moves[i];
        void *const owned[] = {m->name, m->sw, m->title, m->why, m->requires, m->excludes};
        for (size_t k = 0; k < ARRAY_LEN(owned); k++)
            free(owned[k]);
    }
    for (size_t i = 0; i < t->ntunables; i++) {
        free(t->tunables[i].name);
        free(t->tunables[i].why);
        free(t->tunables[i].values);
        free(t->tunables[i].requires);
    }
    for (size_t i = 0; i < t->ncheats; i++) {
        free(t->cheats[i].name);
        free(t->cheats[i].source);
    }
    for (size_t i = 0; i < t->c.nheaders; i++)
        free(t->c.headers[i]);
}

void task_free(struct task *t)
{
    if (!t)
        return;
    free_lists(t);
    void *const owned[] = {t->params,  t->constants, t->shapes,  t->moves,       t->tunables,
                           t->cheats,  t->c.headers, t->c.entry, t->c.reference, t->c.baseline,
                           t->c.start, t->c.moves,   t->flop,    t->bytes,       t->name,
                           t->title,   t->summary,   t->dir};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        free(owned[i]);
    cJSON_Delete(t->families);
    buf_free(&t->text);
    free(t);
}
