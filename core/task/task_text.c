/* The C texts made from a task's signature: header and shim. */
#include <ctype.h>
#include <string.h>

#include "core/task/task_private.h"

#define COLUMNS 100

void task_prototype(const struct task *t, bool reference, struct buf *out)
{
    size_t start = out->len;
    buf_addf(out, "void %s%s(", t->c.entry, reference ? "_ref" : "");
    size_t indent = out->len - start, line = start;
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        const char *type = "int ";
        if (p->kind == PARAM_SCALAR)
            type = "float ";
        else if (p->kind == PARAM_INPUT)
            type = "const float *";
        else if (p->kind == PARAM_OUTPUT)
            type = reference ? "double *" : "float *";
        else if (p->kind == PARAM_WORKSPACE)
            type = "void *";
        bool last = i + 1 == t->nparams;
        size_t need = strlen(type) + strlen(p->name) + 2;
        if (i && out->len - line + need > COLUMNS) {
            out->s[out->len - 1] = '\n'; /* the space after the comma */
            line = out->len;
            for (size_t k = 0; k < indent; k++)
                buf_addc(out, ' ');
        }
        buf_addf(out, "%s%s%s", type, p->name, last ? ")" : ", ");
    }
}

static void guard(const struct task *t, struct buf *out)
{
    buf_adds(out, "WARPLOOP_");
    for (const char *s = t->name; *s; s++)
        buf_addc(out, isalnum((unsigned char)*s) ? (char)toupper((unsigned char)*s) : '_');
    buf_adds(out, "_H");
}

void task_header(const struct task *t, struct buf *out)
{
    buf_addf(out, "/* %s.h: made by warploop from the task's description.\n", t->name);
    buf_adds(out, " * Tensors are dense, row-major, 64-byte aligned. */\n#ifndef ");
    guard(t, out);
    buf_adds(out, "\n#define ");
    guard(t, out);
    buf_adds(out, "\n\n");
    for (size_t i = 0; i < t->nconstants; i++) {
        long long v = t->constants[i].value;
        buf_addf(out, v < 0 ? "#define %s (%lld)\n" : "#define %s %lld\n", t->constants[i].name, v);
    }
    buf_adds(out, t->nconstants ? "\n" : "");
    task_prototype(t, false, out);
    buf_adds(out, ";\n\n/* The definition, in float64. */\n");
    task_prototype(t, true, out);
    buf_adds(out, ";\n\n#endif\n");
}

void task_shim(const struct task *t, bool reference, struct buf *out)
{
    size_t dims = 0, buffers = 0;
    buf_addf(out, "#include \"%s.h\"\n\n", t->name);
    buf_adds(out, "__attribute__((visibility(\"default\"))) void warploop_call(const int *dims, "
                  "void *const *buffers);\n\n"
                  "void warploop_call(const int *dims, void *const *buffers)\n{\n"
                  "    (void)dims, (void)buffers;\n");
    buf_addf(out, "    %s%s(", t->c.entry, reference ? "_ref" : "");
    for (size_t i = 0; i < t->nparams; i++) {
        const struct param *p = &t->params[i];
        buf_adds(out, i ? ", " : "");
        if (p->kind == PARAM_DIM)
            buf_addf(out, "dims[%zu]", dims++);
        else if (p->kind == PARAM_SCALAR)
            buf_addf(out, "%aF", (double)(float)p->value); /* hexadecimal: exact */
        else
            buf_addf(out, "buffers[%zu]", buffers++);
    }
    buf_adds(out, ");\n}\n");
}
