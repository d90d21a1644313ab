/* The command line: a table of commands, one source file each, and what they share.
 *
 * Exit codes: 0 done; 1 the thing asked for is not so (a check failed, there is no record); 2 bad
 * usage or input, the message names what was expected and the nearest valid; 3 the system or the
 * machine failed; 130 interrupted. */
#ifndef WARPLOOP_CMD_CMD_H
#define WARPLOOP_CMD_CMD_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/version.h"
#include "core/cmd/options.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NOT_SO = 1,
    EXIT_BAD_INPUT = 2,
    EXIT_BROKEN = 3,
    EXIT_INTERRUPTED = 130,
};

struct cmd {
    const char *name;
    const char *usage;                 /* positional arguments: "RUN [TEXT]" (see args_parse) */
    const char *summary;               /* one line */
    const struct option_desc *options; /* NULL: none but --help */
    const char *details;               /* further lines of --help, or NULL */
    enum exit_code (*run)(const struct args *a);
};

/* All commands in the order that help shows them; ends with a NULL. */
extern const struct cmd *const cmd_table[];

extern const struct cmd cmd_run, cmd_attach, cmd_watch, cmd_resume, cmd_pause, cmd_stop, cmd_steer,
    cmd_goal, cmd_fork, cmd_ls, cmd_show, cmd_log, cmd_diff, cmd_best, cmd_submit, cmd_bench,
    cmd_task, cmd_doctor, cmd_demo, cmd_help, cmd_version;

/* `warploop` alone: the runs that exist and the three things one can do. */
enum exit_code overview_run(void);

/* The whole program: finds the command, parses, runs, flushes standard output. */
int cmd_main(int argc, char **argv);

/* The command of that name or NULL; *near (may be NULL) is then the nearest name or NULL. */
const struct cmd *cmd_find(const char *name, const char **near);

/* --help of the program and of one command. */
void cmd_help_all(struct buf *out);
void cmd_help_one(const struct cmd *c, struct buf *out);

/* Print "warploop: message" (made fit for a terminal) on standard error and give the exit code that
 * belongs to the error. */
enum exit_code cmd_fail(const struct error *e);
enum exit_code cmd_exit_code(const struct error *e);

/* Print b on standard output and free it. Standard output that cannot be written is reported once,
 * by cmd_main. */
void cmd_print(struct buf *b);

#endif
