#include "tests/support/vt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"

struct vt {
    int master;
    int slave; /* kept open so that the last output is not lost at exit; -1 after hang-up */
    pid_t pid;
    int status; /* wait status once ended */
    bool ended;
    VTerm *vt;
    VTermScreen *screen;
    struct buf raw;
    struct buf title;
    int reads;
    bool altscreen, cursor;
};

static void reply(const char *s, size_t n, void *ctx)
{
    struct vt *v = ctx;
    if (v->master >= 0 && write(v->master, s, n) < 0)
        return;
}

static int set_prop(VTermProp prop, VTermValue *val, void *ctx)
{
    struct vt *v = ctx;
    if (prop == VTERM_PROP_ALTSCREEN)
        v->altscreen = val->boolean;
    else if (prop == VTERM_PROP_CURSORVISIBLE)
        v->cursor = val->boolean;
    else if (prop == VTERM_PROP_TITLE)
#if VTERM_VERSION_MAJOR > 0 || VTERM_VERSION_MINOR >= 2
        buf_add(&v->title, val->string.str, val->string.len);
#else
        buf_adds(&v->title, val->string);
#endif
    return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = set_prop};

/* libvterm 0.1 crashes at one row or column; the program sees the true size all the same. */
static int at_least(int n, int least)
{
    return n < least ? least : n;
}

