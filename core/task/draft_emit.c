/* The files of a drafted task: sources and task.json. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/task/draft_private.h"
#include "core/task/widen.h"

#define CALL_MS 2000 /* so long a candidate's call may take */

static bool has_word(const struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->tokens.n; i++)
        if (token_is(&d->tokens.v[i], TOKEN_WORD, name))
            return true;
    return false;
}

/* ---------------------------------------------------------------- the caller in between */

bool draft_adapts(const struct draft *d, struct buf *why)
{
    bool wide = false, real = false, both = false;
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct c_param *c = &d->f.params[i];
        wide = wide || (c->kind == C_SIZE && strcmp(c->type, "int") != 0);
        real = real || (c->kind == C_SCALAR && strcmp(c->type, "float") != 0);
        both = both || d->params[i].kind == DRAFT_INOUT;
    }
    const struct {
        bool is;
        const char *what;
    } reasons[] = {{wide, "sizes are int in a task"},
                   {real, "scalars are float in a task"},
                   {both, "what is read and written is an input and an output in a task"},
                   {d->f.is_static, "the function is static"}};
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].is)
            buf_addf(why, "%s%s", any ? "; " : "", reasons[i].what);
        any = any || reasons[i].is;
    }
    return any;
}

void draft_entry(struct draft *d)
{
    struct buf why = {0};
    free(d->entry);
    d->entry = xstrdup(d->f.name);
    if (draft_adapts(d, &why)) {
        free(d->entry);
        d->entry = xasprintf("%s_task", d->f.name);
    }
    buf_free(&why);
}

/* What the input half of an in-out parameter is called. */
static char *input_name(const struct draft *d, const struct draft_param *p)
{
    char *name = xasprintf("%s_in", p->name);
    for (int k = 2; has_word(d, name); k++) {
        free(name);
        name = xasprintf("%s_in%d", p->name, k);
    }
    return name;
}

void draft_put_prototype(const struct draft *d, bool reference, struct buf *out)
{
    buf_addf(out, "void %s%s(", d->entry, reference ? "_ref" : "");
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        buf_adds(out, i ? ", " : "");
        if (p->kind == DRAFT_SIZE)
            buf_addf(out, "int %s", p->name);
        else if (p->kind == DRAFT_SCALAR)
            buf_addf(out, "float %s", p->name);
        else if (p->kind == DRAFT_INPUT)
            buf_addf(out, "const float *%s", p->name);
        if (p->kind == DRAFT_INOUT) {
            char *in = input_name(d, p);
            buf_addf(out, "const float *%s, ", in);
            free(in);
        }
        if (p->kind >= DRAFT_OUTPUT)
            buf_addf(out, "%s *%s", reference ? "double" : "float", p->name);
    }
    buf_addc(out, ')');
}

static void put_count(const struct draft_param *p, struct buf *out)
{
    for (size_t k = 0; k < p->nextents; k++)
        buf_addf(out, "%s(size_t)(%s)", k ? " * " : "", p->extents[k]);
}

/* The body: in-out arrays are copied, then `callee` does the work. */
static void put_caller(const struct draft *d, bool reference, const char *callee, struct buf *out)
{
    draft_put_prototype(d, reference, out);
    buf_adds(out, "\n{\n");
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        if (p->kind != DRAFT_INOUT)
            continue;
        char *in = input_name(d, p);
        if (reference) {
            buf_adds(out, "    for (size_t wl_i = 0; wl_i < ");
            put_count(p, out);
            buf_addf(out, "; wl_i++)\n        %s[wl_i] = %s[wl_i];\n", p->name, in);
        } else {
            buf_addf(out, "    memcpy(%s, %s, sizeof(float) * ", p->name, in);
            put_count(p, out);
            buf_adds(out, ");\n");
        }
        free(in);
    }
    buf_addf(out, "    %s(", callee);
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct c_param *c = &d->f.params[i];
        bool value = c->kind == C_SIZE || c->kind == C_SCALAR;
        bool cast =
            value && strcmp(c->type, c->kind == C_SIZE ? "int" : "float") != 0 && !reference;
        buf_addf(out, cast ? "%s(%s)%s" : "%s%s%s", i ? ", " : "", cast ? c->type : "", c->name);
    }
    buf_adds(out, ");\n}\n");
}

