#include "core/cmd/batch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/cmd/ask.h"
#include "core/cmd/json_out.h"
#include "core/log/log.h"

#define SIDECAR_MAX  ((size_t)64 << 10)
#define STRATEGY_MAX 100 /* bytes that the ledger keeps of a name */

static const char *const fields[] = {"why", "strategy", "parent"};

/* ---- reading ----------------------------------------------------------------------------------
 */

static void fault(struct batch *b, const struct error *e)
{
    buf_adds(&b->faults, e->msg);
    buf_addc(&b->faults, '\n');
    b->nfaults++;
}

/* A text that says something; NULL and a fault otherwise. */
static const char *text_field(struct batch *b, const struct json_doc *doc, const char *key,
                              const char *what)
{
    struct error e = {0};
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(doc->root, key);
    const char *s = cJSON_IsString(v) ? v->valuestring : NULL;
    if (s && s[strspn(s, " \t\r\n")]) {
        return s;
    }
    json_error(doc, key, &e, "%s; expected a text: %s",
               !v  ? "is missing"
               : s ? "is empty"
                   : "is no text",
               what);
    fault(b, &e);
    return NULL;
}

static int64_t parent_field(struct batch *b, const struct json_doc *doc, const struct run_state *s)
{
    struct error e = {0}, why = {0};
    int64_t id = -1;
    char number[32];
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(doc->root, "parent");
    if (!v) {
        return -1;
    }
    snprintf(number, sizeof number, "%lld", (long long)json_i64(doc->root, "parent", -1));
    const char *text = cJSON_IsString(v) ? v->valuestring : number;
    if ((!cJSON_IsString(v) && !cJSON_IsNumber(v)) || !version_parse(s, text, &id, &why)) {
        json_error(doc, "parent", &e, "%s",
                   *why.msg ? why.msg : "expected a version: 7, \"v7\", \"start\" or \"best\"");
        fault(b, &e);
    }
    return id;
}

static void check_names(struct batch *b, const struct json_doc *doc)
{
    const cJSON *v;
    cJSON_ArrayForEach(v, doc->root)
    {
        struct error e = {0};
        size_t i = 0;
        while (i < ARRAY_LEN(fields) && strcmp(fields[i], v->string) != 0) {
            i++;
        }
        if (i < ARRAY_LEN(fields)) {
            continue;
        }
        const char *near = nearest_name(v->string, fields, ARRAY_LEN(fields));
        json_error(doc, v->string, &e, "is unknown; expected why, strategy, parent%s%s%s",
                   near ? "; nearest is " : "", near ? near : "", near ? "" : "");
        fault(b, &e);
    }
}

static bool open_sidecar(struct batch *b, const char *path, struct buf *text, struct json_doc *doc)
{
    struct error e = {0};
    bool ok = fs_exists(path) ||
              error_set(&e, ERR_INPUT,
                        "%.400s: is missing; expected {\"why\": ..., \"strategy\": ...} beside the "
                        "kernel (see warploop submit --help)",
                        path);
    ok = ok && fs_read(path, SIDECAR_MAX, text, &e) &&
         json_parse(doc, path, buf_str(text), text->len, &e);
    if (ok && !cJSON_IsObject(doc->root)) {
        ok = json_error(doc, "", &e, "expected an object with why and strategy");
    }
    if (!ok) {
        fault(b, &e);
    }
    return ok;
}

/* A kernel and its sidecar; both are looked at, whatever is wrong with the other. */
static void read_pair(struct batch *b, const char *file, const struct run_state *s)
{
    struct error e = {0};
    struct buf text = {0};
    struct json_doc doc = {0};
    const char *why = NULL, *strategy = NULL;
    int64_t parent = -1;
    char *path = xasprintf("%.*s.json", (int)strlen(file) - 2, file);
    if (open_sidecar(b, path, &text, &doc)) {
        check_names(b, &doc);
        why = text_field(b, &doc, "why", "what should get better, and how much");
        strategy = text_field(b, &doc, "strategy", "a short name of the idea, the ledger's key");
        parent = parent_field(b, &doc, s);
    }
    if (strategy && strlen(strategy) > STRATEGY_MAX) {
        json_error(&doc, "strategy", &e,
                   "has %zu bytes; at most %d are kept: expected a short name", strlen(strategy),
                   STRATEGY_MAX);
        fault(b, &e);
    }
    VEC_ROOM(b->list, b->n, b->cap);
    struct submission *sub = &b->list[b->n++];
    if (!submission_read(sub, file, why ? why : "", strategy ? strategy : "", parent, &e)) {
        fault(b, &e);
    }
    json_free(&doc);
    buf_free(&text);
    free(path);
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && name[0] != '.' && strcmp(name + n - k, ending) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Paths of the files with this ending, sorted. */
static bool list_files(const char *dir, const char *ending, char ***out, size_t *n, struct error *e)
{
    size_t cap = 0;
    *out = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d) {
        return errno == ENOENT || errno == ENOTDIR
                   ? error_set(e, ERR_INPUT, "--batch %.400s: there is no such folder", dir)
                   : error_sys(e, "--batch %.400s: cannot be opened", dir);
    }
    for (const struct dirent *f = readdir(d); f; f = readdir(d)) {
        if (ends_in(f->d_name, ending)) {
            VEC_ROOM(*out, *n, cap);
            (*out)[(*n)++] = fs_join(dir, f->d_name);
        }
    }
    closedir(d);
    if (*n) {
        qsort(*out, *n, sizeof **out, by_name);
    }
    return true;
}

