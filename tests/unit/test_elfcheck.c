/* The ELF check: a plain kernel passes, each forged property is refused, and no damaged file makes
 * it read outside its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "gpu/c/disasm.h"
#include "gpu/c/elfcheck.h"

#define LINK                                                                                       \
    "-O2 -fPIC -shared -fvisibility=hidden -nostartfiles -fno-stack-protector "                    \
    "-Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code "                                         \
    "-Wl,--build-id=none,--hash-style=gnu,--as-needed"

static const char source[] =
    "#include <math.h>\n#include <string.h>\n"
    "static const float w[4] = {1, 2, 3, 4};\nstatic float kept[16];\n"
    "static const float *const table[2] = {w, w + 2};\n"
    "__attribute__((noinline)) static float f(float x) { return expf(x) * table[x > 0][1]; }\n"
    "__attribute__((visibility(\"default\"))) void warploop_call(const int *d, void *const *b)\n"
    "{ float *y = b[0]; memcpy(kept, y, sizeof kept);\n"
    "  for (int i = 0; i < d[0]; i++) y[i] = f(y[i]) + kept[i & 15]; }\n";

static struct buf good;

static void build(const char *text, const char *flags, struct buf *out)
{
    char dir[] = "/tmp/warploop-elf-XXXXXX", command[1200];
    struct error e = {0};
    assert_non_null(mkdtemp(dir));
    char *c = fs_join(dir, "k.c"), *so = fs_join(dir, "k.so");
    assert_true(fs_write(c, text, strlen(text), &e));
    snprintf(command, sizeof command, "gcc -w %s %s -o %s -lm", flags, c, so);
    assert_int_equal(system(command), 0);
    if (!fs_read(so, 64 << 20, out, &e))
        fail_msg("%s", e.msg);
    free(c);
    free(so);
    fs_remove_tree(dir);
}

static bool check(const struct buf *b, char *message, size_t size)
{
    /* A copy of exactly that size, so that a sanitizer sees any read beyond it. */
    unsigned char *copy = xmalloc(b->len ? b->len : 1);
    memcpy(copy, b->s, b->len);
    bool ok = elfcheck(copy, b->len, "warploop_call", false, message, size);
    free(copy);
    return ok;
}

static void refused(const struct buf *b, const char *says)
{
    char message[600];
    if (check(b, message, sizeof message))
        fail_msg("accepted; expected \"%s\"", says);
    if (!strstr(message, says))
        fail_msg("expected \"%s\", got: %s", says, message);
}

static struct buf copy_of(const struct buf *b)
{
    struct buf c = {0};
    buf_add(&c, b->s, b->len);
    return c;
}

static Elf64_Ehdr *header(struct buf *b)
{
    return (Elf64_Ehdr *)(void *)b->s;
}

static Elf64_Phdr *segment(struct buf *b, uint32_t type, uint32_t flags)
{
    Elf64_Phdr *p = (Elf64_Phdr *)(void *)(b->s + header(b)->e_phoff);
    for (int i = 0; i < header(b)->e_phnum; i++) {
        if (p[i].p_type == type && (p[i].p_flags & flags) == flags)
            return &p[i];
    }
    fail_msg("no such segment");
    return NULL;
}

static Elf64_Shdr *section(struct buf *b, const char *name)
{
    Elf64_Shdr *s = (Elf64_Shdr *)(void *)(b->s + header(b)->e_shoff);
    const char *names = b->s + s[header(b)->e_shstrndx].sh_offset;
    for (int i = 0; i < header(b)->e_shnum; i++) {
        if (strcmp(names + s[i].sh_name, name) == 0)
            return &s[i];
    }
    fail_msg("no section %s", name);
    return NULL;
}

static void *content(struct buf *b, const char *name)
{
    return b->s + section(b, name)->sh_offset;
}

