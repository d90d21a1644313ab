/* Golden screens: the workbench on a run that is always the same, at many sizes, on several kinds
 * of terminal, after some keys, against screens that a person has looked at and kept.
 *
 *   golden DIR            compare with DIR/NAME.txt (and NAME.attr), say what differs
 *   golden DIR --update   write them anew
 *
 * The run is a file of mkrun's: fixed events with fixed times and no engine, so that no clock is on
 * the screen. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/diff.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "tests/support/mkrun.h"
#include "tests/support/vt.h"
#include "tui/workbench.h"

struct screen {
    const char *name;
    int rows, cols;
    const char *term, *locale; /* NULL: xterm-256color, C.UTF-8 */
    const char *keys;
    bool attributes; /* compare those as well */
};

static const struct screen screens[] = {
    {"80x24", 24, 80, NULL, NULL, "", true},
    {"120x36", 36, 120, NULL, NULL, "", true},
    {"200x60", 60, 200, NULL, NULL, "", false},
    {"40x12", 12, 40, NULL, NULL, "", false},
    {"20x6", 6, 20, NULL, NULL, "", false},
    {"8x3", 3, 8, NULL, NULL, "", false},
    {"1x1", 1, 1, NULL, NULL, "", false},
    {"120x36-tmux", 36, 120, "tmux-256color", NULL, "", false},
    {"120x36-linux", 36, 120, "linux", NULL, "", false},
    {"120x36-vt100", 36, 120, "vt100", NULL, "", false},
    {"120x36-ascii", 36, 120, NULL, "C", "", false},
    {"120x36-unknown-term", 36, 120, "no-such-terminal", NULL, "", false},
    {"zoom-source", 36, 120, NULL, NULL, "1z", false},
    {"zoom-graph", 36, 120, NULL, NULL, "2z", true},
    {"zoom-counters", 36, 120, NULL, NULL, "3z", false},
    {"zoom-reasoning", 36, 120, NULL, NULL, "4z", false},
    {"previous-version", 36, 120, NULL, NULL, ",,,", false},
    {"help", 36, 120, NULL, NULL, "?", false},
    {"help-80x24", 24, 80, NULL, NULL, "?", false},
    {"search", 36, 120, NULL, NULL, "1/float\r", false},
    {"command-line", 24, 80, NULL, NULL, ":pau", false},
};

static int open_workbench(void *ctx)
{
    struct workbench_opts o = {.run_path = ctx, .read_only = true, .wake_fd = -1};
    struct error e = {0};
    enum workbench_result r = workbench_run(&o, &e);
    if (r == WORKBENCH_FAILED)
        printf("%s\n", e.msg);
    return (int)r;
}

static void take(const struct screen *s, char *run, struct buf *text, struct buf *attributes)
{
    struct vt_opts o = {.rows = s->rows,
                        .cols = s->cols,
                        .term = s->term,
                        .locale = s->locale,
                        .call = open_workbench,
                        .ctx = run};
    struct vt *v = vt_start(&o);
    vt_settle(v, 150, 5000);
    for (const char *k = s->keys; *k; k++) {
        vt_sendn(v, k, 1);
        vt_settle(v, 60, 2000);
    }
    vt_settle(v, 150, 2000);
    vt_text(v, text);
    vt_attributes(v, attributes);
    vt_end(v);
}

static void show_difference(const char *path, const struct buf *want, const struct buf *got)
{
    struct buf b = {0};
    diff_unified(path, buf_str(want), "now", buf_str(got), 1, &b);
    fputs(buf_str(&b), stdout);
    buf_free(&b);
}

/* True when the file holds what was taken, or was written. */
static bool settle(const char *dir, const char *name, const char *kind, const struct buf *got,
                   bool update)
{
    char *path = xasprintf("%s/%s.%s", dir, name, kind);
    struct buf want = {0};
    struct error e = {0};
    bool same = fs_read(path, 1 << 20, &want, &e) && want.len == got->len &&
                memcmp(want.s, buf_str(got), got->len) == 0;
    if (!same)
        show_difference(path, &want, got);
    if (!same && update) {
        same = fs_write(path, buf_str(got), got->len, &e);
        if (!same)
            printf("%s\n", e.msg);
        chmod(path, 0644);
    }
    buf_free(&want);
    free(path);
    return same;
}

int main(int argc, char **argv)
{
    bool update = argc == 3 && strcmp(argv[2], "--update") == 0;
    if (argc != 2 && !update) {
        fprintf(stderr, "usage: golden DIR [--update]\n");
        return 2;
    }
    char dir[] = "/tmp/warploop-golden.XXXXXX";
    if (!mkdtemp(dir))
        return 2;
    setenv("XDG_CONFIG_HOME", dir, 1);
    setenv("TZ", "UTC", 1);
    unsetenv("NO_COLOR");
    char *run = fs_join(dir, "kda-7.warp");
    struct error e = {0};
    struct mkrun_opts o = {.calls = 40};
    int passed = 0, failed = 0;
    if (!mkrun(run, &o, NULL, &e)) {
        fprintf(stderr, "%s\n", e.msg);
        return 2;
    }
    for (size_t i = 0; i < ARRAY_LEN(screens); i++) {
        struct buf text = {0}, attributes = {0};
        take(&screens[i], run, &text, &attributes);
        bool ok = settle(argv[1], screens[i].name, "txt", &text, update);
        if (screens[i].attributes)
            ok = settle(argv[1], screens[i].name, "attr", &attributes, update) && ok;
        if (!ok)
            printf("FAILED %s\n", screens[i].name);
        passed += ok;
        failed += !ok;
        buf_free(&text);
        buf_free(&attributes);
    }
    fs_remove_tree(dir);
    free(run);
    printf("golden: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
