/* warploop version. */
#include <stdio.h>

#include "core/cmd/cmd.h"
#include "core/log/log.h"

static enum exit_code run(const struct args *a)
{
    (void)a;
    printf("warploop %s (log schema %d)\n", WARPLOOP_VERSION, LOG_SCHEMA);
    return EXIT_DONE;
}

const struct cmd cmd_version = {
    .name = "version",
    .usage = "",
    .summary = "print the version",
    .run = run,
};