static void put_adapter(const struct draft *d, struct buf *out)
{
    struct buf why = {0};
    if (draft_adapts(d, &why)) {
        if (out->len && out->s[out->len - 1] != '\n')
            buf_addc(out, '\n');
        buf_adds(out, "\n/* Made by warploop. The task calls this: ");
        for (const char *s = buf_str(&why); *s; s++) /* one reason a line */
            buf_adds(out, strncmp(s, "; ", 2) == 0 ? ";\n *" : (const char[]){*s, '\0'});
        buf_adds(out, ". */\n");
        buf_adds(out, "#include <stddef.h>\n#include <string.h>\n\n");
        put_caller(d, false, d->f.name, out);
    }
    buf_free(&why);
}

void draft_start(const struct draft *d, struct buf *out)
{
    buf_add(out, d->source.s, d->source.len);
    put_adapter(d, out);
}

/* ---------------------------------------------------------------- reference */

bool draft_reference(const struct draft *d, struct buf *out, struct error *e)
{
    char *wide = xasprintf("%s_f64", d->f.name);
    while (has_word(d, wide)) {
        char *longer = xasprintf("%s_", wide);
        free(wide);
        wide = longer;
    }
    const struct widen_rename names[] = {{d->f.name, wide}};
    const struct token *bad = NULL;
    buf_addf(out,
             "/* The definition in float64, made by warploop from %s(): float -> double, functions "
             "and\n * constants too; inputs stay float. */\n",
             d->f.name);
    bool ok = widen_source(&d->tokens, names, 1, out, &bad);
    if (!ok)
        error_set(
            e, ERR_INPUT,
            "%.200s:%d:%d: \"%.*s\" has no float64 form, so that the reference cannot be made "
            "from this source; write the definition in plain C and give it with --reference "
            "FILE",
            d->file, bad->line, token_column(&d->tokens, bad), (int)(bad->n > 40 ? 40 : bad->n),
            bad->s);
    if (ok) {
        if (out->s[out->len - 1] != '\n')
            buf_addc(out, '\n');
        buf_adds(out, "\n#include <stddef.h>\n\n");
        put_caller(d, true, wide, out);
    }
    free(wide);
    return ok;
}

/* ---------------------------------------------------------------- task.json */

/* The sizes of shape `at` of a role; their text ("c37x50") is added to name. */
static cJSON *dims_json(const struct draft *d, const char *role, size_t at, struct buf *name)
{
    cJSON *dims = cJSON_CreateObject();
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        if (p->kind != DRAFT_SIZE)
            continue;
        const int64_t *v = *role == 'c' ? p->check : p->hidden;
        size_t n = *role == 'c' ? p->nchecks : p->nhidden;
        int64_t size = *role == 's' ? p->scored : n ? v[at < n ? at : n - 1] : p->check[0];
        cJSON_AddNumberToObject(dims, p->name, (double)size);
        buf_addf(name, "%s%lld",
                 dims->child->next ? "x"
                 : *role == 's'    ? ""
                                   : (char[]){*role, 0},
                 (long long)size);
    }
    return dims;
}

static bool has_name(const cJSON *list, const char *name)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, list)
    {
        if (strcmp(json_str(m, "name", ""), name) == 0)
            return true;
    }
    return false;
}

static void add_shapes(const struct draft *d, cJSON *shapes, const char *role, size_t n)
{
    cJSON *list = cJSON_AddArrayToObject(shapes, role);
    for (size_t k = 0; k < n; k++) {
        struct buf name = {0};
        cJSON *o = cJSON_CreateObject(), *dims = dims_json(d, role, k, &name);
        if (name.len == 0 || name.len > 40 || has_name(list, buf_str(&name))) {
            buf_clear(&name);
            buf_addf(&name, "%s%zu", role, k + 1);
        }
        cJSON_AddStringToObject(o, "name", buf_str(&name));
        cJSON_AddItemToObject(o, "dims", dims);
        cJSON_AddItemToArray(list, o);
        buf_free(&name);
    }
}

