#include "core/cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define LONG_BASE 256 /* values of options in getopt_long: LONG_BASE + index */
#define WORD_MAX  64

static size_t table_size(const struct option_desc *table)
{
    size_t n = 0;
    while (table && table[n].name) {
        n++;
    }
    if (n > OPTIONS_MAX - 1) {
        abort(); /* a table of ours, checked by a test */
    }
    return n;
}

/* Edit distance (with transpositions) of two short words; long ones count as far apart. */
static size_t distance(const char *a, const char *b)
{
    size_t na = strlen(a);
    size_t nb = strlen(b);
    if (na > WORD_MAX || nb > WORD_MAX) {
        return SIZE_MAX;
    }
    size_t d[3][WORD_MAX + 1];
    for (size_t j = 0; j <= nb; j++) {
        d[0][j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t *now = d[i % 3];
        const size_t *before = d[(i + 2) % 3];
        const size_t *before2 = d[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            best = before[j] + 1 < best ? before[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before2[j - 2] + 1 < best) {
                best = before2[j - 2] + 1;
            }
            now[j] = best;
        }
    }
    return d[na % 3][nb];
}

const char *nearest_name(const char *word, const char *const *names, size_t n)
{
    const char *best = NULL;
    size_t best_d = 0;
    for (size_t i = 0; i < n; i++) {
        size_t d = distance(word, names[i]);
        /* A beginning of the name is meant too: "ver" is "version". */
        if (strlen(word) >= 2 && strncmp(word, names[i], strlen(word)) == 0) {
            d = 1;
        }
        if (!best || d < best_d) {
            best = names[i];
            best_d = d;
        }
    }
    size_t limit = (strlen(word) + 2) / 3;
    return best && best_d <= limit ? best : NULL;
}

bool parse_real(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || isspace((unsigned char)*text) || !isfinite(v)) {
        return false;
    }
    *out = v;
    return true;
}

bool parse_whole(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || errno) {
        return false;
    }
    *out = v;
    return true;
}

static bool bad_range(const struct option_desc *d, const char *text, const char *what,
                      struct error *e)
{
    if (d->lo == 0 && d->hi == 0) {
        return error_set(e, ERR_INPUT, "--%s %s: expected %s", d->name, text, what);
    }
    return error_set(e, ERR_INPUT, "--%s %s: expected %s from %g to %g", d->name, text, what, d->lo,
                     d->hi);
}

static bool in_range(const struct option_desc *d, double v)
{
    return (d->lo == 0 && d->hi == 0) || (v >= d->lo && v <= d->hi);
}

static bool check_choice(const struct option_desc *d, const char *text, struct error *e)
{
    size_t n = strlen(text);
    for (const char *s = d->choices; s; s = strchr(s, '|') ? strchr(s, '|') + 1 : NULL) {
        if (n && !strchr(text, '|') && strncmp(s, text, n) == 0 && (s[n] == '|' || s[n] == 0)) {
            return true;
        }
    }
    return error_set(e, ERR_INPUT, "--%s %s: expected one of %s", d->name, text, d->choices);
}

static bool take_value(const struct option_desc *d, struct option_value *v, const char *text,
                       struct error *e)
{
    v->given = true;
    v->text = text;
    switch (d->kind) {
    case OPTION_FLAG:
    case OPTION_TEXT:
        return true;
    case OPTION_CHOICE:
        return check_choice(d, text, e);
    case OPTION_REAL:
        if (!parse_real(text, &v->real) || !in_range(d, v->real)) {
            return bad_range(d, text, "a number", e);
        }
        return true;
    case OPTION_WHOLE:
        if (!parse_whole(text, &v->whole) || !in_range(d, (double)v->whole)) {
            return bad_range(d, text, "a whole number", e);
        }
        return true;
    }
    return true;
}

/* How many positional arguments a usage line needs and allows. */
static void usage_counts(const char *usage, int *need, int *allow)
{
    *need = *allow = 0;
    for (const char *s = usage; *s;) {
        size_t n = strcspn(s, " ");
        if (n) {
            *need += *s != '[';
            *allow += 1;
            if (n >= 3 && memmem(s, n, "...", 3)) {
                *allow = POSITIONALS_MAX;
            }
        }
        s += n + (s[n] == ' ');
    }
}

static bool bad_option(const struct option_desc *table, const char *command, const char *word,
                       struct error *e)
{
    const char *names[OPTIONS_MAX + 1];
    size_t n = table_size(table);
    for (size_t i = 0; i < n; i++) {
        names[i] = table[i].name;
    }
    names[n++] = "help";
    char bare[WORD_MAX + 1];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    const char *near = word[1] == '-' ? nearest_name(bare, names, n) : NULL;
    if (near) {
        return error_set(e, ERR_INPUT,
                         "%s: unknown option %.80s; nearest is --%s (see warploop "
                         "%s --help)",
                         command, word, near, command);
    }
    return error_set(e, ERR_INPUT, "%s: unknown option %.80s (see warploop %s --help)", command,
                     word, command);
}

