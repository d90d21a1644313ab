/* warploop task new: a C function of the user's own becomes a task. */
#include <dirent.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/cmd/json_out.h"
#include "core/cmd/task_verbs.h"
#include "core/cmd/view.h"
#include "core/loop/calibrate.h"
#include "core/task/draft.h"
#include "core/task/rules.h"

#define SPEC_MAX      (64u << 10)
#define ROUNDS        8
/* A call is to be long against the clock and the start of a process, and short to wait for. */
#define WANT_NS       30e6
#define LEAST_NS      20e6
#define MOST_NS       60e6
#define BYTES_MAX     ((int64_t)512 << 20)
#define SWEEP_AFTER_S 3600

/* A task in the making and where its parts lie. */
struct making {
    const struct args *a;
    struct draft d;
    char *spec;    /* path */
    char *command; /* how to go on, fit for a shell and a terminal */
    char *folder;  /* where the task will be */
    char *tmp;     /* the folder it is made in; NULL: not yet */
    bool json;
    cJSON *said; /* what --json prints */
};

/* ---- words ------------------------------------------------------------------------------------
 */

/* One line for a person: "label   text". Nothing with --json. */
static void say(const struct making *m, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void say(const struct making *m, const char *label, const char *fmt, ...)
{
    if (m->json) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    char text[1200];
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    struct buf b = {0};
    buf_addf(&b, "%-10s ", label);
    put_line(&b, text, 400);
    buf_addc(&b, '\n');
    cmd_print(&b);
    fflush(stdout);
}

static void put_word(const char *word, struct buf *out)
{
    bool plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+./,@%")] == '\0';
    struct buf line = {0};
    text_line(&line, word, strlen(word), 300);
    buf_addf(out, plain && *word ? " %s" : " '%s'", buf_str(&line));
    buf_free(&line);
}

static char *command_of(const struct args *a, const char *name, const char *entry)
{
    struct buf b = {0};
    buf_adds(&b, "warploop task new");
    put_word(name, &b);
    static const char *const options[] = {"c", "entry", "spec", "reference"};
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        const char *v = i == 1 ? entry : args_text(a, options[i], NULL);
        if (v) {
            buf_addf(&b, " --%s", options[i]);
            put_word(v, &b);
        }
    }
    return buf_take(&b);
}

/* The lines of the spec that are no comments. */
static void put_assumed(struct making *m, const char *spec)
{
    struct buf b = {0};
    cJSON *list = cJSON_AddArrayToObject(m->said, "spec_lines");
    for (const char *s = spec; *s;) {
        size_t n = strcspn(s, "\n");
        if (n && *s != '#') {
            char *line = xstrndup(s, n);
            cJSON_AddItemToArray(list, cJSON_CreateString(line));
            buf_adds(&b, "  ");
            put_line(&b, line, 300);
            buf_addc(&b, '\n');
            free(line);
        }
        s += n + (s[n] == '\n');
    }
    if (m->json) {
        buf_free(&b);
    } else {
        cmd_print(&b);
    }
}

/* ---- the spec ---------------------------------------------------------------------------------
 */

/* No spec yet: write what is assumed. *ready: nothing is left to fill in. */
static bool write_spec(struct making *m, bool *ready, struct error *e)
{
    struct buf text = {0}, names = {0};
    draft_spec_write(&m->d, m->command, &text);
    bool ok = fs_write(m->spec, text.s, text.len, e);
    size_t unknown = draft_unknown(&m->d, &names);
    *ready = unknown == 0 && !args_flag(m->a, "spec-only");
    if (ok) {
        say(m, "wrote", "%s: what is assumed about %s()", m->spec, m->d.f.name);
        put_assumed(m, buf_str(&text));
        cJSON_AddStringToObject(m->said, "missing", buf_str(&names));
    }
    if (ok && unknown) {
        say(m, "to edit", "%s: fill in the extents of %s, such as [n] or [m, n]", m->spec,
            buf_str(&names));
    } else if (ok) {
        say(m, "to edit",
            "nothing must be; where this is wrong, correct %s and run again with --force", m->spec);
    }
    buf_free(&text);
    buf_free(&names);
    return ok;
}

