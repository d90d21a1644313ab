/* The spec of a drafted task: about ten lines that a person reads and edits. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/task/draft_private.h"
#include "core/task/expr.h"
#include "core/task/field.h"

static const char *const kinds[] = {
    [DRAFT_SIZE] = "dim",      [DRAFT_SCALAR] = "scalar", [DRAFT_INPUT] = "input",
    [DRAFT_OUTPUT] = "output", [DRAFT_INOUT] = "inout",
};

/* ---------------------------------------------------------------- writing */

static const char head[] =
    "# After a change, run the command again (with --force where the task is made already):\n"
    "#   %s\n"
    "#\n"
    "# dim     scored: the size that is timed; auto: measured, so that a call takes 20 to 60 ms\n"
    "#         check: sizes for correctness; hidden: the same, never shown to who optimizes\n"
    "# array   [extents], dense, row by row; expressions over the dims, such as [m, 2*n]\n"
    "#         values: normal MEAN STD | uniform LO HI | constant VALUE | choice V V ...\n"
    "#         error: below the first always right, above the second never (RMS against float64)\n"
    "# inout   an output that is also read; it becomes an input NAME_in and an output NAME\n"
    "# flop    operations of a call, bytes: what it has to move; for GFLOP/s and GB/s only\n"
    "# also    wide: 4 times the values' range; sparse: half of the normal values are 0\n\n";

static void put_sizes(struct buf *out, const char *what, const int64_t *v, size_t n)
{
    if (n)
        buf_addf(out, " %s", what);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, " %lld", (long long)v[i]);
}

static void put_param(const struct draft_param *p, struct buf *out)
{
    buf_addf(out, "%-7s %-6s", kinds[p->kind], p->name);
    if (p->kind == DRAFT_SCALAR) {
        buf_addf(out, " %.9g\n", p->value);
        return;
    }
    if (p->kind == DRAFT_SIZE) {
        if (p->is_auto)
            buf_adds(out, " scored auto");
        else
            buf_addf(out, " scored %lld", (long long)p->scored);
        put_sizes(out, "  check", p->check, p->nchecks);
        put_sizes(out, "  hidden", p->hidden, p->nhidden);
        buf_addc(out, '\n');
        return;
    }
    buf_adds(out, " [");
    for (size_t i = 0; i < p->nextents; i++)
        buf_addf(out, "%s%s", i ? ", " : "", p->extents[i]);
    buf_adds(out, p->nextents ? "]" : "?]");
    if (p->kind != DRAFT_OUTPUT)
        buf_addf(out, "  %s", p->fill);
    if (p->kind != DRAFT_INPUT)
        buf_addf(out, "  error %.6g %.6g", p->soft, p->hard);
    if (!p->nextents)
        buf_adds(out, "  # to be filled in: its extents");
    buf_addc(out, '\n');
}

void draft_spec_write(const struct draft *d, const char *command, struct buf *out)
{
    buf_addf(out, "# What warploop has to know about %s(), as the task %s.\n", d->f.name, d->name);
    buf_addf(out, head, command);
    for (size_t i = 0; i < d->f.nparams; i++)
        put_param(&d->params[i], out);
    buf_addf(out, "title   %s\n", d->title);
    bool known = draft_unknown(d, NULL) == 0; /* else made anew from what is filled in */
    if (known || strcmp(d->flop, DRAFT_FLOP_UNKNOWN) != 0)
        buf_addf(out, "flop    %s\n", d->flop);
    if (known)
        buf_addf(out, "bytes   %s\n", d->bytes);
    if (d->wide || d->sparse)
        buf_addf(out, "also    %s%s%s\n", d->wide ? "wide" : "", d->wide && d->sparse ? " " : "",
                 d->sparse ? "sparse" : "");
}

/* ---------------------------------------------------------------- expressions */

struct sizes {
    const struct draft *d;
    bool scored; /* the scored sizes, else the last of the check sizes */
};

