#include "tui/workbench.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "tui/bench.h"
#include "tui/wrap.h"

#define MS           INT64_C(1000000)
#define FRAME_NS     (66 * MS)   /* at most so often when news stream in */
#define TICK_NS      (1000 * MS) /* while something is in work: seconds are shown */
#define MESSAGE_ROWS 5
#define SLOW_TICK_NS (3000 * MS) /* while paused: only whether the engine still lives */

const struct pane *const pane_table[PANE_STATUS] = {
    [PANE_SOURCE] = &pane_source,
    [PANE_GRAPH] = &pane_graph,
    [PANE_COUNTERS] = &pane_counters,
    [PANE_REASONING] = &pane_reasoning,
};

/* ------------------------------------------------------------------------------- drawing */

static void draw_pane(struct bench *b, enum pane_id id, struct view screen)
{
    struct rect r = b->layout.pane[id];
    if (r.h < 1 || r.w < 1)
        return;
    struct view v = view_sub(screen, r.y, r.x, r.h, r.w);
    const struct pane *pane = pane_table[id];
    bool focused = id == b->focus;
    struct buf heading = {0};
    pane->heading(b->panes[id], &b->model, &heading);
    view_hline(v, 0, 0, r.w, ROLE_BORDER);
    int x = view_textf(v, 0, 0, focused ? ROLE_TITLE_FOCUS : ROLE_TITLE, "%c%d %s%c",
                       focused ? '[' : ' ', (int)id + 1, pane->title, focused ? ']' : ' ');
    if (heading.len > 0 && x + 2 < r.w) {
        struct view rest = view_sub(v, 0, x, 1, r.w - x);
        view_textf(rest, 0, 0, ROLE_TITLE, " %s ", buf_str(&heading));
    }
    buf_free(&heading);
    pane->draw(b->panes[id], &b->model, view_sub(v, 1, 0, r.h - 1, r.w));
}

/* In as many of the last rows as it needs: an error's end says what to do. */
static void draw_message(struct bench *b, struct view screen)
{
    size_t starts[WRAP_MAX_ROWS], n = strlen(b->message);
    int rows = (int)wrap_text(b->message, n, screen.r.w, 0, starts);
    int shown = rows < MESSAGE_ROWS ? rows : MESSAGE_ROWS;
    if (shown > screen.r.h)
        shown = screen.r.h;
    struct view v = view_sub(screen, screen.r.h - shown, 0, shown, screen.r.w);
    view_fill(v, 0, 0, shown, v.r.w, ' ', ROLE_STATUS);
    for (int i = 0; i < shown; i++) {
        size_t end = i + 1 < rows ? starts[i + 1] : n;
        view_textn(v, i, 0, b->message_bad ? ROLE_ERROR : ROLE_MESSAGE, b->message + starts[i],
                   end - starts[i]);
    }
}

static void draw_bottom(struct bench *b, struct view screen)
{
    struct rect r = b->layout.pane[PANE_STATUS];
    struct view status = view_sub(screen, r.y, r.x, r.h, r.w);
    bool two = r.h > 1;
    bool text = b->mode == MODE_PROMPT || b->message[0];
    if (two || !text)
        status_draw(&b->model, view_sub(status, 0, 0, 1, r.w));
    if (b->mode == MODE_PROMPT) {
        const struct prompt *p = &b->prompts[b->use];
        int rows = prompt_rows(p, r.w), y = screen.r.h - rows;
        prompt_draw(p, view_sub(screen, y < 0 ? 0 : y, 0, rows, r.w));
        if (b->message[0] && y > 0)
            view_text(view_sub(screen, y - 1, 0, 1, r.w), 0, 0,
                      b->message_bad ? ROLE_ERROR : ROLE_MESSAGE, b->message);
    } else if (b->message[0]) {
        draw_message(b, screen);
    } else if (two) {
        status_hints(&b->model, &b->keys, view_sub(status, 1, 0, 1, r.w));
    }
}

static void draw_help(struct bench *b, struct view screen)
{
    int h = screen.r.h > 6 ? screen.r.h - 2 : screen.r.h, w = screen.r.w < 78 ? screen.r.w : 78;
    struct view in = view_frame(view_sub(screen, 0, (screen.r.w - w) / 2, h, w),
                                "keys and commands: scroll with j and k, q closes", ROLE_BORDER);
    lines_draw(&b->help, in, 0, NULL, NULL);
}

