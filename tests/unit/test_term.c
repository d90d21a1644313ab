/* The terminal layer on real pseudo-terminals: what it draws, sends, reads, and leaves behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tests/support/vt.h"
#include "tui/term.h"

/* ------------------------------------------------------------- the program on the terminal */

struct program {
    struct term *t;
    struct grid *g;
    struct buf log; /* names of the keys so far */
    int frames;
};

static void draw(struct program *p)
{
    int rows, cols;
    term_size(p->t, &rows, &cols);
    if (rows != p->g->rows || cols != p->g->cols)
        grid_resize(p->g, rows, cols);
    grid_clear(p->g);
    struct view v = grid_view(p->g, (struct rect){0, 0, rows, cols});
    view_textf(v, 0, 0, ROLE_TITLE, "size %dx%d", rows, cols);
    view_textf(v, 1, 0, ROLE_KEYWORD, "frame %d", p->frames);
    view_text(v, 2, 0, ROLE_TEXT, "wide \xe4\xb8\x96\xe7\x95\x8c e\xcc\x81 |");
    view_text(v, 3, 0, ROLE_BADGE, "\xe2\x94\x80\xe2\xa3\xbf bar");
    view_flags(v, 3, 0, 4, CELL_REVERSE);
    view_text(v, 4, 0, ROLE_RECORD, term_name(p->t));
    /* the newest keys */
    const char *keys = buf_str(&p->log);
    size_t n = p->log.len;
    view_text(v, 5, 0, ROLE_TEXT, n > 70 ? keys + n - 70 : keys);
    term_push(p->t, p->g);
}

static void note_paste(struct program *p)
{
    size_t n;
    const char *s = term_pasted(p->t, &n);
    buf_addf(&p->log, "[paste %zu:", n);
    for (size_t i = 0; i < n && i < 60; i++)
        buf_addf(&p->log, s[i] == '\n' ? "/" : "%c", s[i]);
    buf_adds(&p->log, "]");
}

static void *crash_thread(void *arg)
{
    (void)arg;
    fprintf(stderr, "about to crash\n");
    raise(SIGSEGV);
    return NULL;
}

/* 0: go on, else leave with that - 1. */
static int handle(struct program *p, uint32_t k)
{
    char name[24];
    pthread_t th;
    switch (k) {
    case K_HANGUP:
        return 8;
    case K_PASTE:
        note_paste(p);
        return 0;
    case K_RESIZE:
        return 0;
    case 'q':
        return 1;
    case 'f':
        p->frames++;
        return 0;
    case 'c':
        return term_copy(p->t, "hello", 5) ? 0 : 2;
    case 'k':
        pthread_create(&th, NULL, crash_thread, NULL);
        pthread_join(th, NULL);
        return 0;
    case 'r':
        term_redraw(p->t);
        return 0;
    case K_CTRL | 'z':
        term_suspend(p->t);
        return 0;
    case 'e': {
        char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"echo in the editor; exit 3"},
                        NULL};
        buf_addf(&p->log, "[run %d]", term_run(p->t, argv));
        return 0;
    }
    case 'w':
        fprintf(stderr, "stray \033]0;evil\a print\n");
        return 0;
    default:
        buf_addf(&p->log, "<%s>", key_label(k, name));
        return 0;
    }
}

static int loop(struct program *p)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int sfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    for (;;) {
        draw(p);
        struct pollfd f[2] = {{term_fd(p->t), POLLIN, 0}, {sfd, POLLIN, 0}};
        poll(f, 2, -1);
        struct signalfd_siginfo si;
        while (read(sfd, &si, sizeof si) > 0)
            if (si.ssi_signo == SIGHUP)
                term_lost(p->t);
        term_check_size(p->t);
        uint32_t k;
        int rc = 0;
        while (rc == 0 && (k = term_key(p->t)) != K_NONE)
            rc = handle(p, k);
        if (rc > 0)
            return rc - 1;
    }
}

