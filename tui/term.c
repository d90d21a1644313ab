#include "tui/term.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#ifndef NCURSES_WIDECHAR
#define NCURSES_WIDECHAR 1
#endif
#include <curses.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/crash.h"

#define ESC_DELAY_MS 25
#define PASTE_GAP_MS 200 /* a paste whose end does not come within this is taken as it is */
#define MAX_PASTE    (1024 * 1024)
#define MAX_COPY     (64 * 1024)
#define CODE_PASTE   (KEY_MAX + 1)
#define CODE_PASTED  (KEY_MAX + 2)
#define SYNC_BEGIN   "\033[?2026h"
#define SYNC_END     "\033[?2026l"
#define MODES_ON     "\033[?2004h" /* bracketed paste */
#define MODES_OFF    "\033[?2004l"

struct term {
    SCREEN *screen;
    FILE *in, *out;
    int tty;      /* the terminal, for our own writes */
    int drawn;    /* curses' descriptor: the terminal, or `frame` while a frame is made */
    int frame;    /* memory file in which curses makes a frame, so that it leaves in one write */
    int stray;    /* memory file that catches what others print */
    int saved[3]; /* the real descriptors 1 and 2; -1: was no terminal, left alone */
    struct termios cooked;
    struct sigaction old_signal[5];
    char name[120];
    enum glyphs glyphs;
    int colours; /* 0: none */
    bool has_default_colours, modern;
    attr_t attrs[ROLE_COUNT];
    short pairs[ROLE_COUNT];
    struct grid *last; /* what the terminal shows */
    bool utf8, repaint, resized, gone, hangup_told;
    struct buf paste, bytes;
    cchar_t *line;
    size_t line_cap;
};

/* Those for which curses installs handlers of its own: undone, they belong to the program. */
static const int curses_signals[5] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGQUIT};

/* ------------------------------------------------------------------------- begin and end */

static bool begins_with_any(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strncmp(name, *list, strlen(*list)) == 0)
            return true;
    return false;
}

/* Terminals that take private modes they do not know in silence. */
static bool is_modern(const char *term)
{
    static const char *const list[] = {
        "xterm",   "tmux", "screen",  "alacritty", "foot", "kitty", "rxvt",    "wezterm",
        "ghostty", "st-",  "konsole", "gnome",     "vte",  "iterm", "contour", NULL};
    return begins_with_any(term, list);
}

static enum glyphs glyphs_for(const char *term, const struct term_opts *o)
{
    static const char *const plain[] = {"vt1",  "vt2", "vt3",    "vt4", "vt5",
                                        "ansi", "sun", "cons25", NULL};
    if (o->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || begins_with_any(term, plain))
        return GLYPHS_ASCII;
    return strncmp(term, "linux", 5) == 0 ? GLYPHS_BOX : GLYPHS_BRAILLE;
}

/* A terminal that curses knows, or one that it will pass for. */
static bool open_screen(struct term *t, const char *term, struct error *e)
{
    const char *const names[] = {term, "xterm-256color", "xterm"};
    for (size_t i = 0; i < ARRAY_LEN(names) && !t->screen; i++) {
        t->screen = newterm(names[i], t->out, t->in);
        snprintf(t->name, sizeof t->name, i == 0 ? "%.40s" : "%.40s (for unknown TERM=%.40s)",
                 names[i], term);
    }
    if (!t->screen)
        return error_set(e, ERR_SYSTEM,
                         "no description of terminal \"%.40s\" nor of xterm: install ncurses-base, "
                         "or run with --plain",
                         term);
    const char *cup = tigetstr("cup");
    if (cup && cup != (char *)-1)
        return true;
    endwin();
    return error_set(e, ERR_INPUT, "terminal \"%.40s\" cannot place its cursor", term);
}