static Elf64_Dyn *entry(struct buf *b, int64_t tag)
{
    Elf64_Dyn *d = content(b, ".dynamic");
    while (d->d_tag != tag && d->d_tag != DT_NULL)
        d++;
    assert_int_equal(d->d_tag, tag);
    return d;
}

static void test_good(void **state)
{
    (void)state;
    char message[600];
    if (!check(&good, message, sizeof message))
        fail_msg("%s", message);
    assert_string_equal(message, "");
}

static void test_forged_headers(void **state)
{
    (void)state;
#define FORGE(says, ...)                                                                           \
    do {                                                                                           \
        struct buf b = copy_of(&good);                                                             \
        __VA_ARGS__;                                                                               \
        refused(&b, says);                                                                         \
        buf_free(&b);                                                                              \
    } while (0)
    FORGE("64-bit", b.s[0] = 'E');
    FORGE("64-bit", header(&b)->e_ident[EI_CLASS] = ELFCLASS32);
    FORGE("shared object", header(&b)->e_type = ET_EXEC);
    FORGE("shared object", header(&b)->e_machine = EM_386);
    FORGE("start address", header(&b)->e_entry = 0x1000);
    FORGE("header", header(&b)->e_phnum = 0xffff);
    FORGE("header", header(&b)->e_shnum = 0);
    FORGE("program headers", header(&b)->e_phoff = UINT64_MAX - 8);
    FORGE("sections", header(&b)->e_shoff = UINT64_MAX - 64);
    FORGE("writable and executable", segment(&b, PT_LOAD, PF_X)->p_flags |= PF_W);
    FORGE("executable stack", segment(&b, PT_GNU_STACK, 0)->p_flags |= PF_X);
    FORGE("thread-local", segment(&b, PT_GNU_RELRO, 0)->p_type = PT_TLS);
    FORGE("unexpected type", segment(&b, PT_GNU_RELRO, 0)->p_type = PT_INTERP);
    FORGE("no dynamic", segment(&b, PT_DYNAMIC, 0)->p_type = PT_NULL);
    FORGE("static data", segment(&b, PT_LOAD, PF_W)->p_memsz = 1ull << 33);
    FORGE("segment", segment(&b, PT_LOAD, PF_W)->p_vaddr = 0);
    FORGE("executable", segment(&b, PT_LOAD, 0)->p_flags |= PF_X);
}

static void test_forged_dynamic(void **state)
{
    (void)state;
    FORGE("initialiser", entry(&b, DT_RELACOUNT)->d_tag = DT_INIT);
    FORGE("initialiser", entry(&b, DT_RELACOUNT)->d_tag = DT_FINI_ARRAY);
    FORGE("initialiser", entry(&b, DT_RELACOUNT)->d_tag = DT_PREINIT_ARRAY);
    FORGE("unusual", entry(&b, DT_RELACOUNT)->d_tag = DT_RUNPATH);
    FORGE("unusual", entry(&b, DT_RELACOUNT)->d_tag = DT_AUXILIARY);
    FORGE("unusual", entry(&b, DT_RELACOUNT)->d_tag = DT_AUDIT);
    FORGE("unusual", entry(&b, DT_RELACOUNT)->d_tag = DT_HASH);
    FORGE("patched at load", entry(&b, DT_RELACOUNT)->d_tag = DT_TEXTREL);
    FORGE("unusual", entry(&b, DT_FLAGS_1)->d_un.d_val |= DF_1_INTERPOSE);
    FORGE("library", entry(&b, DT_RELACOUNT)->d_tag = DT_NEEDED);
    FORGE("library",
          memcpy((char *)content(&b, ".dynstr") + entry(&b, DT_NEEDED)->d_un.d_val, "evil", 4));
    FORGE("dynamic strings", entry(&b, DT_STRSZ)->d_un.d_val = 1ull << 40);
    FORGE("repeated", entry(&b, DT_RELACOUNT)->d_tag = DT_SYMTAB);
    FORGE("dynamic symbols", entry(&b, DT_SYMTAB)->d_un.d_ptr += 24);
    FORGE("relocations", entry(&b, DT_RELASZ)->d_un.d_val += 1);
    FORGE("relocations", entry(&b, DT_RELA)->d_un.d_ptr = UINT64_MAX - 3);
    FORGE("without an end", Elf64_Dyn *d = content(&b, ".dynamic");
          for (size_t i = 0; i < segment(&b, PT_DYNAMIC, 0)->p_memsz / sizeof *d;
               i++) if (d[i].d_tag == DT_NULL) d[i]
              .d_tag = DT_RELACOUNT);
    FORGE("ifunc",
          ((Elf64_Rela *)content(&b, ".rela.dyn"))->r_info = ELF64_R_INFO(0, R_X86_64_IRELATIVE));
    FORGE("unexpected type",
          ((Elf64_Rela *)content(&b, ".rela.dyn"))->r_info = ELF64_R_INFO(0, R_X86_64_COPY));
    FORGE("outside writable",
          ((Elf64_Rela *)content(&b, ".rela.dyn"))->r_offset = section(&b, ".text")->sh_addr);
    FORGE("symbols",
          ((Elf64_Rela *)content(&b, ".rela.plt"))->r_info = ELF64_R_INFO(500, R_X86_64_JUMP_SLOT));
}

