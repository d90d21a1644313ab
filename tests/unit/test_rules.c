/* Source rules of the c back end: each trick is answered with its line and what to do instead, and
 * no honest source is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/task/rules.h"
#include "tests/support/tasks.h"

static struct task *tiny, *kda, *mla;

#define ENTRY "\nvoid tiny_fwd(int T) { (void)T; }\n"

static const struct trick {
    const char *source, *says;
    int line;
} tricks[] = {
    /* headers */
    {"#include <stdio.h>", "\"stdio.h\" is not allowed; allowed: tiny.h, stddef.h", 1},
    {"\n\n#include \"/etc/passwd\"", "\"/etc/passwd\" is not allowed", 3},
    {"#include <../math.h>", "\"../math.h\" is not allowed", 1},
    {"#include \"kda.h\"", "\"kda.h\" is not allowed", 1},
    {"#include \"candidate.c\"", "not allowed", 1},
    {"#inc\\\nlude <stdio.h>", "stdio.h", 1},
    {"#inc\\  \nlude <stdio.h>", "stdio.h", 1},
    {"#include <st\\\ndio.h>", "stdio.h", 1},
    {"\\\n#include <stdio.h>", "stdio.h", 2},
    {"%:include <stdio.h>", "stdio.h", 1},
    {"  %: include <stdio.h>", "stdio.h", 1},
    {"%\\\n:include <stdio.h>", "stdio.h", 1},
    {"?"
     "?=include <stdio.h>",
     "no trigraphs", 1},
    {"// hidden ?"
     "?/\n#include <math.h>",
     "no trigraphs", 1},
    {"/**/ # /**/ include /**/ <stdio.h>", "stdio.h", 1},
    {"/* a\n b */ #include <stdio.h>", "stdio.h", 2},
    {"#define H <stdio.h>\n#include H", "not a macro", 2},
    {"#include", "not a macro", 1},
    {"#include\n<stdio.h>", "not a macro", 1},
    {"#include STR(stdio.h)", "not a macro", 1},
    {"#if 0\n#include <stdio.h>\n#endif", "stdio.h", 2},
    {"#include_next <math.h>", "#include_next", 1},
    {"#import <math.h>", "#import", 1},
    {"const char x[] = {\n#embed \"/etc/passwd\"\n};", "#embed", 2},
    {"#if __has_include(\"/etc/passwd\")\n#endif", "no question for files", 1},
    {"#if __has_include_next(<math.h>)\n#endif", "no question for files", 1},
    {"#if __has_embed(\"x\")\n#endif", "no question for files", 1},
    {"#define ASK __has_include", "no question for files", 1},
    /* lines */
    {"#line 7 \"other.c\"", "#line", 1},
    {"# 1 \"x\"", "line markers", 1},
    {"%: 1 \"x\" 2 3", "line markers", 1},
    {"#\\\n1 \"x\"", "line markers", 1},
    {"#ident \"x\"", "#ident", 1},
    {"#sccs \"x\"", "#sccs", 1},
    {"#assert machine(x)", "#assert", 1},
    {"#unassert machine", "#unassert", 1},
    {"#nonsense", "#nonsense", 1},
    /* pragmas */
    {"#pragma GCC optimize(\"O0\")", "#pragma GCC unroll", 1},
    {"#pragma GCC target(\"avx2\")", "#pragma GCC unroll", 1},
    {"#pragma GCC system_header", "#pragma GCC unroll", 1},
    {"#pragma GCC\nunroll 4", "#pragma GCC unroll", 1},
    {"#pragma weak f", "#pragma GCC unroll", 1},
    {"#pragma omp simd", "#pragma GCC unroll", 1},
    {"#pragma", "#pragma GCC unroll", 1},
    {"#pragma pack(1)", "#pragma GCC unroll", 1},
    {"_Pragma(\"GCC optimize(0)\")", "no pragmas", 1},
    {"#define P _Pragma", "no pragmas", 1},
    /* assembly */
    {"void f(void) { asm(\"nop\"); }", "no assembly", 1},
    {"void f(void) { asm volatile(\"nop\"); }", "no assembly", 1},
    {"void f(void)\n{ __asm(\"nop\"); }", "no assembly", 2},
    {"__asm__(\".incbin \\\"/etc/passwd\\\"\");", "no assembly", 1},
    {"int x __asm__(\"y\");", "no assembly", 1},
    {"register float x asm(\"xmm0\");", "no assembly", 1},
    {"void f(void) { as\\\nm(\"nop\"); }", "no assembly", 1},
    {"void f(void) { asm/**/(\"nop\"); }", "no assembly", 1},
    {"#define NOW asm", "no assembly", 1},
    {"#define J(a, b) a##b\nvoid f(void) { J(as, m)(\"nop\"); }", "pieces that ## makes \"asm\"",
     2},
    {"#define J __as##m__", "pieces that ## makes \"__asm__\"", 1},
    {"#define J __as%:%:m__", "pieces that ## makes \"__asm__\"", 1},
    {"#define J(a, b, c) a##b##c\nJ(_, _as, m)(\"nop\");", "pieces that ## makes \"__asm\"", 2},
    {"const char *s = \".incbin\";", "no assembler directives", 1},
    {"const char *s =\n\".inc\" \"bin \\\"x\\\"\";", "no assembler directives", 2},
    {"const char *s = \".IncBin\";", "no assembler directives", 1},
    {"const char *s = \".include\";", "no assembler directives", 1},
    {"const char *s = R\"(x\n)\";", "no raw strings", 1},
    {"const char *s = u8R\"x(\n)x\";", "no raw strings", 1},
    /* attributes */
    {"__attribute__((constructor)) void f(void) {}", "attribute \"constructor\"", 1},
    {"__attribute((constructor)) void f(void) {}", "attribute \"constructor\"", 1},
    {"__attribute__((__constructor__)) void f(void) {}", "attribute \"__constructor__\"", 1},
    {"__attribute__ ( ( constructor(101) ) ) void f(void) {}", "attribute \"constructor\"", 1},
    {"__attribute__((unused, aligned(64),\ndestructor)) void f(void) {}", "\"destructor\"", 2},
    {"__attribute__((section(\".text\"))) int x;", "attribute \"section\"", 1},
    {"__attribute__((ifunc(\"g\"))) void f(void);", "attribute \"ifunc\"", 1},
    {"__attribute__((alias(\"g\"))) void f(void);", "attribute \"alias\"", 1},
    {"__attribute__((weak)) void f(void);", "attribute \"weak\"", 1},
    {"void f(void) { int x __attribute__((cleanup(g))); }", "attribute \"cleanup\"", 1},
    {"__attribute__((optimize(\"fast-math\"))) void f(void);", "attribute \"optimize\"", 1},
    {"__attribute__((target_clones(\"avx2\", \"default\"))) void f(void);", "\"target_clones\"", 1},
    {"__attribute__((visibility(\"default\"))) void f(void);", "attribute \"visibility\"", 1},
    {"#define C constructor\n__attribute__((C)) void f(void) {}", "attribute \"C\"", 2},
    {"#define A __attribute__", "whole __attribute__", 1},
    {"#define A(x) __attribute__(x)", "whole __attribute__", 1},
    {"#define A(x) __attribute__((x))", "attribute \"x\"", 1},
    {"#define J(a, b) __attrib##ute__", "pieces that ## makes \"__attribute__\"", 1},
    {"[[gnu::constructor]] void f(void) {}", "attribute \"constructor\"", 1},
    {"[ [ gnu :: constructor ] ] void f(void) {}", "attribute \"constructor\"", 1},
    {"[[gnu: :constructor]] void f(void) {}", "attribute \"constructor\"", 1},
    {"[[__gnu__::__constructor__]] void f(void) {}", "attribute \"__constructor__\"", 1},
    {"<:<:gnu::constructor:>:> void f(void) {}", "attribute \"constructor\"", 1},
    {"[[gnu::unused, gnu::section(\"x\")]] int x;", "attribute \"section\"", 1},
    /* others */
    {"_Thread_local int x;", "thread-local", 1},
    {"__thread int x;", "thread-local", 1},
    {"long f(void) { return syscall(39); }", "no system calls", 1},
    {"int n = SYS_open;", "no system calls", 1},
    {"int n = __NR_open;", "no system calls", 1},
};

