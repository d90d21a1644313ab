/* The options that make up a goal, and the request that carries them to an engine. */
#ifndef WARPLOOP_CMD_GOAL_H
#define WARPLOOP_CMD_GOAL_H

#include "core/cmd/options.h"

#define GOAL_OPTIONS                                                                               \
    {.name = "target",                                                                             \
     .kind = OPTION_REAL,                                                                          \
     .value = "X",                                                                                 \
     .lo = 0.01,                                                                                   \
     .hi = 1e6,                                                                                    \
     .help = "speedup over the baseline at which the run has met its goal"},                       \
        {.name = "hours",                                                                          \
         .kind = OPTION_REAL,                                                                      \
         .value = "H",                                                                             \
         .lo = 0.001,                                                                              \
         .hi = 10000,                                                                              \
         .help = "budget: hours at work"},                                                         \
    {                                                                                              \
        .name = "calls", .kind = OPTION_WHOLE, .value = "N", .lo = 1, .hi = 1e9,                   \
        .help = "budget: tool calls"                                                               \
    }

/* Whether any of them was given. */
bool goal_options_given(const struct args *a);
/* The text of a "goal" request in the inbox (JSON; what is absent stays as it was). Caller frees.
 */
char *goal_request(const struct args *a, const char *text);

#endif
