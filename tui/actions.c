/* What keys do. */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/bench.h"

#define UNDO_NS 3000000000 /* to take a pause back */

static void set_message(struct bench *b, bool bad, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);

static void set_message(struct bench *b, bool bad, const char *fmt, va_list ap)
{
    char raw[1200];
    struct buf line = {0};
    vsnprintf(raw, sizeof raw, fmt, ap);
    text_line(&line, raw, strlen(raw), 600);
    snprintf(b->message, sizeof b->message, "%s", buf_str(&line));
    b->message_bad = bad;
    buf_free(&line);
}

void bench_say(struct bench *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(b, false, fmt, ap);
    va_end(ap);
}

void bench_complain(struct bench *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(b, true, fmt, ap);
    va_end(ap);
}

void bench_done(struct bench *b, enum workbench_result r)
{
    if (b->pause_at)
        bench_pause_now(b);
    b->done = true;
    b->result = r;
}

static bool may_write(struct bench *b)
{
    if (!b->o->read_only && b->o->command)
        return true;
    bench_complain(b, "read-only: `warploop attach %s` may do that", b->model.name);
    return false;
}

void bench_send(struct bench *b, const char *kind, const char *text, const char *done)
{
    struct error e = {0};
    if (!may_write(b))
        return;
    if (!b->o->command(b->o->ctx, kind, text, &e)) {
        bench_complain(b, "%s", e.msg);
        return;
    }
    const char *what = e.msg[0] ? e.msg : done;
    if (b->model.driven)
        bench_say(b, "%s", what);
    else
        bench_say(b, "%s (no engine is at work: `warploop resume %s`)", what, b->model.name);
}

void bench_pause_now(struct bench *b)
{
    b->pause_at = 0;
    bench_send(b, "pause", "", "pauses at the next safe point");
}

void bench_pause(struct bench *b)
{
    char key[24];
    enum model_state s = model_state(&b->model);
    if (b->pause_at) {
        b->pause_at = 0;
        bench_say(b, "not paused");
    } else if (!may_write(b)) {
        return;
    } else if (s == MODEL_PAUSED) {
        bench_send(b, "resume", "", "goes on");
    } else if (s == MODEL_RUNNING) {
        b->pause_at = clock_mono_ns() + UNDO_NS;
        bench_say(b, "pauses in 3 seconds; %s takes it back",
                  keymap_key(&b->keys, ACTION_PAUSE, key));
    } else {
        char text[200];
        bench_complain(b, "nothing to pause: %s", model_state_text(&b->model, text, sizeof text));
    }
}

void bench_fork(struct bench *b, int64_t version)
{
    if (!may_write(b))
        return;
    snprintf(b->confirm_kind, sizeof b->confirm_kind, "fork");
    snprintf(b->confirm_text, sizeof b->confirm_text, "%lld", (long long)version);
    b->mode = MODE_CONFIRM;
    bench_say(b, "fork this run at v%lld? y/n", (long long)version);
}

void bench_theme(struct bench *b, const char *name)
{
    struct theme t;
    struct error e = {0};
    if (!theme_find(&t, name, &e)) {
        bench_complain(b, "%s", e.msg);
        return;
    }
    term_set_theme(b->term, &t);
    bench_say(b, term_has_colour(b->term) ? "theme %s" : "theme %s (this terminal has no colours)",
              t.name);
}

void bench_help(struct bench *b)
{
    struct buf text = {0};
    keymap_help(&b->keys, &text);
    buf_adds(&text, "\nCommands\n");
    command_line_help(&text);
    buf_addf(&text, "\nThe terminal is driven as %s.\n", term_name(b->term));
    lines_clear(&b->help);
    b->help.top = b->help.left = 0;
    for (const char *p = buf_str(&text); *p;) {
        size_t n = strcspn(p, "\n"), key = strncmp(p, "  :", 3) == 0 ? 24 : 20;
        enum style_role role = *p == ' ' ? ROLE_HINT : ROLE_TITLE;
        if (*p == ' ' && n > key) {
            lines_add(&b->help, ROLE_KEY, p, key);
            lines_add(&b->help, role, p + key, n - key);
        } else {
            lines_add(&b->help, role, p, n);
        }
        lines_end(&b->help);
        p += n + (p[n] == '\n');
    }
    buf_free(&text);
    b->mode = MODE_HELP;
}