static void check(const char *source, size_t n, bool honest, const char *says, int want_line)
{
    struct error e = {0};
    int line = 0;
    bool ok = rules_check_c(tiny, source, n, &line, &e);
    if (ok != honest)
        fail_msg("%s: %s", honest ? "refused" : "taken", honest ? e.msg : source);
    if (ok)
        return;
    char *at = xasprintf("line %d: ", want_line);
    if (line != want_line || strncmp(e.msg, at, strlen(at)) != 0 || !strstr(e.msg, says))
        fail_msg("%s\n\"%s\" (line %d) does not say \"%s\" at line %d", source, e.msg, line, says,
                 want_line);
    free(at);
}

static void test_tricks(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tricks); i++) {
        char *source = xasprintf("%s%s", tricks[i].source, ENTRY);
        check(source, strlen(source), false, tricks[i].says, tricks[i].line);
        free(source);
    }
    check("", 0, false, "the entry is missing: define void tiny_fwd(int T, int N,", 1);
    check("int x;\n", 7, false, "the entry is missing", 1);
    check("#define tiny_fwd() 1\n", 21, false, "the entry is missing", 1);
    check("// tiny_fwd(\n", 13, false, "the entry is missing", 1);
    check("int x;\n\0" ENTRY, 9 + strlen(ENTRY), false, "NUL byte", 2);
    /* the first finding is the one that is told */
    check("int x;\n#line 1\n#line 2\n" ENTRY, 23 + strlen(ENTRY), false, "#line", 2);
}

