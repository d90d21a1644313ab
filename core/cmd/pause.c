/* warploop pause. */
#include "core/cmd/ask.h"
#include "core/cmd/json_out.h"

static enum exit_code run(const struct args *a)
{
    return ask_driver(a, "pause", "", "pause");
}

static const struct option_desc options[] = {JSON_OPTION("one object: what was asked of whom"),
                                             {0}};

const struct cmd cmd_pause = {
    .name = "pause",
    .usage = "[RUN]",
    .summary = "pause a run: what is in flight is finished first",
    .options = options,
    .details =
        "A paused run stays paused, also when its engine dies and is started again; \"warploop\n"
        "resume RUN\" goes on. Exit code 1 when nobody drives the run.",
    .run = run,
};