static bool read_spec(struct making *m, struct error *e)
{
    struct buf text = {0};
    bool ok = fs_read(m->spec, SPEC_MAX, &text, e) &&
              draft_spec_read(&m->d, m->spec, buf_str(&text), text.len, e);
    if (ok) {
        say(m, "spec", "%s", m->spec);
    }
    buf_free(&text);
    return ok;
}

/* ---- the folder -------------------------------------------------------------------------------
 */

static bool write_part(const struct making *m, const char *name, struct buf *text, bool ok,
                       struct error *e)
{
    char *path = fs_join(m->tmp, name);
    ok = ok && fs_write(path, buf_str(text), text->len, e);
    free(path);
    buf_free(text);
    return ok;
}

static bool reference(struct making *m, struct buf *out, struct error *e)
{
    const char *file = args_text(m->a, "reference", NULL);
    if (!file) {
        return draft_reference(&m->d, out, e);
    }
    return fs_read(file, TASK_MAX_SOURCE, out, e) &&
           (out->len > 0 ||
            error_set(e, ERR_INPUT, "%.300s: expected C source; it is empty", file));
}

/* All files of the task, with the sizes that are in force now. */
static bool write_task(struct making *m, struct error *e)
{
    struct buf json = {0}, baseline = {0}, start = {0}, ref = {0};
    char *c = fs_join(m->tmp, "c");
    bool ok = fs_mkdirs(c, e);
    free(c);
    draft_start(&m->d, &baseline);
    draft_start(&m->d, &start);
    draft_task_json(&m->d, &json);
    ok = write_part(m, "c/baseline.c", &baseline, ok, e);
    ok = write_part(m, "c/start.c", &start, ok, e);
    ok = ok && reference(m, &ref, e);
    ok = write_part(m, "c/reference.c", &ref, ok, e);
    return write_part(m, "task.json", &json, ok, e);
}

/* The task as it stands in the temporary folder. */
static struct task *load(struct making *m, struct error *e)
{
    if (!write_task(m, e)) {
        return NULL;
    }
    struct task *t = task_load(m->tmp, e);
    int line = 0;
    struct error why = {0};
    if (t && !rules_check_c(t, t->c.baseline, strlen(t->c.baseline), &line, &why)) {
        error_set(e, ERR_INPUT, "%.200s: no kernel may do this: %s", m->d.file, why.msg);
        task_free(t);
        return NULL;
    }
    return t;
}

/* ---- sizes ------------------------------------------------------------------------------------
 */

static void say_size(const struct making *m, const struct calibration *c)
{
    struct buf b = {0};
    draft_put_sizes(&m->d, &b);
    buf_addf(&b, ": %s%.3g ms a call",
             c->below     ? "below "
             : c->timeout ? "over "
                          : "",
             c->ns / 1e6);
    if (isfinite(c->gflops) && !c->below && !c->timeout) {
        buf_addf(&b, ", %.3g GFLOP/s", c->gflops);
    }
    say(m, "sizes", "%s", buf_str(&b));
    buf_free(&b);
}

static void say_verdict(const struct making *m, const struct calibration *c, bool full)
{
    if (c->ns < LEAST_NS) {
        say(m, "warning",
            "a call takes %s%.3g ms; under 20 ms the clock and the start of a process weigh more "
            "and intervals get wider. %s; about %.0f times the work would take %g ms",
            c->below ? "less than " : "", c->ns / 1e6,
            full ? "The tensors have reached 512 MiB" : "Make the scored sizes larger",
            WANT_NS / c->ns, WANT_NS / 1e6);
    } else if (c->ns > MOST_NS) {
        say(m, "warning",
            "a call takes %.3g ms, and a try many of them; make the scored sizes smaller: %.2g of "
            "the "
            "work would take %g ms",
            c->ns / 1e6, WANT_NS / c->ns, WANT_NS / 1e6);
    }
}

