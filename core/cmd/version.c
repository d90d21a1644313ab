/* warploop version. */
#include <stdio.h>

#include "core/cmd/cmd.h"
#include "core/cmd/json_out.h"
#include "core/log/log.h"

static enum exit_code run(const struct args *a)
{
    if (args_flag(a, "json")) {
        cJSON *o = cJSON_CreateObject();
        out_text(o, "warploop", WARPLOOP_VERSION);
        out_i64(o, "log_schema", LOG_SCHEMA);
        print_json(o);
        return EXIT_DONE;
    }
    printf("warploop %s (log schema %d)\n", WARPLOOP_VERSION, LOG_SCHEMA);
    return EXIT_DONE;
}

static const struct option_desc options[] = {JSON_OPTION("one object"), {0}};

const struct cmd cmd_version = {
    .name = "version",
    .usage = "",
    .summary = "print the version",
    .options = options,
    .run = run,
};
