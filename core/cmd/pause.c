/* warploop pause. */
#include "core/cmd/ask.h"

static enum exit_code run(const struct args *a)
{
    return ask_driver(args_pos(a, 0), "pause", "", "pause");
}

const struct cmd cmd_pause = {
    .name = "pause",
    .usage = "[RUN]",
    .summary = "pause a run: what is in flight is finished first",
    .details =
        "A paused run stays paused, also when its engine dies and is started again; \"warploop\n"
        "resume RUN\" goes on. Exit code 1 when nobody drives the run.",
    .run = run,
};