/* The largest factor up to `factor` whose tensors stay within BYTES_MAX. */
static double fit_memory(struct draft *d, double factor, bool *full)
{
    draft_scale(d, factor);
    *full = false;
    while (draft_scored_bytes(d) > BYTES_MAX && factor > 1e-6) {
        *full = true;
        factor *= 0.9;
        draft_scale(d, factor);
    }
    return factor;
}

static const char wrong_hint[] =
    "When the function itself fails: an array that is read before it is written is \"inout\", an "
    "extent may be wrong, float and float64 may differ by more than \"error\" allows, or the "
    "reference that is made of the function is not what it means (--reference FILE).";

/* What can be done about a baseline that could not be measured. */
static void add_hint(const struct making *m, struct error *e)
{
    struct error why = *e;
    if (e->code != ERR_INPUT) {
        return;
    }
    if (strncmp(why.msg, "the reference", 13) == 0) {
        struct buf proto = {0};
        draft_put_prototype(&m->d, true, &proto);
        error_set(e, ERR_INPUT,
                  "%.500s\nIt was %s; one of your own: --reference FILE with the definition of\n%s",
                  why.msg,
                  args_text(m->a, "reference", NULL) ? "given" : "made by replacing tokens",
                  buf_str(&proto));
        buf_free(&proto);
    } else if (strncmp(why.msg, "the baseline does", 17) != 0) {
        error_set(e, ERR_INPUT, "%.200s: %.400s\n%s All of it stands in %.200s.", m->d.f.name,
                  why.msg, wrong_hint, m->spec);
    }
}

/* Measure the baseline; move the sizes that are auto until a call takes 20 to 60 ms. */
static bool choose_sizes(struct making *m, struct error *e)
{
    double factor[ROUNDS] = {1}, ns[ROUNDS];
    bool full = false;
    struct calibration c = {0};
    for (size_t n = 0; n < ROUNDS; n++) {
        factor[n] = fit_memory(&m->d, factor[n], &full);
        struct task *t = load(m, e);
        bool ok = t && calibrate(t, args_text(m->a, "jail", "auto"), &c, e);
        bool measured = t;
        task_free(t);
        if (!ok) {
            if (measured) {
                add_hint(m, e);
            }
            return false;
        }
        say_size(m, &c);
        ns[n] = c.ns;
        bool good = c.ns >= LEAST_NS && c.ns <= MOST_NS;
        bool last = n + 1 == ROUNDS || (full && c.ns < LEAST_NS);
        if (good || last || draft_autos(&m->d) == 0) {
            break;
        }
        factor[n + 1] =
            factor[n] * calibrate_step(factor, ns, n + 1, (double)draft_autos(&m->d), WANT_NS);
    }
    if (c.timeout) {
        return error_set(
            e, ERR_INPUT,
            "%.200s: a call takes more than %.3g s, also with the sizes that are tried "
            "last; expected scored and check sizes for which it takes 20 to 60 ms",
            m->spec, c.ns / 1e9);
    }
    struct buf sizes = {0};
    draft_put_sizes(&m->d, &sizes);
    cJSON_AddStringToObject(m->said, "sizes", buf_str(&sizes));
    cJSON_AddNumberToObject(m->said, "call_ms", c.ns / 1e6);
    buf_free(&sizes);
    say_verdict(m, &c, full);
    return true;
}

/* ---- the proof --------------------------------------------------------------------------------
 */

static void say_sources(const struct making *m)
{
    struct buf why = {0};
    const char *file = args_text(m->a, "reference", NULL);
    if (file) {
        say(m, "reference", "%s, as it is", file);
    } else {
        say(m, "reference",
            "made from %s(): float -> double, its functions and constants too (c/reference.c)",
            m->d.f.name);
    }
    if (m->d.left_out.len) {
        say(m, "left out", "%s: %s() does not need them", buf_str(&m->d.left_out), m->d.f.name);
    }
    if (draft_adapts(&m->d, &why)) {
        say(m, "entry", "%s() calls %s(): %s", m->d.entry, m->d.f.name, buf_str(&why));
    }
    buf_free(&why);
}

