/* warploop stop. */
#include "core/cmd/ask.h"
#include "core/cmd/json_out.h"

static enum exit_code run(const struct args *a)
{
    return ask_driver(a, "stop", args_flag(a, "now") ? "now" : "",
                      args_flag(a, "now") ? "stop at once" : "stop");
}

static const struct option_desc options[] = {
    {.name = "now",
     .kind = OPTION_FLAG,
     .help = "do not wait for the build or evaluation in flight"},
    JSON_OPTION("one object: what was asked of whom"),
    {0},
};

const struct cmd cmd_stop = {
    .name = "stop",
    .usage = "[RUN]",
    .summary = "stop a run's engine at the next safe point",
    .options = options,
    .details =
        "Nothing is lost: \"warploop resume RUN\" goes on. Exit code 1 when nobody drives the run.",
    .run = run,
};