static int program(void *ctx)
{
    const struct term_opts *o = ctx;
    struct error e = {0};
    struct program p = {0};
    p.t = term_init(o, &e);
    if (!p.t) {
        printf("refused: %s\n", e.msg);
        return 9;
    }
    p.g = grid_new(1, 1, term_glyphs(p.t));
    int rc = loop(&p);
    if (rc == 7)
        term_abandon(p.t);
    else
        term_end(p.t);
    grid_free(p.g);
    buf_free(&p.log);
    if (rc == 0)
        printf("left\n");
    return rc;
}

/* A shell's part in job control: runs the program as a job, says when it stops, brings it back. */
static int shell(void *ctx)
{
    signal(SIGTTOU, SIG_IGN);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        tcsetpgrp(0, getpid());
        signal(SIGTTOU, SIG_DFL);
        int rc = program(ctx);
        fflush(stdout);
        _exit(rc);
    }
    setpgid(pid, pid);
    tcsetpgrp(0, pid);
    int st, stops = 0;
    while (waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st)) {
        tcsetpgrp(0, getpgrp());
        printf("job stopped %d\n", ++stops);
        fflush(stdout);
        char line[10];
        if (!fgets(line, sizeof line, stdin))
            return 1;
        tcsetpgrp(0, pid);
        kill(-pid, SIGCONT);
    }
    return WEXITSTATUS(st);
}

static struct vt *start(const char *term, const char *locale, int rows, int cols)
{
    static struct term_opts o;
    struct vt_opts vo = {rows, cols, term, locale, NULL, program, &o};
    return vt_start(&vo);
}

static void expect(struct vt *v, const char *text)
{
    if (vt_wait(v, text, 5000))
        return;
    struct buf b = {0};
    vt_text(v, &b);
    fputs(buf_str(&b), stderr); /* print_message cuts */
    fail_msg("\"%s\" did not appear", text);
}

static void leave(struct vt *v)
{
    vt_send(v, "q");
    int st = vt_wait_exit(v, 5000);
    assert_true(WIFEXITED(st));
    assert_int_equal(WEXITSTATUS(st), 0);
    assert_true(vt_cooked(v));
    assert_true(vt_cursor_visible(v));
    assert_false(vt_altscreen(v));
    assert_true(vt_has(v, "left"));
}

/* ---------------------------------------------------------------------------------- tests */

static void test_draws(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    expect(v, "size 24x80");
    expect(v, "wide \xe4\xb8\x96\xe7\x95\x8c e\xcc\x81 |");
    expect(v, "\xe2\x94\x80\xe2\xa3\xbf bar");
    assert_true(vt_altscreen(v));
    assert_false(vt_cursor_visible(v));
    assert_false(vt_cooked(v));
    struct buf a = {0};
    vt_attributes(v, &a);
    char *row = strchr(strchr(strchr(buf_str(&a), '\n') + 1, '\n') + 1, '\n') + 1;
    assert_memory_equal(row, "rrrrcc", 6);
    assert_memory_equal(buf_str(&a), "cccccccccc\n", 11);
    buf_free(&a);
    leave(v);
    assert_null(strstr(buf_str(vt_raw(v)), "\033(0")); /* no charset switches for borders */
    assert_non_null(strstr(buf_str(vt_raw(v)), "\033[?2004h"));
    assert_non_null(strstr(buf_str(vt_raw(v)), "\033[?2004l"));
    vt_end(v);
}

/* An unchanged screen costs nothing, a small change little; each frame stands in its brackets. */
static void test_frugal(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 36, 120);
    expect(v, "frame 0");
    vt_settle(v, 100, 2000);
    vt_send(v, "\033[99;5u"); /* no key: nothing to draw */
    assert_int_equal(vt_settle(v, 200, 2000), 0);
    size_t before = vt_raw(v)->len;
    for (int i = 1; i <= 5; i++) {
        char want[20];
        snprintf(want, sizeof want, "frame %d", i);
        vt_send(v, "f");
        expect(v, want);
    }
    const char *p = vt_raw(v)->s + before;
    assert_true(vt_raw(v)->len - before < 5 * 80);
    while (*p) {
        assert_memory_equal(p, "\033[?2026h", 8);
        const char *end = strstr(p, "\033[?2026l");
        assert_non_null(end);
        assert_true(strstr(p + 1, "\033[?2026h") == NULL || strstr(p + 1, "\033[?2026h") > end);
        p = end + 8;
    }
    long cpu = vt_cpu_ms(v);
    assert_int_equal(vt_settle(v, 1000, 1000), 0); /* idle: silent */
    assert_true(vt_cpu_ms(v) - cpu <= 10);
    leave(v);
    vt_end(v);
}

