/* Runs a command on a terminal of a given size, for the shell tests.
 *
 * usage: pty ROWS COLS SECONDS STEP... -- COMMAND ...
 * STEPs are carried out in order: "wait:TEXT" until TEXT stands on the screen, "send:KEYS" (\r, \e
 * and \t are what they are in C), "size:ROWSxCOLS", "sleep:MS", "hangup". After the last one the
 * command is waited for. At the end the screen is printed, then a line "modes: cooked|raw,
 * main|alternate, cursor|no cursor". TERM and the rest of the environment are the caller's. Exit
 * status: the command's; 124: it did not end within SECONDS (it is killed then); 125: a text that
 * was waited for did not come (likewise); 2 usage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "tests/support/vt.h"

static int left_ms(int64_t end)
{
    int64_t ms = (end - clock_mono_ns()) / 1000000;
    return ms > 0 ? (int)ms : 0;
}

static void send_keys(struct vt *v, const char *keys)
{
    struct buf b = {0};
    for (; *keys; keys++) {
        if (*keys != '\\' || !keys[1]) {
            buf_addc(&b, *keys);
            continue;
        }
        keys++;
        buf_addc(&b, *keys == 'r' ? '\r' : *keys == 'e' ? '\033' : *keys == 't' ? '\t' : *keys);
    }
    vt_sendn(v, buf_str(&b), b.len);
    buf_free(&b);
}

/* False: a text did not come. */
static bool do_step(struct vt *v, const char *step, int64_t end)
{
    int rows, cols;
    if (strncmp(step, "wait:", 5) == 0) {
        return vt_wait(v, step + 5, left_ms(end));
    }
    if (strncmp(step, "send:", 5) == 0) {
        send_keys(v, step + 5);
    } else if (strncmp(step, "sleep:", 6) == 0) {
        vt_settle(v, atoi(step + 6), atoi(step + 6));
    } else if (sscanf(step, "size:%dx%d", &rows, &cols) == 2) {
        vt_resize(v, rows, cols);
    } else if (strcmp(step, "hangup") == 0) {
        vt_hangup(v);
    } else {
        fprintf(stderr, "pty: unknown step %s\n", step);
        exit(2);
    }
    return true;
}

static void print_screen(struct vt *v)
{
    struct buf b = {0};
    vt_text(v, &b);
    printf("%s\nmodes: %s, %s, %s\n", buf_str(&b), vt_cooked(v) ? "cooked" : "raw",
           vt_altscreen(v) ? "alternate" : "main", vt_cursor_visible(v) ? "cursor" : "no cursor");
    buf_free(&b);
}

int main(int argc, char **argv)
{
    int dashes = 1;
    while (dashes < argc && strcmp(argv[dashes], "--") != 0) {
        dashes++;
    }
    if (dashes < 4 || dashes + 1 >= argc) {
        fprintf(stderr, "usage: pty ROWS COLS SECONDS STEP... -- COMMAND ...\n");
        return 2;
    }
    const char *term = getenv("TERM");
    struct vt_opts o = {
        .rows = atoi(argv[1]),
        .cols = atoi(argv[2]),
        .term = term ? term : "",
        .argv = &argv[dashes + 1],
    };
    int64_t end = clock_mono_ns() + atoi(argv[3]) * (int64_t)1000000000;
    struct vt *v = vt_start(&o);
    int rc = -1;
    for (int i = 4; i < dashes && rc < 0; i++) {
        if (!do_step(v, argv[i], end)) {
            printf("pty: did not come: %s\n", argv[i]);
            rc = 125;
        }
    }
    int status = rc < 0 ? vt_wait_exit(v, left_ms(end)) : 0;
    if (rc < 0) {
        rc = status == -1 ? 124 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    print_screen(v);
    vt_end(v);
    return rc;
}