static void add_all_shapes(const struct draft *d, cJSON *root)
{
    size_t checks = 1, hidden = 0;
    for (size_t i = 0; i < d->f.nparams; i++) {
        checks = d->params[i].nchecks > checks ? d->params[i].nchecks : checks;
        hidden = d->params[i].nhidden > hidden ? d->params[i].nhidden : hidden;
    }
    cJSON *shapes = cJSON_AddObjectToObject(root, "shapes");
    add_shapes(d, shapes, "scored", 1);
    add_shapes(d, shapes, "check", checks);
    add_shapes(d, shapes, "hidden", hidden);
}

static cJSON *extents_json(const struct draft_param *p)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t k = 0; k < p->nextents; k++)
        cJSON_AddItemToArray(list, cJSON_CreateString(p->extents[k]));
    return list;
}

static void add_tensor(cJSON *params, const struct draft_param *p, const char *name, bool output)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", name);
    cJSON_AddStringToObject(o, "kind", output ? "output" : "input");
    cJSON_AddStringToObject(o, "type", "f32");
    cJSON_AddItemToObject(o, "shape", extents_json(p));
    if (output) {
        cJSON_AddNumberToObject(o, "soft", p->soft);
        cJSON_AddNumberToObject(o, "hard", p->hard);
    }
    cJSON_AddItemToArray(params, o);
}

static void add_params(const struct draft *d, cJSON *root)
{
    cJSON *params = cJSON_AddArrayToObject(root, "params");
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        if (p->kind == DRAFT_INPUT)
            add_tensor(params, p, p->name, false);
        if (p->kind == DRAFT_INOUT) {
            char *in = input_name(d, p);
            add_tensor(params, p, in, false);
            free(in);
        }
        if (p->kind >= DRAFT_OUTPUT)
            add_tensor(params, p, p->name, true);
        if (p->kind >= DRAFT_INPUT)
            continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "name", p->name);
        cJSON_AddStringToObject(o, "kind", p->kind == DRAFT_SIZE ? "dim" : "scalar");
        if (p->kind == DRAFT_SCALAR) {
            cJSON_AddStringToObject(o, "type", "f32");
            cJSON_AddNumberToObject(o, "value", p->value);
        }
        cJSON_AddItemToArray(params, o);
    }
}

enum family { ORDINARY, WIDE, SPARSE };

/* The fill of an input in a family; NULL: as in the first. */
static cJSON *fill_json(const char *fill, enum family family)
{
    char *copy = xstrdup(fill), *save = NULL, *dist = strtok_r(copy, " ", &save), *word;
    double v[16] = {0};
    size_t n = 0;
    while (n < ARRAY_LEN(v) && (word = strtok_r(NULL, " ", &save)))
        v[n++] = strtod(word, NULL);
    bool normal = *dist == 'n', uniform = *dist == 'u';
    cJSON *o = cJSON_CreateObject();
    if (normal && family != SPARSE) {
        cJSON_AddStringToObject(o, "dist", "normal");
        cJSON_AddNumberToObject(o, "mean", v[0]);
        cJSON_AddNumberToObject(o, "std", family == WIDE ? 4 * v[1] : v[1]);
    } else if (normal) {
        cJSON_AddStringToObject(o, "dist", "normal");
        cJSON_AddNumberToObject(o, "mean", v[0]);
        cJSON_AddNumberToObject(o, "std", v[1]);
        cJSON_AddNumberToObject(o, "zero_fraction", 0.5);
    } else if (uniform && family == ORDINARY) {
        cJSON_AddStringToObject(o, "dist", "uniform");
        cJSON_AddNumberToObject(o, "lo", v[0]);
        cJSON_AddNumberToObject(o, "hi", v[1]);
    } else if (uniform && family == WIDE) { /* wider would leave the range: its ends instead */
        const double ends[] = {v[0], v[1]};
        cJSON_AddStringToObject(o, "dist", "choice");
        cJSON_AddItemToObject(o, "values", cJSON_CreateDoubleArray(ends, 2));
    } else if (family == ORDINARY && n == 1 && strcmp(dist, "constant") == 0) {
        cJSON_AddStringToObject(o, "dist", "constant");
        cJSON_AddNumberToObject(o, "value", v[0]);
    } else if (family == ORDINARY) {
        cJSON_AddStringToObject(o, "dist", "choice");
        cJSON_AddItemToObject(o, "values", cJSON_CreateDoubleArray(v, (int)n));
    } else {
        cJSON_Delete(o);
        o = NULL;
    }
    free(copy);
    return o;
}

