#include "gpu/c/disasm.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"

#define OPERANDS_MAX 200

static bool starts(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static bool one_of(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(s, list[i]) == 0)
            return true;
    }
    return false;
}

/* Instructions that leave the kernel or change how the processor works. */
static bool is_forbidden(const char *m)
{
    static const char *const list[] = {
        "syscall", "sysenter", "sysret", "sysexit",  "int",      "int1",     "iret",  "in",
        "out",     "ins",      "outs",   "hlt",      "rdpmc",    "rdmsr",    "wrmsr", "wrpkru",
        "xsetbv",  "vmcall",   "vmfunc", "senduipi", "wrfsbase", "wrgsbase", "lcall", "ljmp"};
    return one_of(m, list, ARRAY_LEN(list));
}

/* Reads its last operand only, or names an address without using the memory. */
static bool writes_memory(const char *m)
{
    static const char *const reads[] = {"cmp",     "test",     "bt",    "comis", "ucomis", "vcomis",
                                        "vucomis", "vptest",   "ptest", "vtest", "push",   "call",
                                        "jmp",     "prefetch", "mul",   "imul",  "div",    "idiv"};
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        if (starts(m, reads[i]) && !starts(m, "btc") && !starts(m, "btr") && !starts(m, "bts"))
            return false;
    }
    return true;
}

static bool scalar(const char *m)
{
    size_t n = strlen(m);
    return n > 2 && (strcmp(m + n - 2, "ss") == 0 || strcmp(m + n - 2, "sd") == 0 ||
                     starts(m, "vcvt") || starts(m, "cvt") || starts(m, "vmovd") ||
                     starts(m, "vmovq") || starts(m, "movd") || starts(m, "movq"));
}

/* AT&T syntax: the destination is the last operand. */
static void count_memory(const char *m, const char *operands, struct disasm_mix *out)
{
    const char *open = strchr(operands, '(');
    if (!open || starts(m, "lea") || starts(m, "nop") || starts(m, "prefetch"))
        return;
    const char *close = strchr(open, ')');
    bool last = !close || !strchr(close, ',');
    bool stack = starts(open, "(%rsp") || starts(open, "(%rbp");
    bool store = last && writes_memory(m);
    bool move = strstr(m, "mov") || starts(m, "vextract") || starts(m, "set") ||
                strstr(m, "scatter") || starts(m, "pop") || starts(m, "vpcompress") ||
                starts(m, "vcompress") || starts(m, "st") || starts(m, "vpextr");
    out->stores += store;
    out->loads += !store || !move;
    out->stack += stack;
}

static void count_one(const char *m, const char *operands, struct disasm_mix *out)
{
    if (starts(m, "nop") || strcmp(m, "data16") == 0 || strcmp(m, "cs") == 0)
        return;
    out->instructions++;
    if (is_forbidden(m) && !out->forbidden[0])
        snprintf(out->forbidden, sizeof out->forbidden, "%.31s", m);
    if (strstr(operands, "%zmm"))
        out->vector512++;
    else if (strstr(operands, "%ymm"))
        out->vector256++;
    else if (strstr(operands, "%xmm") && !scalar(m))
        out->vector128++;
    out->fma +=
        starts(m, "vfmadd") || starts(m, "vfmsub") || starts(m, "vfnmadd") || starts(m, "vfnmsub");
    out->branches += m[0] == 'j';
    out->calls += starts(m, "call");
    count_memory(m, operands, out);
}

/* "    1020:\tvmovups (%rdi),%zmm0        # comment <symbol+0x8>" */
static bool parse_line(const char *s, size_t n, char *mnemonic, size_t msize, char *operands,
                       size_t osize)
{
    size_t i = 0, digits = 0, k = 0;
    while (i < n && s[i] == ' ')
        i++;
    if (i == 0)
        return false;
    for (; i < n && isxdigit((unsigned char)s[i]); i++)
        digits++;
    if (!digits || digits > 16 || i + 1 >= n || s[i] != ':' || s[i + 1] != '\t')
        return false;
    i += 2;
    for (;;) { /* prefixes stand before the mnemonic, each with a space */
        static const char *const prefixes[] = {"lock",    "rep",    "repz", "repnz", "bnd",
                                               "notrack", "data16", "cs",   "ds",    "addr32"};
        for (k = 0; i < n && k + 1 < msize && (isalnum((unsigned char)s[i]) || s[i] == '.'); i++)
            mnemonic[k++] = s[i];
        mnemonic[k] = '\0';
        while (i < n && s[i] == ' ')
            i++;
        if (i >= n || !one_of(mnemonic, prefixes, ARRAY_LEN(prefixes)))
            break;
    }
    for (k = 0; i < n && k + 1 < osize && s[i] != '#' && s[i] != '<'; i++)
        operands[k++] = s[i];
    operands[k] = '\0';
    return mnemonic[0] != '\0';
}

void disasm_count(const char *text, size_t n, struct disasm_mix *out)
{
    char mnemonic[32], operands[OPERANDS_MAX];
    *out = (struct disasm_mix){0};
#if !defined(__x86_64__)
    snprintf(out->absent, sizeof out->absent, "the instruction mix is known for x86-64 only");
    return;
#endif
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t len = end ? (size_t)(end - (text + at)) : n - at;
        if (parse_line(text + at, len, mnemonic, sizeof mnemonic, operands, sizeof operands))
            count_one(mnemonic, operands, out);
        at += len + 1;
    }
    if (!out->instructions)
        snprintf(out->absent, sizeof out->absent, "objdump printed no instructions");
}
