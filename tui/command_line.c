/* The `:` line. Its commands are listed once: parser, completion and help come from the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "tui/bench.h"

static void run_stop(struct bench *b, const char *arg)
{
    (void)arg;
    if (b->o->read_only || !b->o->command) {
        bench_send(b, "stop", "", "");
        return;
    }
    snprintf(b->confirm_kind, sizeof b->confirm_kind, "stop");
    b->confirm_text[0] = '\0';
    b->mode = MODE_CONFIRM;
    bench_say(b, "stop the run at the next safe point? y/n");
}

static void run_pause(struct bench *b, const char *arg)
{
    (void)arg;
    bench_pause_now(b);
}

static void run_resume(struct bench *b, const char *arg)
{
    (void)arg;
    bench_send(b, "resume", "", "goes on");
}

static void run_steer(struct bench *b, const char *arg)
{
    if (*arg)
        bench_send(b, "steer", arg, "queued: the agent reads it at the next safe point");
    else
        bench_prompt(b, FOR_STEER);
}

static void run_goal(struct bench *b, const char *arg)
{
    if (*arg)
        bench_send(b, "goal", arg, "the goal is changed at the next safe point");
    else
        bench_prompt(b, FOR_GOAL);
}

/* "7", "v7"; false when it is no number. */
static bool version_of(const char *arg, int64_t *id)
{
    char *end;
    const char *digits = arg + (*arg == 'v');
    long long n = strtoll(digits, &end, 10);
    *id = n;
    return *digits >= '0' && *digits <= '9' && *end == '\0';
}

static void run_version(struct bench *b, const char *arg)
{
    int64_t id;
    if (strcmp(arg, "newest") == 0)
        model_follow(&b->model);
    else if (strcmp(arg, "best") == 0 && b->model.s->incumbent >= 0)
        model_select(&b->model, b->model.s->incumbent);
    else if (!version_of(arg, &id) || !state_version(b->model.s, id))
        bench_complain(b, "there is no version \"%.40s\": v0 to v%zu, best, newest", arg,
                       b->model.s->nversions ? b->model.s->nversions - 1 : 0);
    else
        model_select(&b->model, id);
}

static void run_fork(struct bench *b, const char *arg)
{
    int64_t id = b->model.selected;
    if (*arg && (!version_of(arg, &id) || !state_version(b->model.s, id)))
        bench_complain(b, "there is no version \"%.40s\" to fork from", arg);
    else
        bench_fork(b, id);
}

static void run_theme(struct bench *b, const char *arg)
{
    bench_theme(b, *arg ? arg : "default");
}

static void save(struct bench *b, const char *path, const struct buf *text)
{
    struct error e = {0};
    if (!*path)
        bench_complain(b, "expected a file name");
    else if (fs_write(path, buf_str(text), text->len, &e))
        bench_say(b, "wrote %zu bytes to %.200s", text->len, path);
    else
        bench_complain(b, "%s", e.msg);
}

static void run_write(struct bench *b, const char *arg)
{
    struct buf text = {0};
    pane_table[b->focus]->copy(b->panes[b->focus], &b->model, &text);
    save(b, arg, &text);
    buf_free(&text);
}

static void run_dump(struct bench *b, const char *arg)
{
    struct buf text = {0};
    grid_text(b->grid, &text);
    save(b, arg, &text);
    buf_free(&text);
}

static void run_help(struct bench *b, const char *arg)
{
    (void)arg;
    bench_help(b);
}

static void run_quit(struct bench *b, const char *arg)
{
    (void)arg;
    bench_done(b, b->model.s->ended ? WORKBENCH_CLOSED : WORKBENCH_LEFT);
}

static const struct {
    const char *name, *args, *help;
    void (*run)(struct bench *b, const char *arg);
} commands[] = {
    {"stop", "", "end the run at the next safe point", run_stop},
    {"pause", "", "pause at the next safe point", run_pause},
    {"resume", "", "go on", run_resume},
    {"steer", "[TEXT]", "tell the agent something", run_steer},
    {"goal", "[TEXT]", "change the goal", run_goal},
    {"fork", "[VERSION]", "fork the run at a version", run_fork},
    {"version", "N|best|newest", "look at a version; also :N", run_version},
    {"theme", "NAME", "default, light, mono, or a file", run_theme},
    {"write", "FILE", "write what the pane shows to a file", run_write},
    {"dump-screen", "FILE", "write the screen as text to a file", run_dump},
    {"help", "", "keys and commands", run_help},
    {"quit", "", "leave; the engine goes on", run_quit},
};

void command_line_help(struct buf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        char what[60];
        snprintf(what, sizeof what, ":%s %s", commands[i].name, commands[i].args);
        buf_addf(out, "  %-22s %s\n", what, commands[i].help);
    }
}

void command_line_run(struct bench *b, const char *line)
{
    line += strspn(line, " :");
    size_t n = strcspn(line, " "), hits = 0, hit = 0;
    const char *arg = line + n + strspn(line + n, " ");
    int64_t id;
    if (n == 0)
        return;
    if (version_of(line, &id)) {
        run_version(b, line);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strncmp(commands[i].name, line, n) == 0) {
            hit = i;
            hits++;
            if (strlen(commands[i].name) == n) {
                hits = 1;
                break;
            }
        }
    if (hits == 1)
        commands[hit].run(b, arg);
    else
        bench_complain(b,
                       hits ? "\"%.*s\" could be several commands; :help lists them"
                            : "there is no command \"%.*s\"; :help lists them",
                       (int)(n < 40 ? n : 40), line);
}

/* The longest beginning that all commands with this beginning have in common. */
void command_line_complete(struct prompt *p)
{
    const char *text = buf_str(&p->text);
    size_t n = strlen(text), common = 0, hits = 0;
    const char *first = NULL;
    if (strchr(text, ' '))
        return;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const char *name = commands[i].name;
        if (strncmp(name, text, n) != 0)
            continue;
        if (hits++ == 0) {
            first = name;
            common = strlen(name);
        }
        size_t k = 0;
        while (k < common && first[k] == name[k])
            k++;
        common = k;
    }
    if (hits == 0)
        return;
    char *full = xasprintf("%.*s%s", (int)common, first, hits == 1 ? " " : "");
    prompt_set(p, full);
    free(full);
}