static void test_forged_symbols(void **state)
{
    (void)state;
    struct buf probe = copy_of(&good);
    size_t n = section(&probe, ".dynsym")->sh_size / sizeof(Elf64_Sym), import = 0, export = 0;
    for (size_t i = 1; i < n; i++) {
        Elf64_Sym *y = (Elf64_Sym *)content(&probe, ".dynsym") + i;
        *(y->st_shndx == SHN_UNDEF ? &import : &export) = i;
    }
    buf_free(&probe);
    assert_true(import && export);
#define SYM(i) ((Elf64_Sym *)content(&b, ".dynsym") + (i))
    FORGE("ifunc", SYM(export)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC));
    FORGE("thread-local", SYM(export)->st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS));
    FORGE("unexpected type", SYM(export)->st_info = ELF64_ST_INFO(STB_GLOBAL, 9));
    FORGE("entry", SYM(export)->st_value = section(&b, ".rodata")->sh_addr);
    FORGE("entry", SYM(export)->st_shndx = SHN_UNDEF; SYM(export)->st_name = SYM(import)->st_name);
    FORGE("exports", SYM(import)->st_shndx = 1);
    FORGE("plain text", SYM(import)->st_name = 1u << 30);
    FORGE("hash table", ((uint32_t *)content(&b, ".gnu.hash"))[0] = 1u << 30);
    FORGE("hash table", ((uint32_t *)content(&b, ".gnu.hash"))[2] = 0);
    FORGE("hash table", uint32_t *h = content(&b, ".gnu.hash"); h[4 + 2 * h[2]] = 900);
    FORGE("hash table", uint32_t *h = content(&b, ".gnu.hash"); h[4 + 2 * h[2] + h[0]] &= ~1u);
    FORGE("versions", ((uint16_t *)content(&b, ".gnu.version"))[1] = 900);
    FORGE("versions", ((Elf64_Verneed *)content(&b, ".gnu.version_r"))->vn_next = 1u << 30);
    FORGE("versions", ((Elf64_Verneed *)content(&b, ".gnu.version_r"))->vn_cnt = 200);
    FORGE("versions", ((Elf64_Verneed *)content(&b, ".gnu.version_r"))->vn_aux = 1u << 31);
}