static enum exit_code prove(struct making *m)
{
    struct error e = {0};
    struct task *t = load(m, &e);
    struct task_tally n = {.quiet = true, .silent = m->json};
    struct proof_opts o = {.jail = args_text(m->a, "jail", "auto"), .combinations = 8, .seed = 1};
    bool held = false;
    bool ok = t && proof_run(t, &o, task_put_proof, &n, &held, &e);
    task_free(t);
    if (!ok) {
        return cmd_fail(&e);
    }
    cJSON_AddNumberToObject(m->said, "right", (double)n.right);
    cJSON_AddNumberToObject(m->said, "wrong", (double)n.wrong);
    if (held) {
        say(m, "check", "the function passes, %zu kernels that cheat are refused", n.right - 2);
        return EXIT_DONE;
    }
    error_set(&e, ERR_INPUT,
              "%s: its check does not hold (above), so that no task was made.\n%s\nWhen a cheat "
              "passes: the values or limits tell too little apart. All of it stands in %.200s.",
              m->d.name, wrong_hint, m->spec);
    cmd_fail(&e);
    return EXIT_NOT_SO;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* The finished folder gets its name; one that stands there goes only when the new one is in place.
 */
static bool install(struct making *m, struct error *e)
{
    char *old = xasprintf("%s.old", m->tmp);
    bool there = fs_exists(m->folder);
    if (there && !args_flag(m->a, "force")) {
        free(old);
        return error_set(e, ERR_INPUT, "%.300s has come to be meanwhile; nothing was changed",
                         m->folder);
    }
    bool ok = (!there || rename(m->folder, old) == 0) && rename(m->tmp, m->folder) == 0;
    if (!ok) {
        error_sys(e, "cannot make %s", m->folder);
        if (there && !fs_exists(m->folder)) {
            (void)rename(old, m->folder);
        }
    } else {
        free(m->tmp);
        m->tmp = NULL;
        if (there) {
            fs_remove_tree(old);
        }
    }
    free(old);
    return ok;
}

static void say_next(struct making *m)
{
    const char *name = m->d.name;
    say(m, "made", "%s", m->folder);
    if (m->json) {
        return;
    }
    static const char *const lines[][3] = {
        {"warploop task show ", "", "what a kernel of this task has to be"},
        {"warploop task check ", "", "the proof of its check again, line by line"},
        {"warploop run ", "", "measures it; the tuner has no moves for it, so it ends there"},
        {"warploop run ", " --agent outside", "waits for kernels of yours, or of an agent, by:"},
    };
    struct buf b = {0};
    buf_adds(&b, "\nnext:\n");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        buf_addf(&b, "  %s%s%s", lines[i][0], name, lines[i][1]);
        put_pad(&b, strlen(name) + 33);
        buf_addf(&b, "%s\n", lines[i][2]);
    }
    buf_adds(&b, "  warploop submit RUN FILE --why TEXT --strategy NAME --wait\n");
    cmd_print(&b);
}

/* What a name may not be, before anything is read. */
static bool check_free(struct making *m, const char *name, struct error *e)
{
    char *kernels = fs_kernels_dir(), *with = xasprintf("%s/%s/task.json", kernels, name);
    char *own = fs_user_kernels_dir();
    bool ok = own || error_set(e, ERR_INPUT,
                               "no home folder is known: set WARPLOOP_HOME to a "
                               "folder for runs and tasks");
    if (ok && fs_exists(with)) {
        ok = error_set(e, ERR_INPUT,
                       "task new: field NAME: expected a name of its own; \"%s\" comes with "
                       "warploop",
                       name);
    }
    if (ok) {
        m->folder = fs_join(own, name);
        if (fs_exists(m->folder) && !args_flag(m->a, "force") && !args_flag(m->a, "spec-only")) {
            ok = error_set(e, ERR_INPUT,
                           "task new: \"%s\" is there already, in %.300s; --force replaces it (its "
                           "runs are kept), or choose another name",
                           name, m->folder);
        }
    }
    free(kernels);
    free(with);
    free(own);
    return ok;
}