static bool size_value(const void *ctx, const char *name, size_t n, int64_t *out)
{
    const struct sizes *s = ctx;
    for (size_t i = 0; i < s->d->f.nparams; i++) {
        const struct draft_param *p = &s->d->params[i];
        if (s->d->f.params[i].kind != C_SIZE || strlen(s->d->f.params[i].name) != n ||
            memcmp(s->d->f.params[i].name, name, n) != 0)
            continue;
        *out = s->scored ? p->scored : !p->nchecks ? 1 : p->check[p->nchecks - 1];
        return true;
    }
    return false;
}

static bool expr_ok(const struct draft *d, const char *text, int64_t *v, struct error *e)
{
    struct sizes s = {.d = d};
    struct expr_env env = {.value = size_value, .ctx = &s};
    return expr_eval(text, strlen(text), EXPR_ARITHMETIC, &env, v, e);
}

bool draft_extent_ok(const struct draft *d, const char *text, struct error *e)
{
    int64_t v;
    return expr_ok(d, text, &v, e) &&
           (v >= 1 || error_set(e, ERR_INPUT,
                                "\"%.100s\" is %lld for the check sizes; an extent is "
                                "at least 1",
                                text, (long long)v));
}

int64_t draft_scored_bytes(const struct draft *d)
{
    struct sizes s = {.d = d, .scored = true};
    struct expr_env env = {.value = size_value, .ctx = &s};
    int64_t total = 0;
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        int64_t n = p->kind == DRAFT_INPUT ? 4 : p->kind == DRAFT_OUTPUT ? 8 : 12, v = 1;
        for (size_t k = 0; k < p->nextents; k++)
            if (!expr_eval(p->extents[k], strlen(p->extents[k]), EXPR_ARITHMETIC, &env, &v, NULL) ||
                __builtin_mul_overflow(n, v, &n))
                return INT64_MAX;
        if (p->kind >= DRAFT_INPUT && __builtin_add_overflow(total, n, &total))
            return INT64_MAX;
    }
    return total;
}

/* ---------------------------------------------------------------- reading */

struct reader {
    struct draft *d;
    const char *file;
    int line;
    const char *at, *end; /* what is left of the line */
    const char *field;    /* shown in errors */
    struct error *e;
};

