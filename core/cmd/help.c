/* warploop help. */
#include <string.h>

#include "core/cmd/cmd.h"
#include "tui/keys.h"

static enum exit_code help_keys(void)
{
    struct buf b = {0};
    struct keymap m;
    keymap_default(&m);
    keymap_help(&m, &b);
    cmd_print(&b);
    return EXIT_DONE;
}

static enum exit_code run(const struct args *a)
{
    struct buf b = {0};
    const char *name = args_pos(a, 0);
    if (!name) {
        cmd_help_all(&b);
        cmd_print(&b);
        return EXIT_DONE;
    }
    if (strcmp(name, "keys") == 0) {
        return help_keys();
    }
    const char *near = NULL;
    const struct cmd *c = cmd_find(name, &near);
    if (!c) {
        struct error e = {0};
        error_set(&e, ERR_INPUT, "help: unknown command \"%.80s\"%s%s (see warploop help)", name,
                  near ? "; nearest is " : "", near ? near : "");
        return cmd_fail(&e);
    }
    cmd_help_one(c, &b);
    cmd_print(&b);
    return EXIT_DONE;
}

const struct cmd cmd_help = {
    .name = "help",
    .usage = "[COMMAND]",
    .summary = "what there is, and what a command takes",
    .details = "\"warploop help keys\" lists the keys of the workbench.",
    .run = run,
};
