/* The agent that proposes the versions of a recorded run again, in order, with their sources,
 * strategies and hypotheses: for tests, demonstrations and measuring an old run on a new machine.
 *
 * Its place is the number of versions in the state (baseline and start are versions 0 and 1), so a
 * restarted engine goes on where it was. Reads the file read-only. */
#ifndef WARPLOOP_LOOP_REPLAY_H
#define WARPLOOP_LOOP_REPLAY_H

#include "core/loop/agent.h"

/* `path`: a run's file. An unreadable file or a run of another task is an error. */
bool replay_open(const char *path, const struct task *t, struct agent *out,
                 struct error *e) WARN_UNUSED;

#endif