void bench_prompt(struct bench *b, enum prompt_use use)
{
    const struct goal *g = state_goal(b->model.s);
    struct prompt *p = &b->prompts[use];
    switch (use) {
    case FOR_COMMAND:
        prompt_start(p, ":", "", true);
        break;
    case FOR_SEARCH:
        if (!pane_table[b->focus]->grep) {
            bench_complain(b, "there is nothing to search in this pane");
            return;
        }
        prompt_start(p, "/", "", true);
        break;
    case FOR_STEER:
        if (!may_write(b))
            return;
        prompt_start(p, "steer (Alt-Enter: new line, Alt-E: editor): ", "", false);
        break;
    case FOR_GOAL:
        if (!may_write(b))
            return;
        prompt_start(p, "goal (Alt-E: editor): ", g ? g->text : "", false);
        break;
    case PROMPT_USES:
        return;
    }
    b->use = use;
    b->mode = MODE_PROMPT;
}

/* ---------------------------------------------------------------------------- the prompt */

/* The text of the prompt in $VISUAL or $EDITOR, and back. */
static void edit_outside(struct bench *b)
{
    const char *tmp = getenv("TMPDIR"), *editor = getenv("VISUAL");
    struct prompt *p = &b->prompts[b->use];
    struct error e = {0};
    char *path = xasprintf("%s/warploop.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    struct buf text = {0};
    if (!editor || !*editor)
        editor = getenv("EDITOR");
    if (!editor || !*editor)
        editor = "vi";
    char *script = xasprintf("%s \"$1\"", editor);
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, (char[]){"sh"}, path, NULL};
    if (fd < 0 || !fs_write(path, buf_str(&p->text), p->text.len, &e))
        bench_complain(b, "no file for the editor: %s", e.msg[0] ? e.msg : path);
    else if (term_run(b->term, argv) != 0)
        bench_complain(b, "%.100s failed; the text is as it was", editor);
    else if (!fs_read(path, PROMPT_MAX, &text, &e))
        bench_complain(b, "%s", e.msg);
    else {
        while (text.len > 0 && text.s[text.len - 1] == '\n')
            text.s[--text.len] = '\0';
        prompt_set(p, buf_str(&text));
    }
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    buf_free(&text);
    free(script);
    free(path);
}

void bench_search(struct bench *b, int direction)
{
    const struct pane *pane = pane_table[b->focus];
    char message[200] = "";
    if (!pane->grep || !b->pattern[0]) {
        bench_complain(b, pane->grep ? "search with / first"
                                     : "there is nothing to search in this pane");
        return;
    }
    enum grep_result r =
        pane->grep(b->panes[b->focus], &b->model, b->pattern, direction, message, sizeof message);
    b->searching = r == GREP_MORE ? (direction < 0 ? -1 : 1) : 0;
    if (r == GREP_MORE)
        bench_say(b, "%s", message);
    else if (r == GREP_NONE)
        bench_complain(b, "%s", message);
    else
        b->message[0] = '\0';
}

static void accept(struct bench *b)
{
    const char *text = buf_str(&b->prompts[b->use].text);
    b->mode = MODE_PANES;
    bool blank = text[strspn(text, " \t\n")] == '\0';
    switch (b->use) {
    case FOR_COMMAND:
        command_line_run(b, text);
        break;
    case FOR_SEARCH:
        if (!blank)
            snprintf(b->pattern, sizeof b->pattern, "%s", text);
        bench_search(b, 0);
        break;
    case FOR_STEER:
        if (!blank)
            bench_send(b, "steer", text, "queued: the agent reads it at the next safe point");
        break;
    case FOR_GOAL:
        if (!blank)
            bench_send(b, "goal", text, "the goal is changed at the next safe point");
        break;
    case PROMPT_USES:
        break;
    }
}