static void test_built(void **state)
{
    (void)state;
    static const struct {
        const char *text, *flags, *says;
    } cases[] = {
        {"__attribute__((constructor)) static void c(void) { static volatile int x; x = 1; }", "",
         "initialiser"},
        {"__attribute__((section(\".ctors\"), used)) static void (*p)(void);", "", "initialiser"},
        {"void _fini(void) {}", "", "initialiser"},
        {"__attribute__((section(\".mine\"), used)) static void f(void) {}", "", "of its own"},
        {"__attribute__((section(\".mine\"), used)) static int x = 1;", "", "of its own"},
        {"__attribute__((section(\".text\"), used)) static const int x = 1;", "", "among the code"},
        {"__attribute__((section(\".got\"), used)) static int x = 1;", "", "linker's"},
        {"extern void *malloc(unsigned long); void *p(void) { return malloc(1); }", "",
         "calls malloc"},
        {"__attribute__((visibility(\"default\"))) void other(void) {}", "", "exports other"},
        {"__attribute__((visibility(\"default\"))) int other = 3;", "", "exports other"},
        {"", "-Wl,--no-as-needed -lpthread -ldl -lresolv", "library"},
        {"", "-Wl,-rpath,/tmp", "unusual"},
        {"", "-s", "no symbol table"},
        {"static __thread int t; int *a(void) { return &t; }", "", "thread-local"},
        {"", "-Wl,-z,execstack", "executable stack"},
        {"", "-Wl,--hash-style=both", "unusual"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0}, text = {0};
        char flags[800];
        buf_addf(&text,
                 "%s\n__attribute__((visibility(\"default\"))) void warploop_call"
                 "(const int *d, void *const *b) { *(int *)b[0] = d[0]; }\n",
                 cases[i].text);
        snprintf(flags, sizeof flags, "%s %s", LINK, cases[i].flags);
        build(text.s, flags, &b);
        refused(&b, cases[i].says);
        buf_free(&b);
        buf_free(&text);
    }
}

static void test_reference(void **state)
{
    (void)state;
    static const char text[] = "extern void *malloc(unsigned long); extern void free(void *);\n"
                               "__attribute__((visibility(\"default\"))) void warploop_call(const "
                               "int *d, void *const *b)\n"
                               "{ double *t = malloc(8ul * d[0]); t[d[0] - 1] = 1; *(double "
                               "*volatile *)b[0] = t; free(t); "
                               "}\n";
    struct buf b = {0};
    char message[600];
    build(text, LINK, &b);
    refused(&b, "which is not allowed");
    assert_true(elfcheck(b.s, b.len, "warploop_call", true, message, sizeof message));
    buf_free(&b);
}

/* A read beyond the file would be seen by a sanitizer, or fault. */
static void test_damaged(void **state)
{
    (void)state;
    char message[600];
    long rounds = getenv("WARPLOOP_FUZZ") ? strtol(getenv("WARPLOOP_FUZZ"), NULL, 10) : 20000;
    for (size_t n = 0; n < good.len; n += n < 2000 ? 1 : 97) {
        struct buf b = {good.s, n, n};
        assert_false(check(&b, message, sizeof message));
    }
    uint64_t seed = 42, accepted = 0;
    struct buf b = copy_of(&good);
    for (long i = 0; i < rounds; i++) {
        memcpy(b.s, good.s, good.len);
        int changes = 1 + (int)(hash_mix(seed, (uint64_t)i) % 4);
        for (int k = 0; k < changes; k++) {
            uint64_t r = hash_mix(seed + 1 + (uint64_t)k, (uint64_t)i);
            /* Mostly in what is parsed: the headers, the tables behind them, the section headers.
             */
            size_t front = good.len < 0x1000 ? good.len : 0x1000;
            size_t at = r % 3 == 0 ? (r >> 8) % good.len
                        : r % 3 == 1
                            ? (r >> 8) % front
                            : good.len - 1 - (r >> 8) % (good.len < 3000 ? good.len : 3000);
            static const unsigned char edge[] = {0, 1, 0x7f, 0x80, 0xff, 0x10, 0x40, 3};
            b.s[at] = (char)(r >> 48 & 1 ? edge[r >> 50 & 7] : (unsigned char)(r >> 52));
        }
        accepted += check(&b, message, sizeof message);
        assert_true(strlen(message) < sizeof message);
    }
    buf_free(&b);
    /* Changed code and data bytes are fine; most changes to the tables are not. */
    assert_true(accepted < (uint64_t)rounds);
}