static bool check_positionals(const struct args *a, const char *usage, const char *command,
                              struct error *e)
{
    int need = 0;
    int allow = 0;
    usage_counts(usage, &need, &allow);
    if (a->npos < need) {
        const char *word = usage;
        for (int i = 0; i < a->npos; i++) {
            word += strcspn(word, " ") + 1;
        }
        return error_set(e, ERR_INPUT, "%s: %.*s is missing; usage: warploop %s %s", command,
                         (int)strcspn(word, " "), word, command, usage);
    }
    if (a->npos > allow) {
        return error_set(e, ERR_INPUT, "%s: unexpected \"%.80s\"; usage: warploop %s%s%s%s",
                         command, a->pos[allow], command, *usage ? " " : "", usage,
                         strstr(usage, "TEXT") ? " (put a text with blanks in quotes)" : "");
    }
    return true;
}

/* Build getopt's two tables. `longs` holds n + 2 rows, `shorts` 2 bytes an option and more. */
static void getopt_tables(const struct option_desc *table, size_t n, struct option *longs,
                          char *shorts)
{
    char *s = shorts;
    *s++ = ':'; /* a missing value comes back as ':' */
    *s++ = 'h';
    for (size_t i = 0; i < n; i++) {
        bool arg = table[i].kind != OPTION_FLAG;
        longs[i] = (struct option){.name = table[i].name,
                                   .has_arg = arg ? required_argument : no_argument,
                                   .val = LONG_BASE + (int)i};
        if (table[i].letter) {
            *s++ = table[i].letter;
            if (arg) {
                *s++ = ':';
            }
        }
    }
    *s = 0;
    longs[n] = (struct option){.name = "help", .val = 'h'};
    longs[n + 1] = (struct option){0};
}

static size_t option_index(const struct option_desc *table, size_t n, int c)
{
    if (c >= LONG_BASE) {
        return (size_t)(c - LONG_BASE);
    }
    for (size_t i = 0; i < n; i++) {
        if (table[i].letter == c) {
            return i;
        }
    }
    return n;
}

bool args_parse(struct args *a, const struct option_desc *table, const char *usage, int argc,
                char **argv, struct error *e)
{
    *a = (struct args){.table = table};
    size_t n = table_size(table);
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 4];
    getopt_tables(table, n, longs, shorts);
    optind = 0; /* glibc: start anew */
    opterr = 0;
    for (;;) {
        int c = getopt_long(argc, argv, shorts, longs, NULL);
        if (c == -1) {
            break;
        }
        if (c == 'h') {
            a->help = true;
            return true;
        }
        if (c == ':') {
            return error_set(e, ERR_INPUT, "%s: %s needs a value (see warploop %s --help)", argv[0],
                             argv[optind - 1], argv[0]);
        }
        if (c == '?' && optopt >= LONG_BASE) {
            return error_set(e, ERR_INPUT, "%s: --%s takes no value (see warploop %s --help)",
                             argv[0], table[optopt - LONG_BASE].name, argv[0]);
        }
        size_t i = c == '?' ? n : option_index(table, n, c);
        if (i >= n) {
            char letter[3] = {'-', (char)optopt, 0};
            bool is_short = optopt != 0;
            return bad_option(table, argv[0], is_short ? letter : argv[optind - 1], e);
        }
        if (!take_value(&table[i], &a->values[i], optarg ? optarg : "", e)) {
            return error_prefix(e, "%s", argv[0]);
        }
    }
    for (int i = optind; i < argc; i++) {
        if (a->npos == POSITIONALS_MAX) {
            return error_set(e, ERR_INPUT, "%s: more than %d arguments", argv[0], POSITIONALS_MAX);
        }
        a->pos[a->npos++] = argv[i];
    }
    return check_positionals(a, usage, argv[0], e);
}

static const struct option_value *value_of(const struct args *a, const char *name)
{
    for (size_t i = 0; a->table && a->table[i].name; i++) {
        if (strcmp(a->table[i].name, name) == 0) {
            return &a->values[i];
        }
    }
    fprintf(stderr, "warploop: option --%s is in no table\n", name);
    abort();
}

bool args_flag(const struct args *a, const char *name)
{
    return value_of(a, name)->given;
}

const char *args_text(const struct args *a, const char *name, const char *fallback)
{
    const struct option_value *v = value_of(a, name);
    return v->given ? v->text : fallback;
}

double args_real(const struct args *a, const char *name, double fallback)
{
    const struct option_value *v = value_of(a, name);
    return v->given ? v->real : fallback;
}

int64_t args_whole(const struct args *a, const char *name, int64_t fallback)
{
    const struct option_value *v = value_of(a, name);
    return v->given ? v->whole : fallback;
}

const char *args_pos(const struct args *a, int i)
{
    return i < a->npos ? a->pos[i] : NULL;
}

void options_help(const struct option_desc *table, struct buf *out)
{
    size_t n = table_size(table);
    for (size_t i = 0; i <= n; i++) {
        static const struct option_desc help = {.name = "help", .letter = 'h', .help = "this text"};
        const struct option_desc *d = i < n ? &table[i] : &help;
        char left[80];
        char shorter[8] = "   ";
        if (d->letter) {
            snprintf(shorter, sizeof shorter, "-%c,", d->letter);
        }
        snprintf(left, sizeof left, "%s --%s%s%s", shorter, d->name, d->value ? " " : "",
                 d->value ? d->value : "");
        buf_addf(out, "  %-28s %s", left, d->help);
        if (d->kind == OPTION_CHOICE) {
            buf_addf(out, " (%s)", d->choices);
        }
        buf_addc(out, '\n');
    }
}