static void free_files(char **files, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(files[i]);
    }
    free(files);
}

/* A sidecar without its kernel: one of the two is misnamed. */
static void check_alone(struct batch *b, char **sidecars, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct error e = {0};
        char *kernel = xasprintf("%.*s.c", (int)strlen(sidecars[i]) - 5, sidecars[i]);
        if (!fs_exists(kernel)) {
            error_set(&e, ERR_INPUT, "%.400s: there is no kernel %.400s beside it", sidecars[i],
                      strrchr(kernel, '/') + 1);
            fault(b, &e);
        }
        free(kernel);
    }
}

bool batch_read(const char *dir, const struct run_state *s, struct batch *b)
{
    struct error e = {0};
    char **kernels = NULL, **sidecars = NULL;
    size_t n = 0, nsidecars = 0;
    *b = (struct batch){0};
    if (!list_files(dir, ".c", &kernels, &n, &e) ||
        !list_files(dir, ".json", &sidecars, &nsidecars, &e) ||
        (n == 0 && nsidecars == 0 &&
         !error_set(&e, ERR_INPUT, "--batch %.400s: holds no kernel: expected NAME.c and NAME.json",
                    dir))) {
        fault(b, &e);
    }
    for (size_t i = 0; i < n; i++) {
        read_pair(b, kernels[i], s);
    }
    check_alone(b, sidecars, nsidecars);
    free_files(kernels, n);
    free_files(sidecars, nsidecars);
    return b->nfaults == 0;
}

void batch_free(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        submission_free(&b->list[i]);
    }
    free(b->list);
    buf_free(&b->faults);
}

/* ---- submitting -------------------------------------------------------------------------------
 */

/* What waits in the inbox is compared by its source, as versions are. */
static bool mark_pending(const struct run_view *v, struct batch *b, struct error *e)
{
    struct command *cmds = NULL;
    size_t n = 0;
    struct log *log = log_open_read(v->path, e);
    bool ok = log && inbox_list(log, &cmds, &n, e);
    for (size_t i = 0; i < n; i++) {
        cJSON *o = strcmp(cmds[i].kind, "submit") == 0 ? cJSON_Parse(cmds[i].text) : NULL;
        const char *source = json_str(o, "source", "");
        struct hash h = hash_bytes(source, strlen(source));
        for (size_t k = 0; k < b->n; k++) {
            if (strcmp(b->list[k].hash.hex, h.hex) == 0) {
                b->list[k].status = SUBMISSION_PENDING;
            }
        }
        cJSON_Delete(o);
    }
    inbox_free(cmds, n);
    if (log) {
        log_close(log);
    }
    return ok;
}

static void mark_twins(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        for (size_t k = 0; k < i && b->list[i].status == SUBMISSION_NEW; k++) {
            if (strcmp(b->list[k].hash.hex, b->list[i].hash.hex) == 0) {
                b->list[i].status = SUBMISSION_TWIN;
            }
        }
    }
}

/* What the run has: the inbox is looked at first, since what leaves it is a version by then. */
static bool mark_known(struct run_view *v, struct batch *b, struct error *e)
{
    if (!mark_pending(v, b, e) || !run_view_poll(v, e)) {
        return false;
    }
    mark_twins(b);
    for (size_t i = 0; i < b->n; i++) {
        b->list[i].version = submission_find(v->s, &b->list[i]);
        if (b->list[i].version >= 0) {
            b->list[i].status = SUBMISSION_KNOWN;
        }
    }
    return true;
}

