/* A picture of a terminal: runs a command on an emulated one, types keys, writes the screen as SVG
 * (rsvg-convert makes a PNG of it) and prints it as text.
 *
 *   shot ROWS COLS OUT.svg KEYS MILLISECONDS COMMAND...
 *
 * KEYS are typed one by one, each after the screen has come to rest; the picture is taken when
 * nothing has come for MILLISECONDS (at most ten times as long). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "tests/support/vt.h"

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: shot ROWS COLS OUT.svg KEYS MILLISECONDS COMMAND...\n");
        return 2;
    }
    struct vt_opts o = {.rows = atoi(argv[1]), .cols = atoi(argv[2]), .argv = argv + 6};
    int rest = atoi(argv[5]);
    struct vt *v = vt_start(&o);
    vt_settle(v, rest, 10 * rest);
    for (const char *k = argv[4]; *k; k++) {
        vt_sendn(v, k, 1);
        vt_settle(v, 100, 2000);
    }
    vt_settle(v, rest, 10 * rest);
    struct buf text = {0}, svg = {0};
    struct error e = {0};
    vt_text(v, &text);
    vt_svg(v, &svg);
    vt_end(v);
    fputs(buf_str(&text), stdout);
    bool ok = fs_write(argv[3], buf_str(&svg), svg.len, &e);
    if (!ok)
        fprintf(stderr, "shot: %s\n", e.msg);
    buf_free(&text);
    buf_free(&svg);
    return !ok;
}