static void test_terminals(void **state)
{
    (void)state;
    static const struct {
        const char *term, *locale, *shows;
        bool colour;
    } t[] = {
        {"xterm", NULL, "xterm", true},
        {"tmux-256color", NULL, "tmux-256color", true},
        {"screen", NULL, "screen", true},
        {"linux", NULL, "linux", true},
        {"vt100", NULL, "vt100", false},
        {"no-such-terminal", NULL, "xterm-256color (for unknown TERM=no-such-terminal)", true},
        {"xterm-256color", "C", "xterm-256color", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        struct vt *v = start(t[i].term, t[i].locale, 24, 80);
        expect(v, "frame 0");
        expect(v, t[i].shows);
        struct buf a = {0};
        vt_attributes(v, &a);
        assert_int_equal(strchr(buf_str(&a), 'c') != NULL, t[i].colour);
        buf_free(&a);
        if (t[i].locale || strcmp(t[i].term, "vt100") == 0)
            expect(v, "wide ? ?  e |");
        vt_send(v, "f");
        expect(v, "frame 1");
        vt_send(v, "q");
        assert_int_equal(vt_wait_exit(v, 5000), 0);
        assert_true(vt_cooked(v));
        vt_end(v);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "TERM is not set"}, {"dumb", "TERM=dumb"}, {"unknown", "TERM=unknown"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct vt *v = start(bad[i][0], NULL, 24, 80);
        expect(v, bad[i][1]);
        assert_int_equal(WEXITSTATUS(vt_wait_exit(v, 5000)), 9);
        assert_true(vt_cooked(v));
        vt_end(v);
    }
    int fd[2], keep = dup(0);
    assert_int_equal(pipe(fd), 0);
    dup2(fd[0], 0);
    struct error e = {0};
    struct term_opts o = {0};
    assert_null(term_init(&o, &e));
    assert_non_null(strstr(e.msg, "terminal"));
    dup2(keep, 0);
    close(fd[0]);
    close(fd[1]);
    close(keep);
}

static void test_keys(void **state)
{
    (void)state;
    static const char *const t[][2] = {
        {"a", "<a>"},
        {"\033[A", "<Up>"},
        {"\033OB", "<Down>"},
        {"\033[5~", "<PgUp>"},
        {"\033[H", "<Home>"},
        {"\033OF", "<End>"},
        {"\033[Z", "<Shift-Tab>"},
        {"\t", "<Tab>"},
        {"\r", "<Enter>"},
        {"\177", "<Backspace>"},
        {"\033OP", "<F1>"},
        {"\033[21~", "<F10>"},
        {"\033x", "<Alt-x>"},
        {"\033\r", "<Alt-Enter>"},
        {"\033", "<Esc>"},
        {"\014", "<Ctrl-L>"},
        {"\003", "<Ctrl-C>"},
        {"\xe4\xb8\x96", "<\xe4\xb8\x96>"},
        {"\xff\xfe"
         "b\xe4\xb8"
         "d",
         "<b><d>"},
        {"\033[99;5uz", "<z>"},
        {"\033]11;rgb:1111/2222/3333\ay", "<y>"},
        {"\033[I.", "<.>"},
    };
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    char want[400] = "";
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        size_t n = strlen(want);
        snprintf(want + n, sizeof want - n, "%s", t[i][1]);
        vt_send(v, t[i][0]);
        n = strlen(want);
        expect(v, n > 40 ? want + n - 12 : want); /* nothing between the last ones */
    }
    leave(v);
    vt_end(v);
}

static void test_paste(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    vt_send(v, "\033[200~line1\rline2\033[A q\001\033]0;x\007end\033[201~");
    expect(v, "[paste ");
    expect(v, "line1/line2");
    expect(v, "end]");
    assert_false(vt_has(v, "[A")); /* an arrow inside is no text and no key */
    vt_send(v, "\033[200~never closed");
    expect(v, "[paste 12:never closed]");
    char *big = xmalloc(200020);
    memset(big, 'x', 200020);
    memcpy(big, "\033[200~", 6);
    memcpy(big + 200006, "\033[201~!", 8);
    vt_sendn(v, big, 200013);
    free(big);
    assert_true(vt_wait(v, "<!>", 20000));
    leave(v);
    vt_end(v);
}