static void define_keys(void)
{
    /* In keypad mode many terminals still send the other form of a key. */
    static const struct {
        const char *bytes;
        int code;
    } keys[] = {
        {"\033[A", KEY_UP},      {"\033[B", KEY_DOWN},      {"\033[C", KEY_RIGHT},
        {"\033[D", KEY_LEFT},    {"\033OA", KEY_UP},        {"\033OB", KEY_DOWN},
        {"\033OC", KEY_RIGHT},   {"\033OD", KEY_LEFT},      {"\033[H", KEY_HOME},
        {"\033[F", KEY_END},     {"\033OH", KEY_HOME},      {"\033OF", KEY_END},
        {"\033[1~", KEY_HOME},   {"\033[4~", KEY_END},      {"\033[7~", KEY_HOME},
        {"\033[8~", KEY_END},    {"\033[2~", KEY_IC},       {"\033[3~", KEY_DC},
        {"\033[5~", KEY_PPAGE},  {"\033[6~", KEY_NPAGE},    {"\033[Z", KEY_BTAB},
        {"\033OP", KEY_F(1)},    {"\033OQ", KEY_F(2)},      {"\033OR", KEY_F(3)},
        {"\033OS", KEY_F(4)},    {"\033[11~", KEY_F(1)},    {"\033[12~", KEY_F(2)},
        {"\033[13~", KEY_F(3)},  {"\033[14~", KEY_F(4)},    {"\033[15~", KEY_F(5)},
        {"\033[17~", KEY_F(6)},  {"\033[18~", KEY_F(7)},    {"\033[19~", KEY_F(8)},
        {"\033[20~", KEY_F(9)},  {"\033[21~", KEY_F(10)},   {"\033[23~", KEY_F(11)},
        {"\033[24~", KEY_F(12)}, {"\033[200~", CODE_PASTE}, {"\033[201~", CODE_PASTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (key_defined(keys[i].bytes) <= 0)
            define_key(keys[i].bytes, keys[i].code);
}

static void set_modes(struct term *t)
{
    set_escdelay(ESC_DELAY_MS);
    raw();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    typeahead(-1);
    define_keys();
    if (t->colours && has_colors()) {
        start_color();
        t->has_default_colours = use_default_colors() == OK;
        t->colours = COLORS;
    } else {
        t->colours = 0; /* every colour call is guarded by this: some crash without colours */
    }
    /* Until a program has once left and come back, curses flushes after every cursor movement. */
    endwin();
    refresh();
    curs_set(0);
    int early = getch(); /* the first one switches the keypad on; not in the middle of something */
    if (early != ERR)
        ungetch(early);
    if (t->modern)
        tty_write(t->tty, MODES_ON, strlen(MODES_ON));
}

/* Point 1 and 2 at the memory file where they are the terminal. */
static void catch_strays(struct term *t)
{
    fflush(stdout);
    fflush(stderr);
    for (int fd = 1; fd <= 2; fd++) {
        t->saved[fd] = -1;
        if (t->stray < 0 || !isatty(fd))
            continue;
        t->saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        if (t->saved[fd] >= 0)
            dup2(t->stray, fd);
    }
}

static void release_strays(struct term *t, bool show)
{
    fflush(stdout);
    fflush(stderr);
    for (int fd = 1; fd <= 2; fd++)
        if (t->saved[fd] >= 0) {
            dup2(t->saved[fd], fd);
            close(t->saved[fd]);
            t->saved[fd] = -1;
        }
    off_t end = t->stray >= 0 ? lseek(t->stray, 0, SEEK_END) : 0;
    if (!show || end <= 0)
        return;
    char raw_text[MAX_STRAY];
    ssize_t n = pread(t->stray, raw_text, sizeof raw_text, end > MAX_STRAY ? end - MAX_STRAY : 0);
    struct buf b = {0};
    text_sanitise(&b, raw_text, n > 0 ? (size_t)n : 0, 8);
    tty_write(2, buf_str(&b), b.len);
    buf_free(&b);
}

static void free_term(struct term *t)
{
    if (t->screen)
        delscreen(t->screen);
    if (t->in)
        fclose(t->in);
    if (t->out)
        fclose(t->out);
    int fds[] = {t->tty, t->frame, t->stray};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    grid_free(t->last);
    buf_free(&t->paste);
    buf_free(&t->bytes);
    free(t->line);
    free(t);
}

/* The name of a terminal that curses can drive, or NULL with the reason. */
static const char *fit_for_curses(struct error *e)
{
    const char *term = getenv("TERM");
    bool known = term && *term;
    if (!isatty(0) || !isatty(1))
        error_set(e, ERR_INPUT, "standard input and output are not both a terminal");
    else if (!known)
        error_set(e, ERR_INPUT, "TERM is not set: the kind of terminal is unknown");
    else if (strcmp(term, "dumb") == 0 || strcmp(term, "unknown") == 0)
        error_set(e, ERR_INPUT, "TERM=%s: this terminal cannot place its cursor", term);
    else
        return term;
    return NULL;
}

struct term *term_init(const struct term_opts *o, struct error *e)
{
    const char *term = fit_for_curses(e), *no_color = getenv("NO_COLOR");
    if (!term)
        return NULL;
    setlocale(LC_CTYPE, "");
    struct term *t = xcalloc(1, sizeof *t);
    t->tty = fcntl(1, F_DUPFD_CLOEXEC, 3);
    t->frame = memfd_create("frame", MFD_CLOEXEC);
    t->stray = memfd_create("stray", MFD_CLOEXEC);
    int in = fcntl(0, F_DUPFD_CLOEXEC, 3), out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    t->in = in >= 0 ? fdopen(in, "r") : NULL;
    t->out = out >= 0 ? fdopen(out, "w") : NULL;
    t->drawn = out;
    t->modern = is_modern(term);
    t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    t->glyphs = glyphs_for(term, o);
    t->colours = !o->no_colour && (!no_color || !*no_color);
    t->saved[1] = t->saved[2] = -1;
    if (t->tty < 0 || !t->in || !t->out || tcgetattr(t->tty, &t->cooked) != 0) {
        error_sys(e, "the terminal cannot be taken");
        free_term(t);
        return NULL;
    }
    use_env(FALSE); /* LINES and COLUMNS are often stale */
    use_tioctl(TRUE);
    for (size_t i = 0; i < ARRAY_LEN(curses_signals); i++)
        sigaction(curses_signals[i], NULL, &t->old_signal[i]);
    bool ok = open_screen(t, term, e);
    for (size_t i = 0; i < ARRAY_LEN(curses_signals); i++)
        sigaction(curses_signals[i], &t->old_signal[i], NULL);
    if (!ok) {
        tcsetattr(t->tty, TCSANOW, &t->cooked);
        free_term(t);
        return NULL;
    }
    crash_install(t->tty, t->stray, &t->cooked);
    set_modes(t);
    catch_strays(t);
    t->last = grid_new(LINES, COLS, t->glyphs);
    t->repaint = true;
    struct theme theme;
    theme_builtin(&theme, t->colours == 0);
    term_set_theme(t, &theme);
    return t;
}

/* Off the screen, the line discipline as it was. */
static void leave_screen(struct term *t)
{
    if (t->modern)
        tty_write(t->tty, MODES_OFF, strlen(MODES_OFF));
    curs_set(1);
    endwin();
    tcsetattr(t->tty, TCSADRAIN, &t->cooked);
}

static void come_back(struct term *t)
{
    refresh();
    raw(); /* whatever another program did to the line discipline */
    curs_set(t->last->cursor_y >= 0);
    if (t->modern)
        tty_write(t->tty, MODES_ON, strlen(MODES_ON));
    term_check_size(t);
    t->repaint = true;
    t->resized = true;
}

void term_end(struct term *t)
{
    if (!t)
        return;
    if (!t->gone)
        leave_screen(t);
    crash_remove();
    release_strays(t, !t->gone);
    free_term(t);
}

void term_abandon(struct term *t)
{
    if (!t)
        return;
    t->gone = true;
    term_end(t);
}

/* ---------------------------------------------------------------------------- questions */

int term_fd(const struct term *t)
{
    return fileno(t->in);
}

bool term_gone(const struct term *t)
{
    return t->gone;
}

void term_lost(struct term *t)
{
    t->gone = true;
}

void term_size(const struct term *t, int *rows, int *cols)
{
    (void)t;
    *rows = LINES;
    *cols = COLS;
}

enum glyphs term_glyphs(const struct term *t)
{
    return t->glyphs;
}

bool term_has_colour(const struct term *t)
{
    return t->colours > 0;
}

const char *term_name(const struct term *t)
{
    return t->name;
}

bool term_check_size(struct term *t)
{
    struct winsize ws;
    if (t->gone || ioctl(t->tty, TIOCGWINSZ, &ws) != 0 || ws.ws_row == 0 || ws.ws_col == 0)
        return false;
    if (ws.ws_row == LINES && ws.ws_col == COLS)
        return false;
    resizeterm(ws.ws_row, ws.ws_col);
    t->repaint = true;
    t->resized = true;
    return true;
}

/* ------------------------------------------------------------------------------ drawing */

static attr_t curses_attr(unsigned attr)
{
    return (attr & ATTR_BOLD ? A_BOLD : 0) | (attr & ATTR_DIM ? A_DIM : 0) |
           (attr & ATTR_UNDERLINE ? A_UNDERLINE : 0) | (attr & ATTR_REVERSE ? A_REVERSE : 0) |
           (attr & ATTR_ITALIC ? A_ITALIC : 0);
}

void term_set_theme(struct term *t, const struct theme *theme)
{
    struct theme mono;
    theme_builtin(&mono, true);
    for (int i = 0; i < ROLE_COUNT; i++) {
        const struct style *s = t->colours ? &theme->styles[i] : &mono.styles[i];
        t->attrs[i] = curses_attr(s->attr);
        t->pairs[i] = 0;
        if (!t->colours || (s->fg == COLOUR_DEFAULT && s->bg == COLOUR_DEFAULT))
            continue;
        bool bold = false;
        int fg = style_degrade(s->fg, t->colours, &bold);
        int bg = style_degrade(s->bg, t->colours, NULL);
        if (!t->has_default_colours) {
            fg = fg < 0 ? COLOR_WHITE : fg;
            bg = bg < 0 ? COLOR_BLACK : bg;
        }
        if (bold)
            t->attrs[i] |= A_BOLD;
        if (i + 1 < COLOR_PAIRS && init_pair((short)(i + 1), (short)fg, (short)bg) == OK)
            t->pairs[i] = (short)(i + 1);
    }
    t->repaint = true;
}

/* One grid cell for curses. What curses would measure otherwise than the grid did, or what the
 * terminal cannot show, is replaced. */
static void make_cell(const struct term *t, const struct cell *c, cchar_t *out)
{
    wchar_t text[CELL_CHARS + 1] = {0};
    for (int i = 0; i < CELL_CHARS; i++)
        text[i] = (wchar_t)c->ch[i];
    bool ascii = t->glyphs == GLYPHS_ASCII;
    if (ascii && (c->ch[0] >= 0x7F || c->ch[1])) {
        text[0] = c->ch[0] >= 0x7F ? L'?' : text[0];
        text[1] = L'\0';
    } else if (!ascii && c->ch[0] >= 0x7F && wcwidth(text[0]) != c->width) {
        text[0] = 0xFFFD;
        text[1] = L'\0';
    }
    for (int i = 1; text[i]; i++)
        if (wcwidth(text[i]) != 0)
            text[i] = L'\0';
    attr_t attr = t->attrs[c->role];
    if (c->flags & CELL_REVERSE)
        attr ^= A_REVERSE;
    if (c->flags & CELL_BOLD)
        attr |= A_BOLD;
    if (c->flags & CELL_UNDERLINE)
        attr |= A_UNDERLINE;
    setcchar(out, text, attr, t->pairs[c->role], NULL);
}

static void make_row(struct term *t, const struct grid *g, int y)
{
    int cols = g->cols < COLS ? g->cols : COLS, n = 0;
    if ((size_t)cols * 2 > t->line_cap) {
        t->line_cap = (size_t)cols * 2;
        t->line = xrealloc(t->line, t->line_cap * sizeof *t->line);
    }
    static const struct cell space = {{' '}, ROLE_TEXT, 0, 1};
    for (int x = 0; x < cols; x++) {
        const struct cell *c = grid_at(g, y, x);
        if (c->width == 0)
            continue;
        bool cut = c->width == 2 && x + 1 >= cols;
        make_cell(t, cut ? &space : c, &t->line[n++]);
        /* a wide character that was replaced by a narrow one leaves a column */
        if (c->width == 2 && !cut) {
            cchar_t *made = &t->line[n - 1];
            wchar_t text[CCHARW_MAX + 1];
            attr_t a;
            short pair;
            if (getcchar(made, text, &a, &pair, NULL) == OK && wcwidth(text[0]) != 2)
                make_cell(t, &space, &t->line[n++]);
        }
    }
    mvadd_wchnstr(y, 0, t->line, n);
}

/* Put what differs into curses' window; true when anything does. */
static bool transfer(struct term *t, const struct grid *g)
{
    bool same_size = t->last->rows == g->rows && t->last->cols == g->cols;
    bool all = t->repaint || !same_size, changed = all;
    if (all) {
        erase();
        clearok(curscr, TRUE);
    }
    for (int y = 0; y < g->rows && y < LINES; y++) {
        size_t row = (size_t)y * (size_t)g->cols, bytes = (size_t)g->cols * sizeof *g->cells;
        if (!all && memcmp(&g->cells[row], &t->last->cells[row], bytes) == 0)
            continue;
        make_row(t, g, y);
        changed = true;
    }
    if (g->cursor_y != t->last->cursor_y || g->cursor_x != t->last->cursor_x)
        changed = true;
    if (!same_size)
        grid_resize(t->last, g->rows, g->cols);
    memcpy(t->last->cells, g->cells, (size_t)(g->rows * g->cols) * sizeof *g->cells);
    t->last->cursor_y = g->cursor_y;
    t->last->cursor_x = g->cursor_x;
    t->repaint = false;
    return changed;
}

/* Send what curses wrote into the frame file, in one write. */
static void send_frame(struct term *t, size_t head)
{
    off_t n = lseek(t->frame, 0, SEEK_CUR);
    if (n <= (off_t)head)
        return;
    buf_clear(&t->bytes);
    char *at = buf_room(&t->bytes, (size_t)n);
    ssize_t got = pread(t->frame, at, (size_t)n, 0);
    if (got <= 0)
        return;
    t->bytes.len = (size_t)got;
    if (head > 0)
        buf_adds(&t->bytes, SYNC_END);
    if (!tty_write(t->tty, t->bytes.s, t->bytes.len))
        t->gone = true;
}

void term_push(struct term *t, const struct grid *g)
{
    if (t->gone || !transfer(t, g))
        return;
    bool cursor = g->cursor_y >= 0 && g->cursor_y < LINES && g->cursor_x < COLS;
    size_t head = t->modern ? strlen(SYNC_BEGIN) : 0;
    bool framed = t->frame >= 0 && ftruncate(t->frame, 0) == 0 && lseek(t->frame, 0, SEEK_SET) == 0;
    if (framed) {
        if (head > 0)
            framed = write(t->frame, SYNC_BEGIN, head) == (ssize_t)head;
        framed = framed && dup3(t->frame, t->drawn, O_CLOEXEC) >= 0;
    }
    curs_set(0);
    leaveok(stdscr, !cursor);
    if (cursor)
        move(g->cursor_y, g->cursor_x);
    refresh();
    if (cursor)
        curs_set(1);
    if (framed) {
        dup3(t->tty, t->drawn, O_CLOEXEC);
        send_frame(t, head);
    }
}

void term_redraw(struct term *t)
{
    t->repaint = true;
}

/* --------------------------------------------------------------------------------- keys */

static uint32_t from_code(wint_t code)
{
    static const struct {
        wint_t code;
        uint32_t key;
    } t[] = {
        {KEY_UP, K_UP},     {KEY_DOWN, K_DOWN}, {KEY_LEFT, K_LEFT},           {KEY_RIGHT, K_RIGHT},
        {KEY_HOME, K_HOME}, {KEY_END, K_END},   {KEY_PPAGE, K_PGUP},          {KEY_NPAGE, K_PGDN},
        {KEY_IC, K_INSERT}, {KEY_DC, K_DELETE}, {KEY_BTAB, K_BACKTAB},        {KEY_ENTER, K_ENTER},
        {KEY_SR, K_UP},     {KEY_SF, K_DOWN},   {KEY_BACKSPACE, K_BACKSPACE},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (t[i].code == code)
            return t[i].key;
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return K_F1 + (uint32_t)(code - KEY_F(1));
    return K_NONE;
}

static uint32_t from_char(const struct term *t, wint_t c)
{
    switch (c) {
    case '\t':
        return K_TAB;
    case '\r':
    case '\n':
        return K_ENTER;
    case 8:
    case 127:
        return K_BACKSPACE;
    case 27:
        return K_ESCAPE;
    default:
        break;
    }
    if (c >= 1 && c <= 26)
        return K_CTRL | (uint32_t)(c + 'a' - 1);
    if (c < 0x20 || (c >= 0x7F && (!t->utf8 || c < 0xA0)) || c > 0x10FFFF)
        return K_NONE;
    return (uint32_t)c;
}

/* Wait for input at most ms. */
static bool wait_input(const struct term *t, int ms)
{
    struct pollfd p = {fileno(t->in), POLLIN, 0};
    return poll(&p, 1, ms) > 0 && (p.revents & POLLIN) && !(p.revents & (POLLHUP | POLLERR));
}

/* The next key code (KEY_CODE_YES) or character (OK); ERR when there is none. Decodes UTF-8 by
 * itself: after an invalid byte get_wch would swallow what follows. Bad bytes are passed over. */
static int next_wch(const struct term *t, wint_t *c)
{
    for (;;) {
        int k = getch();
        if (k == ERR)
            return ERR;
        *c = (wint_t)k;
        if (k > 0xFF)
            return KEY_CODE_YES;
        if (k < 0x80)
            return OK;
        char s[4] = {(char)k};
        size_t want = k >= 0xF0 ? 4 : k >= 0xE0 ? 3 : k >= 0xC2 ? 2 : 1, n = 1;
        for (; t->utf8 && n < want; n++) {
            int next = getch();
            if (next == ERR && wait_input(t, ESC_DELAY_MS))
                next = getch();
            if (next < 0x80 || next > 0xBF) {
                if (next != ERR)
                    ungetch(next);
                break;
            }
            s[n] = (char)next;
        }
        uint32_t cp;
        if (want > 1 && n == want && text_decode(s, n, &cp) == n) {
            *c = (wint_t)cp;
            return OK;
        }
    }
}

/* From the opening to the closing bracket; the text without controls. Keys that curses believes
 * to see inside are dropped. */
static void read_paste(struct term *t)
{
    buf_clear(&t->paste);
    for (;;) {
        wint_t c;
        int r = next_wch(t, &c);
        if (r == ERR && wait_input(t, PASTE_GAP_MS))
            continue;
        if (r == ERR || (r == KEY_CODE_YES && c == CODE_PASTED))
            return;
        if (r == KEY_CODE_YES || t->paste.len >= MAX_PASTE)
            continue;
        if (c == '\r')
            c = '\n';
        if (c != '\n' && c != '\t' && from_char(t, c) != (uint32_t)c)
            continue;
        char s[4];
        buf_add(&t->paste, s, text_encode((uint32_t)c, s));
    }
}

/* After ESC and an introducer that came at once with it: the rest of a sequence that nobody
 * defined (a reply, an unusual key) is taken and dropped, not typed. */
static void swallow(struct term *t, wint_t intro)
{
    wint_t c;
    for (int i = 0; i < 4096; i++) {
        if (next_wch(t, &c) != OK)
            return;
        if (intro == 'O' || (intro == '[' && c >= 0x40 && c <= 0x7E))
            return;
        if (intro == ']' && (c == '\a' || c == 27)) {
            if (c == 27)
                next_wch(t, &c);
            return;
        }
    }
}

static uint32_t after_escape(struct term *t)
{
    wint_t c;
    int r = next_wch(t, &c);
    if (r == ERR)
        return K_ESCAPE;
    if (r == OK && (c == '[' || c == 'O' || c == ']')) {
        swallow(t, c);
        return K_NONE;
    }
    uint32_t k = r == KEY_CODE_YES ? from_code(c) : from_char(t, c);
    return k == K_NONE || k == K_ESCAPE ? k : k | K_ALT;
}

static uint32_t hangup(struct term *t)
{
    t->gone = true;
    if (t->hangup_told)
        return K_NONE;
    t->hangup_told = true;
    return K_HANGUP;
}

uint32_t term_key(struct term *t)
{
    if (t->gone)
        return hangup(t);
    for (int i = 0; i < 256; i++) { /* what is no key for us is passed over */
        if (t->resized) {
            t->resized = false;
            return K_RESIZE;
        }
        wint_t c;
        int r = next_wch(t, &c);
        if (r == ERR) {
            struct pollfd p = {fileno(t->in), POLLIN, 0};
            if (poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
                return hangup(t);
            return K_NONE;
        }
        uint32_t k = K_NONE;
        if (r == KEY_CODE_YES && c == KEY_RESIZE) {
            term_check_size(t);
        } else if (r == KEY_CODE_YES && c == CODE_PASTE) {
            read_paste(t);
            return K_PASTE;
        } else if (r == KEY_CODE_YES) {
            k = from_code(c);
        } else {
            k = c == 27 ? after_escape(t) : from_char(t, c);
        }
        if (k != K_NONE)
            return k;
    }
    return K_NONE;
}

const char *term_pasted(const struct term *t, size_t *n)
{
    *n = t->paste.len;
    return buf_str(&t->paste);
}

/* ---------------------------------------------------------------- the world outside */

void term_suspend(struct term *t)
{
    if (t->gone)
        return;
    leave_screen(t);
    kill(0, SIGTSTP);  /* the whole job, as the key would have done */
    poll(NULL, 0, 50); /* the stop may take effect a moment later in this thread */
    come_back(t);
}

void term_continue(struct term *t)
{
    if (t->gone)
        return;
    endwin();
    come_back(t);
}

static void exec_on(int tty, char *const argv[])
{
    setpgid(0, 0);
    sigset_t none;
    sigemptyset(&none);
    for (int fd = 0; fd <= 2; fd++)
        dup2(tty, fd);
    tcsetpgrp(tty, getpid());
    for (int s = 1; s < NSIG; s++)
        signal(s, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
    _exit(127);
}

int term_run(struct term *t, char *const argv[])
{
    if (t->gone)
        return -1;
    leave_screen(t);
    sigset_t ttou, old;
    sigemptyset(&ttou);
    sigaddset(&ttou, SIGTTOU); /* so that the terminal can be taken back */
    pthread_sigmask(SIG_BLOCK, &ttou, &old);
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        exec_on(t->tty, argv);
    if (pid > 0) {
        setpgid(pid, pid);
        tcsetpgrp(t->tty, pid);
        for (;;) {
            pid_t r = waitpid(pid, &status, WUNTRACED);
            if (r == pid && WIFSTOPPED(status))
                kill(-pid, SIGCONT); /* nobody could bring it back */
            else if (r == pid || errno != EINTR)
                break;
        }
        tcsetpgrp(t->tty, getpgrp());
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    come_back(t);
    if (pid <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127)
        return -1;
    return WEXITSTATUS(status);
}

void term_bell(struct term *t)
{
    if (!t->gone && !tty_write(t->tty, "\a", 1))
        t->gone = true;
}

bool term_copy(struct term *t, const char *text, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (t->gone || n > MAX_COPY)
        return false;
    const unsigned char *u = (const unsigned char *)text;
    struct buf b = {0};
    buf_adds(&b, "\033]52;c;");
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)u[i] << 16 | (i + 1 < n ? (uint32_t)u[i + 1] << 8 : 0) |
                     (i + 2 < n ? u[i + 2] : 0);
        buf_addc(&b, digits[v >> 18]);
        buf_addc(&b, digits[v >> 12 & 63]);
        buf_addc(&b, i + 1 < n ? digits[v >> 6 & 63] : '=');
        buf_addc(&b, i + 2 < n ? digits[v & 63] : '=');
    }
    buf_addc(&b, '\a');
    if (!tty_write(t->tty, b.s, b.len))
        t->gone = true;
    buf_free(&b);
    return !t->gone;
}