static void child(const struct vt_opts *o)
{
    unsetenv("LINES");
    unsetenv("COLUMNS");
    unsetenv("NO_COLOR");
    if (o->term && !*o->term)
        unsetenv("TERM");
    else
        setenv("TERM", o->term ? o->term : "xterm-256color", 1);
    setenv("LC_ALL", o->locale ? o->locale : "C.UTF-8", 1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (o->argv) {
        execvp(o->argv[0], o->argv);
        _exit(127);
    }
    int rc = o->call(o->ctx);
    fflush(NULL);
    _exit(rc);
}

struct vt *vt_start(const struct vt_opts *o)
{
    struct vt *v = xcalloc(1, sizeof *v);
    struct winsize ws = {(unsigned short)o->rows, (unsigned short)o->cols, 0, 0};
    if (openpty(&v->master, &v->slave, NULL, NULL, &ws) != 0)
        abort();
    fcntl(v->master, F_SETFD, FD_CLOEXEC);
    v->pid = fork();
    if (v->pid == 0) {
        close(v->master);
        login_tty(v->slave);
        child(o);
    }
    fcntl(v->slave, F_SETFD, FD_CLOEXEC);
    v->cursor = true;
    v->vt = vterm_new(at_least(o->rows, 2), at_least(o->cols, 4));
    vterm_set_utf8(v->vt, 1);
    vterm_output_set_callback(v->vt, reply, v);
    v->screen = vterm_obtain_screen(v->vt);
    vterm_screen_enable_altscreen(v->screen, 1);
    vterm_screen_set_callbacks(v->screen, &callbacks, v);
    vterm_screen_reset(v->screen, 1);
    return v;
}

void vt_hangup(struct vt *v)
{
    if (v->slave >= 0)
        close(v->slave);
    if (v->master >= 0)
        close(v->master);
    v->slave = v->master = -1;
}

void vt_end(struct vt *v)
{
    if (!v->ended) {
        kill(v->pid, SIGKILL);
        waitpid(v->pid, &v->status, 0);
    }
    vt_hangup(v);
    vterm_free(v->vt);
    buf_free(&v->raw);
    buf_free(&v->title);
    free(v);
}

void vt_sendn(struct vt *v, const char *keys, size_t n)
{
    while (n > 0) {
        ssize_t w = write(v->master, keys, n);
        if (w < 0 && errno != EINTR)
            return;
        if (w > 0) {
            keys += w;
            n -= (size_t)w;
        }
    }
}

void vt_send(struct vt *v, const char *keys)
{
    vt_sendn(v, keys, strlen(keys));
}

void vt_resize(struct vt *v, int rows, int cols)
{
    struct winsize ws = {(unsigned short)rows, (unsigned short)cols, 0, 0};
    vterm_set_size(v->vt, at_least(rows, 2), at_least(cols, 4));
    ioctl(v->master, TIOCSWINSZ, &ws);
}

void vt_signal(struct vt *v, int sig)
{
    kill(v->pid, sig);
}

pid_t vt_pid(const struct vt *v)
{
    return v->pid;
}

/* Wait up to ms for output and take it in; the bytes that came. */
static size_t take(struct vt *v, int ms)
{
    struct pollfd p = {v->master, POLLIN, 0};
    if (v->master < 0 || poll(&p, 1, ms) <= 0)
        return 0;
    char bytes[65536];
    ssize_t n = read(v->master, bytes, sizeof bytes);
    if (n <= 0)
        return 0;
    v->reads++;
    buf_add(&v->raw, bytes, (size_t)n);
    vterm_input_write(v->vt, bytes, (size_t)n);
    vterm_screen_flush_damage(v->screen);
    return (size_t)n;
}

static bool wait_for(struct vt *v, const char *text, bool there, int ms)
{
    int64_t end = clock_mono_ns() + (int64_t)ms * 1000000;
    for (;;) {
        if (vt_has(v, text) == there)
            return true;
        int64_t left = (end - clock_mono_ns()) / 1000000;
        if (left <= 0)
            return false;
        take(v, left < 50 ? (int)left : 50);
    }
}

bool vt_wait(struct vt *v, const char *text, int ms)
{
    return wait_for(v, text, true, ms);
}

bool vt_wait_gone(struct vt *v, const char *text, int ms)
{
    return wait_for(v, text, false, ms);
}

size_t vt_settle(struct vt *v, int quiet, int ms)
{
    int64_t end = clock_mono_ns() + (int64_t)ms * 1000000;
    size_t total = 0, n;
    do {
        n = take(v, quiet);
        total += n;
    } while (n > 0 && clock_mono_ns() < end);
    return total;
}

int vt_wait_exit(struct vt *v, int ms)
{
    int64_t end = clock_mono_ns() + (int64_t)ms * 1000000;
    while (!v->ended) {
        take(v, 5);
        if (v->master < 0)
            clock_sleep_ns(2000000);
        if (waitpid(v->pid, &v->status, WNOHANG) == v->pid)
            v->ended = true;
        else if (clock_mono_ns() > end)
            return -1;
    }
    while (take(v, 20) > 0)
        ;
    return v->status;
}

bool vt_wait_stopped(struct vt *v, int ms)
{
    int64_t end = clock_mono_ns() + (int64_t)ms * 1000000;
    for (;;) {
        take(v, 5);
        int st;
        if (waitpid(v->pid, &st, WNOHANG | WUNTRACED) == v->pid) {
            v->ended = !WIFSTOPPED(st);
            v->status = st;
            while (take(v, 20) > 0)
                ;
            return WIFSTOPPED(st);
        }
        if (clock_mono_ns() > end)
            return false;
    }
}

/* ------------------------------------------------------------------------------ the screen */

static void size_of(struct vt *v, int *rows, int *cols)
{
    vterm_get_size(v->vt, rows, cols);
}

/* Append a cell's text; a blank one is a space. */
static void cell_text(const VTermScreenCell *c, struct buf *out)
{
    if (c->chars[0] == 0)
        buf_addc(out, ' ');
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && c->chars[i]; i++) {
        char s[4];
        buf_add(out, s, text_encode(c->chars[i], s));
    }
}

void vt_text(struct vt *v, struct buf *out)
{
    int rows, cols;
    size_of(v, &rows, &cols);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < cols;) {
            VTermScreenCell c;
            vterm_screen_get_cell(v->screen, (VTermPos){y, x}, &c);
            cell_text(&c, out);
            x += c.width > 0 ? c.width : 1;
        }
        while (out->len > 0 && out->s[out->len - 1] == ' ')
            out->s[--out->len] = '\0';
        buf_addc(out, '\n');
    }
}

bool vt_has(struct vt *v, const char *text)
{
    struct buf b = {0};
    vt_text(v, &b);
    bool has = strstr(buf_str(&b), text) != NULL;
    buf_free(&b);
    return has;
}

