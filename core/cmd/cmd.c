#include "core/cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/text.h"

const struct cmd *const cmd_table[] = {
    &cmd_run,   &cmd_attach, &cmd_watch,   &cmd_resume, &cmd_pause, &cmd_stop,
    &cmd_steer, &cmd_goal,   &cmd_fork,    &cmd_ls,     &cmd_show,  &cmd_log,
    &cmd_diff,  &cmd_best,   &cmd_submit,  &cmd_bench,  &cmd_task,  &cmd_doctor,
    &cmd_demo,  &cmd_help,   &cmd_version, NULL,
};

static const struct option_desc no_options[] = {{0}};

const struct cmd *cmd_find(const char *name, const char **near)
{
    const char *names[ARRAY_LEN(cmd_table)];
    size_t n = 0;
    for (; cmd_table[n]; n++) {
        names[n] = cmd_table[n]->name;
        if (strcmp(name, names[n]) == 0) {
            return cmd_table[n];
        }
    }
    if (near) {
        *near = nearest_name(name, names, n);
    }
    return NULL;
}

void cmd_help_all(struct buf *out)
{
    buf_adds(out, "warploop: optimize one kernel for hours, restart-safe, every number measured\n"
                  "\nusage: warploop COMMAND ...      (warploop alone lists the runs)\n\n");
    for (size_t i = 0; cmd_table[i]; i++) {
        char left[64];
        const char *usage = cmd_table[i]->usage;
        snprintf(left, sizeof left, "%s%s%s", cmd_table[i]->name, *usage ? " " : "", usage);
        buf_addf(out, "  %-26s %s\n", left, cmd_table[i]->summary);
    }
    buf_adds(out,
             "\n\"warploop COMMAND --help\" says more, \"warploop help keys\" lists the keys. RUN\n"
             "is a run's name (kda-3) or a path; left out, the newest run is meant.\n"
             "\nExit codes: 0 done; 1 the thing asked for is not so (a check failed, there is\n"
             "no record); 2 bad usage or input; 3 the system or the machine failed;\n"
             "130 interrupted.\n"
             "\nEnvironment: WARPLOOP_HOME (where runs and tasks of your own are kept:\n"
             "runs/ and kernels/; ~/.local/share/warploop), WARPLOOP_KERNELS (where the tasks\n"
             "lie that come with warploop; your own are looked at first), WARPLOOP_PLAIN (not\n"
             "empty: plain lines instead of the workbench), NO_COLOR (not empty: no colour).\n");
}

void cmd_help_one(const struct cmd *c, struct buf *out)
{
    bool has = c->options && c->options[0].name;
    buf_addf(out, "usage: warploop %s%s%s%s\n\n%s\n\n", c->name, has ? " [OPTIONS]" : "",
             *c->usage ? " " : "", c->usage, c->summary);
    options_help(c->options ? c->options : no_options, out);
    if (c->details) {
        buf_addf(out, "\n%s\n", c->details);
    }
    buf_adds(out, "\nExit codes: 0 done, 1 not so, 2 bad usage or input, 3 system failure, 130 "
                  "interrupted.\n");
}

enum exit_code cmd_exit_code(const struct error *e)
{
    switch (e->code) {
    case ERR_INPUT:
    case ERR_NOTFOUND:
        return EXIT_BAD_INPUT;
    case ERR_CANCELLED:
        return EXIT_INTERRUPTED;
    case ERR_NONE:
    case ERR_BUSY:
    case ERR_FULL:
    case ERR_CORRUPT:
    case ERR_NEWER:
    case ERR_READONLY:
    case ERR_SYSTEM:
    case ERR_CHILD:
        break;
    }
    return EXIT_BROKEN;
}

enum exit_code cmd_fail(const struct error *e)
{
    struct buf b = {0};
    text_sanitise(&b, e->msg, strlen(e->msg), 8);
    fflush(stdout);
    fprintf(stderr, "warploop: %s\n", buf_str(&b));
    buf_free(&b);
    return cmd_exit_code(e);
}

void cmd_print(struct buf *b)
{
    fwrite(buf_str(b), 1, b->len, stdout);
    buf_free(b);
}

/* Descriptors 0-2 that are closed would be given to the next file that is opened: the log's. */
static void open_standard(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) {
            _exit(EXIT_BROKEN);
        }
    }
}

static enum exit_code dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return overview_run();
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = "help";
    } else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        name = "version";
    }
    struct error e = {0};
    const char *near = NULL;
    const struct cmd *c = cmd_find(name, &near);
    if (!c) {
        error_set(&e, ERR_INPUT, "unknown %s \"%.80s\"%s%s%s (see warploop --help)",
                  *name == '-' ? "option" : "command", name, near ? "; nearest is \"" : "",
                  near ? near : "", near ? "\"" : "");
        return cmd_fail(&e);
    }
    struct args a;
    if (!args_parse(&a, c->options ? c->options : no_options, c->usage, argc - 1, argv + 1, &e)) {
        return cmd_fail(&e);
    }
    if (a.help) {
        struct buf b = {0};
        cmd_help_one(c, &b);
        cmd_print(&b);
        return EXIT_DONE;
    }
    return c->run(&a);
}

int cmd_main(int argc, char **argv)
{
    open_standard();
    setlocale(LC_CTYPE, ""); /* numbers stay in the C locale: they are read by programs too */
    enum exit_code rc = dispatch(argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) {
        struct error e = {0};
        error_sys(&e, "cannot write to standard output");
        cmd_fail(&e);
        return rc == EXIT_DONE ? EXIT_BROKEN : rc;
    }
    return rc;
}