static void draw(struct bench *b)
{
    int rows, cols;
    term_size(b->term, &rows, &cols);
    if (b->grid->rows != rows || b->grid->cols != cols)
        grid_resize(b->grid, rows, cols);
    grid_clear(b->grid);
    b->layout = layout_make(b->grid->rows, b->grid->cols, b->focus, b->zoom);
    struct view screen = grid_view(b->grid, (struct rect){0, 0, b->grid->rows, b->grid->cols});
    for (int i = 0; i < PANE_STATUS; i++)
        draw_pane(b, (enum pane_id)i, screen);
    for (int i = 0; i < 2; i++) {
        struct rect d = b->layout.divider[i];
        view_vline(screen, d.y, d.x, d.h, ROLE_BORDER);
    }
    if (b->mode == MODE_HELP)
        draw_help(b, screen);
    draw_bottom(b, screen);
    term_push(b->term, b->grid);
    b->dirty = false;
    b->drawn_at = clock_mono_ns();
}

/* --------------------------------------------------------------------------------- news */

static void recalc(struct bench *b)
{
    if (!b->news && b->generation == b->model.generation)
        return;
    for (int i = 0; i < PANE_STATUS; i++)
        if (pane_table[i]->recalc)
            pane_table[i]->recalc(b->panes[i], &b->model);
    b->news = false;
    b->generation = b->model.generation;
    b->dirty = true;
}

static void set_tick(struct bench *b)
{
    enum model_state s = model_state(&b->model);
    int64_t every = 0;
    if (s == MODEL_RUNNING)
        every = TICK_NS;
    else if (b->model.driven)
        every = SLOW_TICK_NS;
    if (reader_fd(b->model.reader) < 0 && b->o->wake_fd < 0)
        every = TICK_NS; /* nothing else tells of news */
    b->tick_at = every ? clock_mono_ns() + every : 0;
    if (reader_share(b->model.reader) < 1)
        b->tick_at = clock_mono_ns(); /* the next slice, after a frame and the keys */
}

static void read_news(struct bench *b)
{
    struct error e = {0};
    b->data_at = 0;
    int64_t n = model_poll(&b->model, &e);
    if (n < 0)
        bench_complain(b, "the run cannot be read now: %s", e.msg);
    if (n != 0) {
        b->news = true;
        b->dirty = true;
    }
    if (model_tick(&b->model))
        b->dirty = true;
    set_tick(b);
    if (n < 0 && !b->tick_at)
        b->tick_at = clock_mono_ns() + TICK_NS;
}

/* Something may be new: read it now, or soon when the last frame is fresh. */
static void hear(struct bench *b)
{
    int64_t now = clock_mono_ns();
    if (now - b->drawn_at >= FRAME_NS)
        read_news(b);
    else if (!b->data_at)
        b->data_at = b->drawn_at + FRAME_NS;
}

static void on_timers(struct bench *b)
{
    int64_t now = clock_mono_ns();
    if (b->data_at && now >= b->data_at)
        read_news(b);
    if (b->tick_at && now >= b->tick_at) {
        read_news(b); /* also where nothing tells of news, as on a network's file system */
        b->dirty = true;
    }
    if (b->searching) {
        bench_search(b, b->searching);
        if (!b->searching || now - b->drawn_at >= 3 * FRAME_NS)
            b->dirty = true;
    }
    if (b->pause_at && now >= b->pause_at) {
        bench_pause_now(b);
        b->dirty = true;
    }
}

static void on_signals(struct bench *b)
{
    struct signalfd_siginfo si;
    while (read(b->signals, &si, sizeof si) == (ssize_t)sizeof si) {
        switch (si.ssi_signo) {
        case SIGWINCH:
            term_check_size(b->term);
            break;
        case SIGCONT:
            term_continue(b->term);
            break;
        case SIGHUP:
            term_lost(b->term);
            break;
        default:
            bench_done(b, WORKBENCH_TERMINATED);
            break;
        }
        b->dirty = true;
    }
}

static void on_keys(struct bench *b)
{
    uint32_t k;
    while (!b->done && (k = term_key(b->term)) != K_NONE) {
        if (k == K_HANGUP)
            term_lost(b->term);
        else if (k == K_PASTE)
            bench_paste(b);
        else if (k != K_RESIZE)
            bench_key(b, k);
        b->dirty = true;
        recalc(b);
    }
}

/* ----------------------------------------------------------------------------- the loop */

/* Milliseconds until the next deadline, rounded up; -1: none. */
static int timeout_ms(const struct bench *b)
{
    int64_t next = 0;
    if (b->searching)
        return 0;
    const int64_t at[] = {b->data_at, b->tick_at, b->pause_at};
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        if (at[i] && (!next || at[i] < next))
            next = at[i];
    if (!next)
        return -1;
    int64_t left = next - clock_mono_ns();
    return left <= 0 ? 0 : (int)(left / MS + 1);
}

