/* warploop steer. */
#include <stdlib.h>

#include "core/cmd/ask.h"
#include "core/cmd/json_out.h"

static enum exit_code run(const struct args *a)
{
    struct error e = {0};
    struct run_view v;
    char *text = NULL;
    if (!run_view_open(args_pos(a, 0), &v, &e)) {
        return cmd_fail(&e);
    }
    bool ok =
        ask_text(args_pos(a, 1), &text, &e) && ask_put(&v, "steer", text, "steer", ask_form(a), &e);
    free(text);
    run_view_close(&v);
    return ok ? EXIT_DONE : cmd_fail(&e);
}

static const struct option_desc options[] = {JSON_OPTION("one object: what was asked of whom"),
                                             {0}};

const struct cmd cmd_steer = {
    .name = "steer",
    .usage = "RUN TEXT",
    .summary = "a message to the agent (\"-\": standard input)",
    .options = options,
    .details =
        "At most 1 MiB. The text is kept byte for byte and made fit for a terminal when it is\n"
        "shown. The tuner takes move names as wishes; an agent with a model reads it all.",
    .run = run,
};