static void test_resize(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "size 24x80");
    uint64_t x = 7;
    for (int i = 0; i < 200; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        int rows = i % 20 == 0 ? 1 : 1 + (int)(x >> 33) % 120;
        int cols = i % 30 == 0 ? 1 : 1 + (int)(x >> 45) % 300;
        vt_resize(v, rows, cols);
        if (i % 7 == 0)
            vt_settle(v, 5, 50);
    }
    vt_resize(v, 1, 1);
    vt_settle(v, 50, 500);
    vt_resize(v, 30, 100);
    expect(v, "size 30x100");
    expect(v, "frame 0");
    vt_send(v, "f");
    expect(v, "frame 1");
    leave(v);
    vt_end(v);
}

static void test_suspend(void **state)
{
    (void)state;
    static struct term_opts o;
    struct vt_opts vo = {24, 80, NULL, NULL, NULL, shell, &o};
    struct vt *v = vt_start(&vo);
    expect(v, "frame 0");
    for (int i = 0; i < 2; i++) {
        vt_send(v, "\032");
        expect(v, i == 0 ? "job stopped 1" : "job stopped 2");
        assert_true(vt_cooked(v));
        assert_false(vt_altscreen(v));
        assert_true(vt_cursor_visible(v));
        vt_send(v, "fg\n");
        expect(v, "frame 0");
        assert_true(vt_altscreen(v));
        assert_false(vt_cooked(v));
    }
    vt_send(v, "f");
    expect(v, "frame 1");
    vt_send(v, "e"); /* a program on the terminal, and back */
    expect(v, "[run 3]");
    assert_non_null(strstr(buf_str(vt_raw(v)), "in the editor"));
    assert_false(vt_has(v, "in the editor"));
    vt_send(v, "f");
    expect(v, "frame 2");
    leave(v);
    vt_end(v);
}

static void test_crash(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    vt_send(v, "k");
    int st = vt_wait_exit(v, 10000);
    assert_true(WIFSIGNALED(st));
    assert_int_equal(WTERMSIG(st), SIGSEGV);
    assert_true(vt_cooked(v));
    assert_false(vt_altscreen(v));
    assert_true(vt_cursor_visible(v));
    assert_true(vt_has(v, "about to crash"));
    vt_end(v);
}

/* What others print meanwhile is kept from the screen and shown, made harmless, at the end. */
static void test_stray(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    vt_send(v, "wf");
    expect(v, "frame 1");
    assert_false(vt_has(v, "stray"));
    leave(v);
    assert_true(vt_has(v, "stray  print"));
    assert_string_equal(vt_title(v), "");
    vt_end(v);
}

static void test_hangup(void **state)
{
    (void)state;
    for (int by_signal = 0; by_signal < 2; by_signal++) {
        struct vt *v = start(NULL, NULL, 24, 80);
        expect(v, "frame 0");
        if (by_signal)
            vt_signal(v, SIGHUP);
        else
            vt_hangup(v);
        int st = vt_wait_exit(v, 5000);
        assert_true(WIFEXITED(st));
        assert_int_equal(WEXITSTATUS(st), 7);
        vt_end(v);
    }
}

static void test_copy(void **state)
{
    (void)state;
    struct vt *v = start(NULL, NULL, 24, 80);
    expect(v, "frame 0");
    vt_send(v, "cf");
    expect(v, "frame 1");
    assert_non_null(strstr(buf_str(vt_raw(v)), "\033]52;c;aGVsbG8=\a"));
    leave(v);
    vt_end(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),     cmocka_unit_test(test_frugal),
        cmocka_unit_test(test_terminals), cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_keys),      cmocka_unit_test(test_paste),
        cmocka_unit_test(test_resize),    cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_crash),     cmocka_unit_test(test_stray),
        cmocka_unit_test(test_hangup),    cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