static const char *const honest[] = {
    "#include <stddef.h>\n#include \"tiny.h\"\n#include <tiny.h>\n%:include <math.h>",
    "/* asm __attribute__((constructor)) #include <stdio.h> */\n// #line 1 _Pragma",
    "const char *s = \"asm #include <stdio.h> \\\" __attribute__((section))\";",
    "const char *s = \"// no comment\"; int x; /* 'quoted */",
    "int c = '\"'; int d = '\\''; int e = '\\\\';",
    "#if 0\nit isn't code\n#endif",
    "#define CAT(a, b) a##b\nint CAT(x, y); int CAT(assume, d);",
    "#define S(x) #x\nconst char *s = S(asm_is_not_asm);",
    "#pragma GCC unroll 8\n#pragma GCC ivdep",
    "  #  pragma   GCC   unroll 4",
    "#\n#define A\n#undef A\n#ifdef B\n#elif C\n#else\n#endif\n#error no\n#warning yes",
    "typedef float v __attribute__((vector_size(64), may_alias, aligned(4)));",
    "__attribute__((noinline, hot)) static int f(int x) { return x; }",
    "static inline __attribute__((__always_inline__)) int g(int x) { return x; }",
    "[[gnu::always_inline]] static inline int h(int x) { return x; } [[maybe_unused]] int q;",
    "int a[4]; int b = 0; int i(void) { return a[a[b]]; }",
    "int a<:4:>; int b = 0; int i(void) { return a<:a<:b:>:>; }",
    "int syscalls, assembly, SYS, reasm, __NR;",
    "double big = 1e+5 + 0x1.8p-3 + .5e3f; int u = 1'0;",
    "int x = 3 ?5 : ?6;",
    "int \xc3\xa9t\xc3\xa9;",
    "#define LONG \\\n    1 + \\\n    2",
    "#if defined(__AVX512F__) && \\\n    !defined(NO)\n#endif",
    "int x = 1 <2; int y = 1 < 2;",
    "#warning <stdio.h>",
};

static void test_honest(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(honest); i++) {
        char *source = xasprintf("%s%s", honest[i], ENTRY);
        check(source, strlen(source), true, NULL, 0);
        free(source);
    }
}

static void test_kernels(void **state)
{
    (void)state;
    struct task *const tasks[] = {tiny, kda, mla};
    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        const struct task_backend *c = &tasks[i]->c;
        const char *const texts[] = {c->baseline, c->start, c->moves};
        for (size_t k = 0; k < ARRAY_LEN(texts); k++) {
            struct error e = {0};
            int line = 0;
            if (!rules_check_c(tasks[i], texts[k], strlen(texts[k]), &line, &e))
                fail_msg("%s: %s", tasks[i]->name, e.msg);
        }
    }
}

/* Random bytes and cuts of real sources: an answer, never a fault, and in no long time. */
static void test_any(void **state)
{
    (void)state;
    const char *moves = kda->c.moves;
    size_t n = strlen(moves);
    for (uint64_t i = 0; i < 300; i++) {
        size_t from = hash_mix(i, 1) % n, len = hash_mix(i, 2) % (n - from);
        char *cut = xstrndup(moves + from, len);
        for (size_t k = 0; k < 8 && len; k++)
            cut[hash_mix(i, k + 9) % len] = "\"'\\\n/*#%:<>[(,)"[hash_mix(i, k + 99) % 15];
        struct error e = {0};
        int line = -1;
        if (!rules_check_c(kda, cut, len, &line, &e))
            assert_true(line >= 1);
        free(cut);
    }
    static const char *const fill[] = {"(",    "#",   "[[",  "__attribute__((", "\"", "/*",
                                       "\\\n", "a##", "((,", "#include <",      "'",  "??",
                                       "%:"};
    for (size_t f = 0; f < ARRAY_LEN(fill); f++) {
        struct buf big = {0};
        while (big.len < 1000000)
            buf_adds(&big, fill[f]);
        struct error e = {0};
        int line;
        int64_t t0 = clock_thread_cpu_ns();
        assert_false(rules_check_c(tiny, big.s, big.len, &line, &e));
        if (clock_thread_cpu_ns() - t0 > 5000000000)
            fail_msg("\"%s\" takes too long", fill[f]);
        buf_free(&big);
    }
    char *large = xcalloc(TASK_MAX_SOURCE + 1, 1);
    memset(large, ' ', TASK_MAX_SOURCE + 1);
    check(large, TASK_MAX_SOURCE + 1, false, "1 MiB", 1);
    free(large);
}

int main(void)
{
    tiny = tasks_load("tiny");
    kda = tasks_load("kda");
    mla = tasks_load("mla-decode");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tricks),
        cmocka_unit_test(test_honest),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_any),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    task_free(tiny);
    task_free(kda);
    task_free(mla);
    return rc;
}