static void prompt_mode_key(struct bench *b, uint32_t key)
{
    struct prompt *p = &b->prompts[b->use];
    if (key == (K_ALT | 'e') && (b->use == FOR_STEER || b->use == FOR_GOAL)) {
        edit_outside(b);
        return;
    }
    if (key == K_TAB && b->use == FOR_COMMAND) {
        command_line_complete(p);
        return;
    }
    if (key == (K_CTRL | 'l')) {
        term_redraw(b->term);
        return;
    }
    switch (prompt_key(p, key)) {
    case PROMPT_ACCEPTED:
        accept(b);
        break;
    case PROMPT_CANCELLED:
        b->mode = MODE_PANES;
        break;
    case PROMPT_MORE:
        if (p->refused)
            bench_complain(b, "a message has at most %d bytes", PROMPT_MAX);
        break;
    }
}

void bench_paste(struct bench *b)
{
    size_t n;
    const char *s = term_pasted(b->term, &n);
    b->message[0] = '\0';
    if (b->mode != MODE_PROMPT) {
        bench_say(b, "pasted text is taken only by an input line (i to steer)");
        return;
    }
    if (!prompt_insert(&b->prompts[b->use], s, n))
        bench_complain(b, "%zu bytes are too many: a message has at most %d", n, PROMPT_MAX);
}

/* ------------------------------------------------------------------------------- the rest */

static void confirm_key(struct bench *b, uint32_t key)
{
    b->mode = MODE_PANES;
    if (key != 'y' && key != 'Y') {
        bench_say(b, "not done");
        return;
    }
    bool fork = strcmp(b->confirm_kind, "fork") == 0;
    bench_send(b, b->confirm_kind, b->confirm_text,
               fork ? "forked; `warploop ls` shows it" : "stops at the next safe point");
}

static void help_key(struct bench *b, uint32_t key)
{
    enum action a = keymap_action(&b->keys, key);
    if (lines_key(&b->help, a))
        return;
    if (a == ACTION_LEAVE) {
        bench_done(b, b->model.s->ended ? WORKBENCH_CLOSED : WORKBENCH_LEFT);
        return;
    }
    if (a == ACTION_REDRAW)
        term_redraw(b->term);
    else
        b->mode = MODE_PANES;
}

static void copy(struct bench *b)
{
    struct buf text = {0};
    pane_table[b->focus]->copy(b->panes[b->focus], &b->model, &text);
    if (term_copy(b->term, buf_str(&text), text.len))
        bench_say(b,
                  "sent %zu bytes to the terminal's clipboard (OSC 52); `:write FILE` keeps them",
                  text.len);
    else
        bench_complain(b, "%zu bytes are too many for a terminal's clipboard: use `:write FILE`",
                       text.len);
    buf_free(&text);
}

static void close_something(struct bench *b)
{
    const struct pane *pane = pane_table[b->focus];
    char leave[24], command[24];
    if (b->pattern[0]) {
        b->pattern[0] = '\0';
        if (pane->close)
            pane->close(b->panes[b->focus]);
    } else if (b->zoom) {
        b->zoom = false;
    } else if (b->model.s->ended) {
        bench_done(b, WORKBENCH_CLOSED);
    } else {
        bench_say(b, "%s leaves (the engine goes on); %sstop ends the run",
                  keymap_key(&b->keys, ACTION_LEAVE, leave),
                  keymap_key(&b->keys, ACTION_COMMAND, command));
    }
}

static void next_theme(struct bench *b)
{
    static const char *const themes[] = {"default", "light", "mono"};
    b->theme = (b->theme + 1) % (int)ARRAY_LEN(themes);
    bench_theme(b, themes[b->theme]);
}

static void focus(struct bench *b, int pane)
{
    b->focus = (enum pane_id)((pane + PANE_STATUS) % PANE_STATUS);
}

