/* A command's options as a table: getopt_long's arguments, the checks of values and the text of
 * --help are all made from it, so that none of the three can disagree.
 *
 * Limits: at most OPTIONS_MAX options a command, POSITIONALS_MAX positional arguments. */
#ifndef WARPLOOP_CMD_OPTIONS_H
#define WARPLOOP_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/error.h"

#define OPTIONS_MAX     24
#define POSITIONALS_MAX 256

enum option_kind {
    OPTION_FLAG,   /* given or not */
    OPTION_TEXT,   /* any text */
    OPTION_REAL,   /* a finite number in lo..hi */
    OPTION_WHOLE,  /* a whole number in lo..hi */
    OPTION_CHOICE, /* one of `choices` (separated by |) */
};

struct option_desc {
    const char *name; /* without dashes; NULL ends a table */
    char letter;      /* short form or 0 */
    enum option_kind kind;
    const char *value; /* what --help calls the value; NULL for a flag */
    const char *help;  /* one line */
    double lo, hi;     /* numbers; both 0: any */
    const char *choices;
};

struct option_value {
    bool given;
    const char *text; /* borrowed from argv */
    double real;
    int64_t whole;
};

/* A command line after parsing. Borrows argv and the table. */
struct args {
    const struct option_desc *table;
    struct option_value values[OPTIONS_MAX];
    const char *pos[POSITIONALS_MAX];
    int npos;
    bool help; /* --help was given: nothing else was checked */
};

/* argv[0] is the command's name. `usage` ("RUN [TEXT]") names the positional arguments: as many
 * words without brackets are needed, as many words in all are allowed, a last one that ends in
 * "..." allows any number. ERR_INPUT says what was expected and the nearest valid name. */
bool args_parse(struct args *a, const struct option_desc *table, const char *usage, int argc,
                char **argv, struct error *e) WARN_UNUSED;

/* Values by name; asking for a name that is not in the table is a bug and aborts. */
bool args_flag(const struct args *a, const char *name);
const char *args_text(const struct args *a, const char *name, const char *fallback);
double args_real(const struct args *a, const char *name, double fallback);
int64_t args_whole(const struct args *a, const char *name, int64_t fallback);
/* Positional argument i, or NULL. */
const char *args_pos(const struct args *a, int i);

/* The lines of --help for a table. */
void options_help(const struct option_desc *table, struct buf *out);

/* A number in full: nothing before or after it. */
bool parse_real(const char *text, double *out);
bool parse_whole(const char *text, int64_t *out);

/* The name in names[0..n) that is closest to `word`, or NULL when none is near enough to be meant
 * (more than a third of the letters differ). */
const char *nearest_name(const char *word, const char *const *names, size_t n);

#endif