static void loop(struct bench *b)
{
    enum { TTY, SIGNALS, WAKE, LOG, FDS };
    while (!b->done) {
        recalc(b);
        if (b->dirty)
            draw(b);
        if (term_gone(b->term)) {
            bench_done(b, WORKBENCH_HUNG_UP);
            break;
        }
        struct pollfd f[FDS] = {
            [TTY] = {term_fd(b->term), POLLIN, 0},
            [SIGNALS] = {b->signals, POLLIN, 0},
            /* while a look is due anyway, its causes need not wake us */
            [WAKE] = {b->data_at ? -1 : b->o->wake_fd, POLLIN, 0},
            [LOG] = {b->data_at ? -1 : reader_fd(b->model.reader), POLLIN, 0},
        };
        poll(f, FDS, timeout_ms(b));
        on_signals(b);
        if (f[TTY].revents & (POLLHUP | POLLERR | POLLNVAL))
            term_lost(b->term);
        on_keys(b);
        if (f[WAKE].revents & POLLIN) {
            uint64_t count;
            if (read(b->o->wake_fd, &count, sizeof count) > 0)
                hear(b);
        } else if (f[LOG].revents & POLLIN) {
            hear(b);
        }
        on_timers(b);
    }
}

/* ------------------------------------------------------------------------ begin and end */

/* The signals that we take, ours to read through a descriptor from now on. */
static int take_signals(sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCONT);
    pthread_sigmask(SIG_BLOCK, NULL, old);
    const int ends[] = {SIGTERM, SIGINT};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct sigaction sa;
        if (!sigismember(old, ends[i]) && sigaction(ends[i], NULL, &sa) == 0 &&
            sa.sa_handler == SIG_DFL)
            sigaddset(&set, ends[i]);
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void load_keys(struct bench *b)
{
    struct error e = {0};
    char *dir = style_config_dir(), *path = NULL;
    keymap_default(&b->keys);
    if (b->o->keys_file)
        path = xstrdup(b->o->keys_file);
    else if (dir)
        path = fs_join(dir, "keys.ini");
    if (path && (b->o->keys_file || fs_exists(path)) && !keymap_load(&b->keys, path, &e))
        bench_complain(b, "%s", e.msg);
    free(path);
    free(dir);
}

static bool begin(struct bench *b, struct error *e)
{
    struct term_opts to = {.no_colour = b->o->no_colour, .ascii = b->o->ascii};
    b->term = term_init(&to, e);
    if (!b->term)
        return false;
    b->grid = grid_new(1, 1, term_glyphs(b->term));
    for (int i = 0; i < PANE_STATUS; i++)
        b->panes[i] = pane_table[i]->make();
    b->news = b->dirty = true;
    if (b->o->theme) {
        bench_theme(b, b->o->theme);
        if (!b->message_bad)
            b->message[0] = '\0';
    }
    load_keys(b);
    set_tick(b);
    return true;
}

static void end(struct bench *b)
{
    if (b->result == WORKBENCH_HUNG_UP)
        term_abandon(b->term);
    else
        term_end(b->term);
    for (int i = 0; i < PANE_STATUS; i++)
        if (b->panes[i])
            pane_table[i]->free(b->panes[i]);
    for (int i = 0; i < PROMPT_USES; i++)
        prompt_free(&b->prompts[i]);
    lines_free(&b->help);
    grid_free(b->grid);
    if (b->signals >= 0)
        close(b->signals);
}

enum workbench_result workbench_run(const struct workbench_opts *o, struct error *e)
{
    struct bench *b = xcalloc(1, sizeof *b);
    sigset_t old;
    b->o = o;
    b->signals = -1;
    if (!model_open(&b->model, o->run_path, e)) {
        free(b);
        return WORKBENCH_FAILED;
    }
    b->model.read_only = o->read_only;
    b->signals = take_signals(&old);
    enum workbench_result r = WORKBENCH_FAILED;
    if (begin(b, e)) {
        loop(b);
        r = b->result;
    }
    end(b);
    /* A dead terminal shows itself twice, as an end of input and as a signal, in any order: the one
     * that comes second must not end the process that goes on without a screen. */
    if (r == WORKBENCH_HUNG_UP)
        signal(SIGHUP, SIG_IGN);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    model_close(&b->model);
    free(b);
    return r;
}