void vt_attributes(struct vt *v, struct buf *out)
{
    int rows, cols;
    size_of(v, &rows, &cols);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < cols; x++) {
            VTermScreenCell c;
            vterm_screen_get_cell(v->screen, (VTermPos){y, x}, &c);
            bool plain = VTERM_COLOR_IS_DEFAULT_FG(&c.fg) && VTERM_COLOR_IS_DEFAULT_BG(&c.bg);
            buf_addc(out, c.attrs.reverse     ? 'r'
                          : c.attrs.bold      ? 'b'
                          : c.attrs.underline ? 'u'
                          : plain             ? '.'
                                              : 'c');
        }
        while (out->len > 0 && out->s[out->len - 1] == '.')
            out->s[--out->len] = '\0';
        buf_addc(out, '\n');
    }
}

#define CELL_W 8.43 /* DejaVu Sans Mono at 14 px */
#define CELL_H 17
#define SVG_FG 0xd0d0d0u
#define SVG_BG 0x101418u

static unsigned rgb_of(struct vt *v, VTermColor c, bool is_default, unsigned otherwise)
{
    if (is_default)
        return otherwise;
    vterm_screen_convert_color_to_rgb(v->screen, &c);
    return (unsigned)c.rgb.red << 16 | (unsigned)c.rgb.green << 8 | c.rgb.blue;
}

static void svg_cell(struct vt *v, int y, int x, const VTermScreenCell *c, struct buf *out)
{
    unsigned fg = rgb_of(v, c->fg, VTERM_COLOR_IS_DEFAULT_FG(&c->fg), SVG_FG);
    unsigned bg = rgb_of(v, c->bg, VTERM_COLOR_IS_DEFAULT_BG(&c->bg), SVG_BG);
    if (c->attrs.reverse) {
        unsigned swap = fg;
        fg = bg;
        bg = swap;
    }
    if (bg != SVG_BG)
        buf_addf(out, "<rect x='%.2f' y='%d' width='%.2f' height='%d' fill='#%06x'/>", x * CELL_W,
                 y * CELL_H, (c->width > 0 ? c->width : 1) * CELL_W, CELL_H, bg);
    if (c->chars[0] == 0 || c->chars[0] == ' ')
        return;
    buf_addf(out, "<text x='%.2f' y='%d' fill='#%06x'%s%s>", x * CELL_W, y * CELL_H + 13, fg,
             c->attrs.bold ? " font-weight='bold'" : "",
             c->attrs.underline ? " text-decoration='underline'" : "");
    if (c->chars[0] == '<')
        buf_adds(out, "&lt;");
    else if (c->chars[0] == '&')
        buf_adds(out, "&amp;");
    else
        cell_text(c, out);
    buf_adds(out, "</text>");
}

void vt_svg(struct vt *v, struct buf *out)
{
    int rows, cols;
    size_of(v, &rows, &cols);
    buf_addf(out,
             "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%d' "
             "font-family='DejaVu Sans Mono,monospace' font-size='14'>"
             "<rect width='100%%' height='100%%' fill='#%06x'/>\n",
             cols * CELL_W, rows * CELL_H, SVG_BG);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < cols;) {
            VTermScreenCell c;
            vterm_screen_get_cell(v->screen, (VTermPos){y, x}, &c);
            svg_cell(v, y, x, &c, out);
            x += c.width > 0 ? c.width : 1;
        }
        buf_addc(out, '\n');
    }
    buf_adds(out, "</svg>\n");
}

const char *vt_title(const struct vt *v)
{
    return buf_str(&v->title);
}

bool vt_altscreen(const struct vt *v)
{
    return v->altscreen;
}

bool vt_cursor_visible(const struct vt *v)
{
    return v->cursor;
}

const struct buf *vt_raw(const struct vt *v)
{
    return &v->raw;
}

int vt_reads(const struct vt *v)
{
    return v->reads;
}

bool vt_cooked(const struct vt *v)
{
    struct termios t;
    return tcgetattr(v->slave, &t) == 0 && (t.c_lflag & (ICANON | ECHO)) == (ICANON | ECHO);
}

long vt_cpu_ms(const struct vt *v)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)v->pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *p = strrchr(text, ')');
    unsigned long user = 0, sys = 0;
    if (!p ||
        sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &sys) != 2)
        return -1;
    return (long)((user + sys) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}