static void test_imports(void **state)
{
    (void)state;
    static const char *const good_names[] = {"expf",    "exp",   "expl",          "memcpy",
                                             "sincosf", "sqrtf", "_ZGVdN8v_expf", "_ZGVeN16v_sinf",
                                             "fmaf"};
    static const char *const bad[] = {"open",
                                      "malloc",
                                      "",
                                      "expff",
                                      "system",
                                      "_ZGV_",
                                      "_ZGVdN8v_system",
                                      "printf",
                                      "mmap",
                                      "memcpyf",
                                      "_ZGVx_ZGVx_expf_x",
                                      "syscall"};
    for (size_t i = 0; i < ARRAY_LEN(good_names); i++)
        assert_true(elfcheck_may_import(good_names[i]));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(elfcheck_may_import(bad[i]));
}

static void test_disasm(void **state)
{
    (void)state;
    static const char text[] =
        "\nk.so:     file format elf64-x86-64\n\n\nDisassembly of section .text:\n\n"
        "0000000000001000 <kernel>:\n"
        "    1000:\tvmovups (%rdi),%zmm0        # 2000 <x>\n"
        "    1004:\tvfmadd231ps 0x40(%rsp),%zmm1,%zmm0\n"
        "    1008:\tvmovaps %ymm2,-0x20(%rbp)\n"
        "    100c:\tvaddps %xmm1,%xmm2,%xmm3\n"
        "    1010:\tvaddss %xmm1,%xmm2,%xmm3\n"
        "    1014:\tlea    0x8(%rax,%rbx,4),%rcx\n"
        "    1018:\tcmp    %eax,(%rdi)\n"
        "    101c:\tadd    %eax,(%rdi)\n"
        "    1020:\tjne    1000 <kernel>\n"
        "    1022:\tcall   1100 <expf@plt>\n"
        "    1024:\tnopw   0x0(%rax,%rax,1)\n"
        "    1028:\tbnd jmp *%rax\n"
        "    102c:\tret\n"
        "0000000000001030 <    1034:\tsyscall>:\n";
    struct disasm_mix m;
    disasm_count(text, sizeof text - 1, &m);
    assert_string_equal(m.absent, "");
    assert_int_equal(m.instructions, 12);
    assert_int_equal(m.vector512, 2);
    assert_int_equal(m.vector256, 1);
    assert_int_equal(m.vector128, 1);
    assert_int_equal(m.fma, 1);
    assert_int_equal(m.loads, 4);  /* vmovups, vfmadd, cmp, add */
    assert_int_equal(m.stores, 2); /* vmovaps, add */
    assert_int_equal(m.stack, 2);
    assert_int_equal(m.branches, 2);
    assert_int_equal(m.calls, 1);
    assert_string_equal(m.forbidden, "");
    static const char bad[] = "    1000:\tret\n    1001:\tsyscall\n    1003:\tint    $0x80\n";
    disasm_count(bad, sizeof bad - 1, &m);
    assert_string_equal(m.forbidden, "syscall");
    disasm_count("", 0, &m);
    assert_true(strlen(m.absent) > 0);
    static const char junk[] = "  zz:\tx\n   :\t\n 12:\t\n 1:\t%%%%\n 123456789012345678:\tret";
    disasm_count(junk, sizeof junk - 1, &m);
    assert_int_equal(m.instructions, 0);
}

static int set_up(void **state)
{
    (void)state;
    build(source, LINK, &good);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_free(&good);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_forged_headers),
        cmocka_unit_test(test_forged_dynamic), cmocka_unit_test(test_forged_symbols),
        cmocka_unit_test(test_built),          cmocka_unit_test(test_reference),
        cmocka_unit_test(test_damaged),        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_disasm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