static bool fail(const struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fail(const struct reader *r, const char *fmt, ...)
{
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return error_set(r->e, ERR_INPUT, "%.200s:%d: field %.60s: %s", r->file, r->line, r->field,
                     what);
}

static void blanks(struct reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

/* The next word, up to a blank or bracket; false at the end of the line. */
static bool word(struct reader *r, char *out, size_t size)
{
    blanks(r);
    size_t n = 0;
    while (r->at < r->end && !isspace((unsigned char)*r->at) && *r->at != '[') {
        if (n + 1 < size)
            out[n++] = *r->at;
        r->at++;
    }
    out[n] = '\0';
    return n > 0;
}

static bool next_is(struct reader *r, const char *text)
{
    blanks(r);
    size_t n = strlen(text);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0 ||
        (r->at + n < r->end && !isspace((unsigned char)r->at[n])))
        return false;
    r->at += n;
    return true;
}

/* The rest of the line without blanks at the end; the caller frees. */
static char *rest(struct reader *r)
{
    blanks(r);
    const char *end = r->end;
    while (end > r->at && isspace((unsigned char)end[-1]))
        end--;
    char *text = xstrndup(r->at, (size_t)(end - r->at));
    r->at = r->end;
    return text;
}

static bool at_end(struct reader *r)
{
    blanks(r);
    return r->at == r->end || fail(r, "expected the end of the line, got \"%.*s\"",
                                   (int)(r->end - r->at > 60 ? 60 : r->end - r->at), r->at);
}

static bool real(struct reader *r, const char *what, double lo, double hi, double *out)
{
    char text[64], *stop;
    if (!word(r, text, sizeof text))
        return fail(r, "expected %s, but the line ends", what);
    errno = 0;
    *out = strtod(text, &stop);
    if (errno || *stop || !isfinite(*out) || *out < lo || *out > hi)
        return fail(r, "expected %s (a number from %g to %g), got \"%.40s\"", what, lo, hi, text);
    return true;
}

/* One or more sizes; stops at the first word that is no number. */
static bool sizes(struct reader *r, const char *what, int64_t *v, size_t *n)
{
    char text[64], *stop;
    *n = 0;
    for (;;) {
        blanks(r);
        const char *before = r->at;
        if (!word(r, text, sizeof text) || isalpha((unsigned char)*text)) {
            r->at = before;
            return *n > 0 || fail(r, "expected one or more sizes after \"%s\", such as 1 37", what);
        }
        errno = 0;
        long long x = strtoll(text, &stop, 10);
        if (errno || *stop || x < 1 || x > INT32_MAX)
            return fail(r,
                        "expected a size after \"%s\" (a whole number from 1 to %d), got "
                        "\"%.40s\"",
                        what, INT32_MAX, text);
        if (*n == DRAFT_CHECKS)
            return fail(r, "expected at most %d sizes after \"%s\"", DRAFT_CHECKS, what);
        v[(*n)++] = x;
    }
}

static bool read_size(struct reader *r, struct draft_param *p)
{
    int64_t one[DRAFT_CHECKS];
    size_t n = 1;
    p->nchecks = p->nhidden = 0;
    if (!next_is(r, "scored"))
        return fail(r, "expected \"scored\" and a size, or \"scored auto\"");
    p->is_auto = next_is(r, "auto");
    if (!p->is_auto && !sizes(r, "scored", one, &n))
        return false;
    if (n != 1)
        return fail(r, "expected one size after \"scored\", got %zu", n);
    if (!p->is_auto)
        p->scored = one[0];
    if (!next_is(r, "check"))
        return fail(r, "expected \"check\" and one or more small sizes, such as check 1 37");
    if (!sizes(r, "check", p->check, &p->nchecks))
        return false;
    if (next_is(r, "hidden") && !sizes(r, "hidden", p->hidden, &p->nhidden))
        return false;
    return at_end(r);
}

/* [m, 2*n]: kept as texts; that they are sound is looked at when every size is known. */
static bool read_extents(struct reader *r, struct draft_param *p)
{
    blanks(r);
    const char *close = r->at < r->end ? memchr(r->at, ']', (size_t)(r->end - r->at)) : NULL;
    if (r->at == r->end || *r->at != '[' || !close)
        return fail(r, "expected the extents in brackets, such as [n] or [m, n]");
    for (size_t k = 0; k < p->nextents; k++)
        free(p->extents[k]);
    p->nextents = 0;
    for (const char *s = r->at + 1; s <= close; s++) {
        size_t n = strcspn(s, ",]");
        const char *next = s + n;
        while (n && isspace((unsigned char)*s))
            s++, n--;
        while (n && isspace((unsigned char)s[n - 1]))
            n--;
        if (n == 0 || *s == '?')
            return fail(r,
                        "expected the extents of %s over the dims, such as [n] or [m, n]: fill "
                        "them in",
                        p->name);
        if (p->nextents == TASK_MAX_RANK)
            return fail(r, "expected at most %d extents", TASK_MAX_RANK);
        p->extents[p->nextents++] = xstrndup(s, n);
        s = next;
    }
    r->at = close + 1;
    return true;
}

static bool read_fill(struct reader *r, struct draft_param *p)
{
    static const char *const dists[] = {"normal", "uniform", "constant", "choice"};
    static const size_t numbers[] = {2, 2, 1, 1};
    char name[32];
    size_t k = 0;
    double v[16];
    if (!word(r, name, sizeof name))
        return fail(r, "expected its values: normal MEAN STD, uniform LO HI, constant VALUE or "
                       "choice V V ...");
    while (k < ARRAY_LEN(dists) && strcmp(dists[k], name) != 0)
        k++;
    if (k == ARRAY_LEN(dists)) {
        const char *near = name_nearest(name, dists, ARRAY_LEN(dists));
        return fail(r, "expected normal, uniform, constant or choice, got \"%s\"%s%s%s", name,
                    near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    struct buf b = {0};
    buf_adds(&b, name);
    size_t n = 0;
    bool ok = true;
    while (ok && n < ARRAY_LEN(v) && (n < numbers[k] || k == 3)) {
        blanks(r);
        if (n >= numbers[k] && (r->at == r->end || isalpha((unsigned char)*r->at)))
            break;
        bool std = k == 0 && n == 1;
        ok = real(r, std ? "a standard deviation" : "a value", std ? 0 : -1e30, 1e30, &v[n]);
        if (ok)
            buf_addf(&b, " %.9g", v[n++]);
    }
    if (ok && k == 1 && v[0] > v[1])
        ok = fail(r, "expected uniform LO HI with LO <= HI, got %g and %g", v[0], v[1]);
    free(p->fill);
    p->fill = buf_take(&b);
    return ok;
}

static bool read_array(struct reader *r, struct draft_param *p)
{
    if (!read_extents(r, p) || (p->kind != DRAFT_OUTPUT && !read_fill(r, p)))
        return false;
    p->guessed = false;
    if (p->kind != DRAFT_INPUT && next_is(r, "error")) {
        if (!real(r, "the error that always passes", 1e-12, 1, &p->soft) ||
            !real(r, "the error that never passes", 1e-12, 1, &p->hard))
            return false;
        if (p->soft > p->hard)
            return fail(r, "expected the first limit of error at most the second, got %g and %g",
                        p->soft, p->hard);
    }
    return at_end(r);
}

/* The kind of a line fits what the C source says. */
static bool take_kind(struct reader *r, size_t i, enum draft_kind kind)
{
    static const char *const allowed[] = {[C_SIZE] = "dim",
                                          [C_SCALAR] = "scalar",
                                          [C_CONST] = "input",
                                          [C_MUTABLE] = "output or inout"};
    const struct c_param *c = &r->d->f.params[i];
    struct draft_param *p = &r->d->params[i];
    bool fits = (c->kind == C_SIZE && kind == DRAFT_SIZE) ||
                (c->kind == C_SCALAR && kind == DRAFT_SCALAR) ||
                (c->kind == C_CONST && kind == DRAFT_INPUT) ||
                (c->kind == C_MUTABLE && kind >= DRAFT_OUTPUT);
    if (!fits)
        return fail(r, "expected %s: so it is declared in %.200s, line %d", allowed[c->kind],
                    r->d->file, c->line);
    if (p->line)
        return fail(r, "expected each parameter once; it stands in line %d already", p->line);
    p->kind = kind;
    p->line = r->line;
    return true;
}

static bool read_param(struct reader *r, enum draft_kind kind)
{
    char name[64];
    const struct c_function *f = &r->d->f;
    const char *names[64];
    size_t i = 0;
    if (!word(r, name, sizeof name))
        return fail(r, "expected the name of a parameter of %s()", f->name);
    while (i < f->nparams && strcmp(f->params[i].name, name) != 0) {
        names[i] = f->params[i].name;
        i++;
    }
    if (i == f->nparams) {
        /* of one or two letters any other is near */
        const char *near = strlen(name) > 2 ? name_nearest(name, names, f->nparams) : NULL;
        return fail(r, "expected a parameter of %s(), got \"%.60s\"%s%s%s", f->name, name,
                    near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    struct draft_param *p = &r->d->params[i];
    r->field = p->name;
    if (!take_kind(r, i, kind))
        return false;
    if (kind == DRAFT_SIZE)
        return read_size(r, p);
    if (kind == DRAFT_SCALAR)
        return real(r, "the value that it is called with", -1e30, 1e30, &p->value) && at_end(r);
    return read_array(r, p);
}

static bool read_also(struct reader *r)
{
    char name[32];
    while (word(r, name, sizeof name)) {
        bool wide = strcmp(name, "wide") == 0, sparse = strcmp(name, "sparse") == 0;
        if (!wide && !sparse)
            return fail(r, "expected wide or sparse, got \"%s\"", name);
        r->d->wide |= wide;
        r->d->sparse |= sparse;
    }
    return true;
}

static bool read_title(struct reader *r)
{
    char *text = rest(r);
    size_t n = strlen(text);
    free(r->d->title);
    r->d->title = text;
    for (const char *s = text; *s; s++)
        if (iscntrl((unsigned char)*s))
            return fail(r, "expected plain text, got the control character 0x%02x",
                        (unsigned char)*s);
    return (n >= 1 && n <= 120) || fail(r, "expected 1 to 120 bytes of text");
}

static bool read_expr(struct reader *r, char **out)
{
    int64_t v;
    struct error why = {0};
    free(*out);
    *out = rest(r);
    return expr_ok(r->d, *out, &v, &why) ||
           fail(r, "expected an expression over the dims, such as 2*n: %s", why.msg);
}

static bool read_line(struct reader *r)
{
    static const char *const known[] = {"dim",   "scalar", "input", "output", "inout",
                                        "title", "flop",   "bytes", "also"};
    char key[32];
    r->field = "(start of the line)";
    if (!word(r, key, sizeof key))
        return r->at == r->end ||
               fail(r, "expected one of dim, scalar, input, output, inout, title, "
                       "flop, bytes, also");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strcmp(key, kinds[i]) == 0) {
            r->field = kinds[i];
            return read_param(r, (enum draft_kind)i);
        }
    for (size_t i = 5; i < ARRAY_LEN(known); i++)
        if (strcmp(key, known[i]) == 0)
            r->field = known[i];
    if (strcmp(key, "title") == 0)
        return read_title(r);
    if (strcmp(key, "flop") == 0)
        return read_expr(r, &r->d->flop);
    if (strcmp(key, "bytes") == 0)
        return read_expr(r, &r->d->bytes);
    if (strcmp(key, "also") == 0)
        return read_also(r);
    const char *near = name_nearest(key, known, ARRAY_LEN(known));
    return fail(r,
                "expected one of dim, scalar, input, output, inout, title, flop, bytes, also, got "
                "\"%s\"%s%s%s",
                key, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* What only the whole shows: nothing is missing, every expression means something. */
static bool check_whole(struct reader *r)
{
    struct draft *d = r->d;
    struct error why = {0};
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        r->field = p->name;
        if (!p->line) {
            static const char *const want[] = {[C_SIZE] = "dim",
                                               [C_SCALAR] = "scalar",
                                               [C_CONST] = "input",
                                               [C_MUTABLE] = "output"};
            return fail(r, "missing; expected a line \"%s %s ...\": %s() has this parameter",
                        want[d->f.params[i].kind], p->name, d->f.name);
        }
        for (size_t k = 0; p->kind >= DRAFT_INPUT && k < p->nextents; k++)
            if (!draft_extent_ok(d, p->extents[k], &why)) {
                r->line = p->line;
                return fail(r, "expected extents over the dims: %s", why.msg);
            }
    }
    return true;
}

bool draft_spec_read(struct draft *d, const char *file, const char *text, size_t n, struct error *e)
{
    struct reader r = {.d = d, .file = file, .field = "(text)", .line = 1, .e = e};
    for (size_t i = 0; i < n; r.line += text[i++] == '\n')
        if (text[i] == '\0')
            return fail(&r, "expected plain text, got a NUL byte");
    d->wide = d->sparse = false;
    free(d->bytes);
    d->bytes = NULL;
    for (size_t i = 0; i < d->f.nparams; i++)
        d->params[i].line = 0;
    r.line = 0;
    for (const char *s = text, *end = text + n; s < end;) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        stop = stop ? stop : end;
        const char *comment = memchr(s, '#', (size_t)(stop - s));
        r.line++;
        r.at = s;
        r.end = comment ? comment : stop;
        if (!read_line(&r))
            return false;
        s = stop + 1;
    }
    r.line = r.line ? r.line : 1;
    if (!check_whole(&r))
        return false;
    if (!d->bytes)
        d->bytes = draft_bytes_guess(d);
    if (strcmp(d->flop, DRAFT_FLOP_UNKNOWN) == 0) {
        free(d->flop);
        d->flop = draft_flop_guess(d);
    }
    draft_scale(d, 1);
    draft_entry(d);
    return true;
}