static bool begin(struct making *m, const char *name, struct error *e)
{
    const char *file = args_text(m->a, "c", NULL), *entry = args_text(m->a, "entry", name);
    if (!draft_name_ok(name, e) || !check_free(m, name, e)) {
        return false;
    }
    if (!file) {
        return error_set(
            e, ERR_INPUT,
            "task new: expected --c FILE, the C source, and --entry F, the function in "
            "it; such as: warploop task new %s --c %s.c --entry %s",
            name, name, name);
    }
    m->command = command_of(m->a, name, entry);
    const char *spec = args_text(m->a, "spec", NULL);
    char *copy = xstrdup(file);
    m->spec = spec                ? xstrdup(spec)
              : strchr(file, '/') ? xasprintf("%s/%s.spec", dirname(copy), name)
                                  : xasprintf("%s.spec", name);
    free(copy);
    return draft_open(&m->d, name, file, entry, e);
}

/* What a `task new` that was killed has left, once nothing can be at work there any more. */
static void sweep(const char *own)
{
    DIR *d = opendir(own);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        struct stat st;
        char *path = fs_join(own, entry->d_name);
        if (strncmp(entry->d_name, ".new-", 5) == 0 && stat(path, &st) == 0 &&
            clock_wall_ns() / 1000000000 - st.st_mtime > SWEEP_AFTER_S) {
            fs_remove_tree(path);
        }
        free(path);
    }
    if (d) {
        closedir(d);
    }
}

static bool make_tmp(struct making *m, struct error *e)
{
    char *own = fs_user_kernels_dir();
    m->tmp = xasprintf("%s/.new-XXXXXX", own);
    bool ok = fs_mkdirs(own, e);
    sweep(own);
    free(own);
    if (ok && !mkdtemp(m->tmp)) {
        ok = error_sys(e, "cannot make a folder %s", m->tmp);
    }
    if (!ok) {
        free(m->tmp);
        m->tmp = NULL;
    }
    return ok;
}

static enum exit_code make(struct making *m)
{
    struct error e = {0};
    bool ready = true, had = fs_exists(m->spec);
    if (had && args_flag(m->a, "spec-only")) {
        error_set(&e, ERR_INPUT,
                  "task new: %.300s is there already; remove it to have it written "
                  "anew",
                  m->spec);
        return cmd_fail(&e);
    }
    if (!had && args_text(m->a, "spec", NULL) && !args_flag(m->a, "spec-only")) {
        say(m, "spec", "%s is not there: it is written now", m->spec);
    }
    if (had ? !read_spec(m, &e) : !write_spec(m, &ready, &e)) {
        return cmd_fail(&e);
    }
    if (!ready) {
        cJSON_AddStringToObject(m->said, "state", "spec");
        say(m, "then", "%s", m->command);
        return args_flag(m->a, "spec-only") ? EXIT_DONE : EXIT_NOT_SO;
    }
    say_sources(m);
    if (!make_tmp(m, &e) || !choose_sizes(m, &e)) {
        return cmd_fail(&e);
    }
    enum exit_code rc = prove(m);
    if (rc == EXIT_DONE && !install(m, &e)) {
        return cmd_fail(&e);
    }
    if (rc == EXIT_DONE) {
        cJSON_AddStringToObject(m->said, "state", "made");
        say_next(m);
    }
    return rc;
}

enum exit_code task_new(const struct args *a, const char *name)
{
    struct error e = {0};
    struct making m = {.a = a, .json = args_flag(a, "json"), .said = cJSON_CreateObject()};
    cJSON_AddStringToObject(m.said, "task", name);
    enum exit_code rc = begin(&m, name, &e) ? make(&m) : cmd_fail(&e);
    if (m.tmp) {
        fs_remove_tree(m.tmp);
    }
    const char *state = json_str(m.said, "state", NULL);
    if (m.json && state) {
        cJSON_AddStringToObject(m.said, "spec", m.spec);
        if (strcmp(state, "made") == 0) {
            cJSON_AddStringToObject(m.said, "folder", m.folder);
        }
        print_json(m.said);
    } else {
        cJSON_Delete(m.said);
    }
    draft_free(&m.d);
    void *const owned[] = {m.spec, m.command, m.folder, m.tmp};
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        free(owned[i]);
    }
    return rc;
}