static void add_family(const struct draft *d, cJSON *families, enum family family)
{
    static const char *const names[] = {"ordinary", "wide", "sparse"};
    static const char *const classes[] = {"ordinary", "extreme", "structured"};
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "name", names[family]);
    cJSON_AddStringToObject(o, "class", classes[family]);
    cJSON *fill = cJSON_AddObjectToObject(o, "fill");
    for (size_t i = 0; i < d->f.nparams; i++) {
        const struct draft_param *p = &d->params[i];
        if (p->kind != DRAFT_INPUT && p->kind != DRAFT_INOUT)
            continue;
        cJSON *one = fill_json(p->fill, family);
        char *name = p->kind == DRAFT_INOUT ? input_name(d, p) : xstrdup(p->name);
        if (one)
            cJSON_AddItemToObject(fill, name, one);
        free(name);
    }
    if (fill->child)
        cJSON_AddItemToArray(families, o);
    else
        cJSON_Delete(o); /* the same as the first */
}

/* What candidates may include: the everyday ones, and what the user's source does. */
static void add_headers(const struct draft *d, cJSON *c)
{
    static const char *const always[] = {
        "stddef.h",
        "stdint.h",
        "string.h",
        "math.h",
        "float.h",
        "stdbool.h",
#if defined(__x86_64__)
        "immintrin.h"
#endif
    };
    cJSON *list = cJSON_AddArrayToObject(c, "headers");
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(always[i]));
    for (size_t i = 0; i < d->tokens.n; i++) {
        const struct token *k = &d->tokens.v[i];
        if (k->kind != TOKEN_HEADER || k->n > 58 || memchr(k->s, '/', k->n))
            continue;
        char *name = xstrndup(k->s, k->n);
        bool known = false;
        const cJSON *m;
        cJSON_ArrayForEach(m, list)
        {
            known = known || strcmp(m->valuestring, name) == 0;
        }
        if (!known)
            cJSON_AddItemToArray(list, cJSON_CreateString(name));
        free(name);
    }
}

void draft_task_json(const struct draft *d, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema", 1);
    cJSON_AddStringToObject(root, "name", d->name);
    cJSON_AddStringToObject(root, "title", d->title);
    char *summary = xasprintf("Made by warploop task new from %s(); baseline and start are that "
                              "function.",
                              d->f.name);
    cJSON_AddStringToObject(root, "summary", summary);
    free(summary);
    add_params(d, root);
    cJSON_AddStringToObject(root, "flop", d->flop);
    cJSON_AddStringToObject(root, "bytes", d->bytes);
    add_all_shapes(d, root);
    cJSON *families = cJSON_AddArrayToObject(root, "families");
    add_family(d, families, ORDINARY);
    if (d->wide)
        add_family(d, families, WIDE);
    if (d->sparse)
        add_family(d, families, SPARSE);
    cJSON *c = cJSON_AddObjectToObject(cJSON_AddObjectToObject(root, "backends"), "c");
    cJSON_AddStringToObject(c, "entry", d->entry);
    cJSON_AddStringToObject(c, "reference", "c/reference.c");
    cJSON_AddStringToObject(c, "baseline", "c/baseline.c");
    cJSON_AddStringToObject(c, "start", "c/start.c");
    add_headers(d, c);
    cJSON_AddNumberToObject(c, "call_ms", CALL_MS);
    char *text = cJSON_Print(root);
    buf_addf(out, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
}