/* Each is a commit of its own: a kill leaves whole ones behind, which the next time finds. */
static bool put_missing(const struct run_view *v, const struct batch *b, struct error *e)
{
    char *author = ask_author();
    bool ok = true;
    for (size_t i = 0; i < b->n && ok; i++) {
        char *request =
            b->list[i].status == SUBMISSION_NEW ? submission_request(&b->list[i]) : NULL;
        ok = !request || inbox_put(v->path, author, "submit", request, e);
        free(request);
    }
    free(author);
    return ok;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_status(const struct run_view *v, const struct submission *s, struct buf *out)
{
    static const char *const words[] = {[SUBMISSION_NEW] = "submitted",
                                        [SUBMISSION_PENDING] = "waits in the run's inbox already",
                                        [SUBMISSION_KNOWN] = "is in the run already: ",
                                        [SUBMISSION_TWIN] = "has the source of another one here"};
    const struct version *ver = state_version(v->s, s->version);
    put_line(out, base_name(s->file), 40);
    put_pad(out, 24);
    buf_adds(out, words[s->status]);
    if (s->status == SUBMISSION_KNOWN) {
        buf_addf(out, "v%lld, %s", (long long)ver->id,
                 ver->verdict ? verdict_name(ver->verdict) : "not judged yet");
    }
    buf_addc(out, '\n');
}

static void put_asked(const struct run_view *v, const struct batch *b, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++) {
        put_status(v, &b->list[i], out);
        n += b->list[i].status == SUBMISSION_NEW;
    }
    if (n == 0) {
        buf_addf(out, "%s: nothing is missing: the run has all %zu kernels\n", v->name, b->n);
        return;
    }
    char what[64];
    snprintf(what, sizeof what, "%zu of %zu kernels submitted", n, b->n);
    ask_put_line(v, "submit", what, out);
}

static void put_verdicts(struct run_view *v, const struct batch *b, struct buf *out)
{
    buf_adds(out, "\nkernel                  version  verdict     speedup              strategy\n");
    for (size_t i = 0; i < b->n; i++) {
        const struct submission *s = &b->list[i];
        const struct version *ver = state_version(v->s, s->version);
        put_line(out, base_name(s->file), 40);
        put_pad(out, 24);
        buf_addf(out, ver ? "v%lld%s" : "-", ver ? (long long)ver->id : 0,
                 ver && ver->record ? "*" : "");
        put_pad(out, 33);
        buf_adds(out, ver && ver->verdict ? verdict_name(ver->verdict) : "none yet");
        put_pad(out, 45);
        put_speedup(out, ver ? ver->speedup : NO_REAL, ver ? ver->lo : NO_REAL,
                    ver ? ver->hi : NO_REAL);
        put_pad(out, 66);
        put_line(out, s->strategy, 40);
        buf_addc(out, '\n');
    }
}

static void print_faults(const struct batch *b)
{
    struct buf clean = {0};
    for (const char *s = buf_str(&b->faults); *s; s += strcspn(s, "\n") + 1) {
        buf_adds(&clean, "warploop: ");
        text_line(&clean, s, strcspn(s, "\n"), 1000);
        buf_addc(&clean, '\n');
    }
    fprintf(stderr, "%swarploop: %zu fault%s, nothing was submitted\n", buf_str(&clean), b->nfaults,
            b->nfaults == 1 ? "" : "s");
    buf_free(&clean);
}

static void print_result(struct run_view *v, const struct batch *b, bool json, bool waited)
{
    struct buf out = {0};
    if (!json) {
        waited ? put_verdicts(v, b, &out) : put_asked(v, b, &out);
        cmd_print(&out);
        fflush(stdout);
        return;
    }
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < b->n; i++) {
        cJSON_AddItemToArray(list, submission_json(v, &b->list[i]));
    }
    print_json(list);
}

enum exit_code batch_submit(const struct args *a, struct run_view *v, const char *dir)
{
    struct error e = {0};
    struct batch b;
    bool json = args_flag(a, "json"), wait = args_flag(a, "wait");
    enum exit_code rc = EXIT_DONE;
    if (!batch_read(dir, v->s, &b)) {
        print_faults(&b);
        batch_free(&b);
        return EXIT_BAD_INPUT;
    }
    bool ok = mark_known(v, &b, &e) && put_missing(v, &b, &e);
    if (ok && !(json && wait)) {
        print_result(v, &b, json, false);
    }
    if (ok && wait) {
        ok = submissions_wait(v, b.list, b.n, args_real(a, "timeout", 600) * (double)b.n, &e);
        print_result(v, &b, json, true);
        rc = ok ? submissions_exit(v->s, b.list, b.n) : rc;
    }
    batch_free(&b);
    return ok ? rc : cmd_fail(&e);
}