/* Versions and panes. False: another action. */
static bool navigate(struct bench *b, enum action a)
{
    struct model *m = &b->model;
    switch ((int)a) {
    case ACTION_FOCUS_NEXT:
        focus(b, (int)b->focus + 1);
        return true;
    case ACTION_FOCUS_PREVIOUS:
        focus(b, (int)b->focus - 1);
        return true;
    case ACTION_FOCUS_SOURCE:
    case ACTION_FOCUS_GRAPH:
    case ACTION_FOCUS_COUNTERS:
    case ACTION_FOCUS_REASONING:
        focus(b, (int)a - ACTION_FOCUS_SOURCE);
        return true;
    case ACTION_ZOOM:
        b->zoom = !b->zoom;
        return true;
    case ACTION_VERSION_PREVIOUS:
        model_select(m, m->selected - 1);
        return true;
    case ACTION_VERSION_NEXT:
        model_select(m, m->selected + 1);
        return true;
    case ACTION_VERSION_BEST:
        if (m->s->incumbent >= 0)
            model_select(m, m->s->incumbent);
        else
            bench_say(b, "no version is right and timed yet");
        return true;
    case ACTION_VERSION_NEWEST:
        model_follow(m);
        return true;
    default:
        return false;
    }
}

static void suspend(struct bench *b)
{
    sigset_t cont;
    term_suspend(b->term);
    /* the SIGCONT that ended it is not news any more */
    sigemptyset(&cont);
    sigaddset(&cont, SIGCONT);
    sigtimedwait(&cont, NULL, &(struct timespec){0, 0});
    model_tick(&b->model);
    if (b->model.driven && b->model.pid == getpid())
        bench_say(b, "back; the engine stood still meanwhile");
}

static void act(struct bench *b, enum action a)
{
    switch ((int)a) {
    case ACTION_PAUSE:
        bench_pause(b);
        return;
    case ACTION_STEER:
        bench_prompt(b, FOR_STEER);
        return;
    case ACTION_GOAL:
        bench_prompt(b, FOR_GOAL);
        return;
    case ACTION_COMMAND:
        bench_prompt(b, FOR_COMMAND);
        return;
    case ACTION_SEARCH:
        bench_prompt(b, FOR_SEARCH);
        return;
    case ACTION_SEARCH_NEXT:
        bench_search(b, 1);
        return;
    case ACTION_SEARCH_PREVIOUS:
        bench_search(b, -1);
        return;
    case ACTION_FORK:
        bench_fork(b, b->model.selected);
        return;
    case ACTION_LEAVE:
        bench_done(b, b->model.s->ended ? WORKBENCH_CLOSED : WORKBENCH_LEFT);
        return;
    case ACTION_HELP:
        bench_help(b);
        return;
    case ACTION_CLOSE:
        close_something(b);
        return;
    case ACTION_INTERRUPT:
        b->zoom = false;
        close_something(b);
        return;
    case ACTION_COPY:
        copy(b);
        return;
    case ACTION_THEME:
        next_theme(b);
        return;
    case ACTION_REDRAW:
        term_redraw(b->term);
        return;
    case ACTION_SUSPEND:
        suspend(b);
        return;
    default:
        break;
    }
    if (!navigate(b, a))
        pane_table[b->focus]->keys(b->panes[b->focus], &b->model, a);
}

void bench_key(struct bench *b, uint32_t key)
{
    b->message[0] = '\0';
    b->searching = 0;
    switch (b->mode) {
    case MODE_PROMPT:
        prompt_mode_key(b, key);
        return;
    case MODE_CONFIRM:
        confirm_key(b, key);
        return;
    case MODE_HELP:
        help_key(b, key);
        return;
    case MODE_PANES:
        break;
    }
    enum action a = keymap_action(&b->keys, key);
    char name[24], help[24];
    if (a != ACTION_NONE)
        act(b, a);
    else
        bench_say(b, "%s does nothing; %s for help", key_label(key, name),
                  keymap_key(&b->keys, ACTION_HELP, help));
}
