#include "gpu/c/elfcheck.h"

#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"

#if defined(__x86_64__)
#define MACHINE       EM_X86_64
#define REL_IRELATIVE R_X86_64_IRELATIVE
static const uint32_t good_relocations[] = {R_X86_64_RELATIVE, R_X86_64_GLOB_DAT,
                                            R_X86_64_JUMP_SLOT, R_X86_64_64};
#elif defined(__aarch64__)
#define MACHINE       EM_AARCH64
#define REL_IRELATIVE R_AARCH64_IRELATIVE
static const uint32_t good_relocations[] = {R_AARCH64_RELATIVE, R_AARCH64_GLOB_DAT,
                                            R_AARCH64_JUMP_SLOT, R_AARCH64_ABS64};
#else
#error "the ELF check knows x86-64 and AArch64; add the relocations of this machine"
#endif

#ifndef SHT_RELR
#define SHT_RELR 19
#endif
#ifndef DT_RELR
#define DT_RELRSZ  35
#define DT_RELR    36
#define DT_RELRENT 37
#endif
#ifndef PT_GNU_PROPERTY
#define PT_GNU_PROPERTY 0x6474e553
#endif

#define SEGMENTS_MAX 32
#define SECTIONS_MAX 2048
#define SYMBOLS_MAX  (1u << 20)
#define IMPORTS_MAX  1024

struct object {
    const unsigned char *b;
    size_t n;
    Elf64_Ehdr eh;
    Elf64_Phdr ph[SEGMENTS_MAX];
    size_t nph;
    bool allocates, stripped;
    char *message;
    size_t size;
};

static bool PRINTF_LIKE(2, 3) refuse(struct object *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(o->message, o->size, fmt, ap);
    va_end(ap);
    return false;
}

static bool broken(struct object *o, const char *what)
{
    return refuse(o, "the built object is malformed (%s)", what);
}

static bool inside(const struct object *o, uint64_t off, uint64_t len)
{
    return off <= o->n && len <= o->n - off;
}

static bool take(const struct object *o, uint64_t off, void *to, size_t len)
{
    if (!inside(o, off, len))
        return false;
    memcpy(to, o->b + off, len);
    return true;
}

/* A string of the file at off, in a table that ends at `end`; NULL when it does not end there. Only
 * printable characters: it goes into a message. */
static const char *string_at(const struct object *o, uint64_t table, uint64_t len, uint64_t at)
{
    if (!inside(o, table, len) || at >= len)
        return NULL;
    const unsigned char *s = o->b + table + at;
    size_t max = (size_t)(len - at);
    for (size_t i = 0; i < max; i++) {
        if (s[i] == '\0')
            return (const char *)s;
        if (s[i] < 0x20 || s[i] > 0x7e || i > 500)
            return NULL;
    }
    return NULL;
}

/* ---------------------------------------------------------------- what may be imported */

/* Each also with the suffixes f and l. */
static const char *const math[] = {
    "acos",   "acosh",     "asin",      "asinh",      "atan",  "atan2",     "atanh",  "cbrt",
    "ceil",   "copysign",  "cos",       "cosh",       "erf",   "erfc",      "exp",    "exp2",
    "exp10",  "expm1",     "fabs",      "fdim",       "floor", "fma",       "fmax",   "fmin",
    "fmod",   "frexp",     "hypot",     "ilogb",      "j0",    "j1",        "ldexp",  "lgamma",
    "llrint", "llround",   "log",       "log10",      "log1p", "log2",      "logb",   "lrint",
    "lround", "modf",      "nearbyint", "nextafter",  "pow",   "remainder", "remquo", "rint",
    "round",  "roundeven", "scalbln",   "scalbn",     "sin",   "sincos",    "sinh",   "sqrt",
    "tan",    "tanh",      "tgamma",    "trunc",      "y0",    "y1",        "nan",    "cabs",
    "carg",   "cexp",      "clog",      "cpow",       "csqrt", "ccos",      "csin",   "conj",
    "cproj",  "cimag",     "creal",     "nexttoward",
};
static const char *const others[] = {
    "memcpy",       "memmove",       "memset",        "memcmp",       "memchr",
    "strlen",       "__memcpy_chk",  "__memmove_chk", "__memset_chk", "__stack_chk_fail",
    "__fpclassify", "__fpclassifyf", "__isnan",       "__isnanf",     "__isinf",
    "__isinff",     "__finite",      "__finitef",     "__signbit",    "__signbitf",
};

bool elfcheck_may_import(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (strcmp(name, others[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(math); i++) {
        size_t m = strlen(math[i]);
        if (strncmp(name, math[i], m) == 0 &&
            (n == m || (n == m + 1 && (name[m] == 'f' || name[m] == 'l'))))
            return true;
    }
    /* The vector forms of libm's functions, which the compiler calls by itself: _ZGVdN8v_expf. */
    if (strncmp(name, "_ZGV", 4) == 0) {
        const char *base = strchr(name + 4, '_');
        return base && strncmp(base + 1, "_ZGV", 4) != 0 && elfcheck_may_import(base + 1);
    }
    return false;
}

static bool allocates(const char *name)
{
    static const char *const names[] = {"malloc", "calloc", "realloc", "free", "aligned_alloc"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- header and segments */

static bool check_header(struct object *o)
{
    if (!take(o, 0, &o->eh, sizeof o->eh) || memcmp(o->eh.e_ident, ELFMAG, SELFMAG) != 0 ||
        o->eh.e_ident[EI_CLASS] != ELFCLASS64 || o->eh.e_ident[EI_DATA] != ELFDATA2LSB)
        return broken(o, "not a 64-bit ELF file");
    if (o->eh.e_type != ET_DYN || o->eh.e_machine != MACHINE)
        return broken(o, "not a shared object of this machine");
    if (o->eh.e_phentsize != sizeof(Elf64_Phdr) || o->eh.e_phnum == 0 ||
        o->eh.e_phnum > SEGMENTS_MAX || o->eh.e_shentsize != sizeof(Elf64_Shdr) ||
        o->eh.e_shnum == 0 || o->eh.e_shnum > SECTIONS_MAX || o->eh.e_shstrndx >= o->eh.e_shnum)
        return broken(o, "header");
    if (o->eh.e_entry != 0)
        return refuse(o, "the kernel sets a start address; a kernel has none");
    o->nph = o->eh.e_phnum;
    if (!take(o, o->eh.e_phoff, o->ph, o->nph * sizeof(Elf64_Phdr)))
        return broken(o, "program headers");
    return true;
}

static bool check_load(struct object *o, const Elf64_Phdr *p, uint64_t *end, uint64_t *memory)
{
    if ((p->p_flags & PF_W) && (p->p_flags & PF_X))
        return refuse(o, "the kernel has memory that is both writable and executable");
    if (!inside(o, p->p_offset, p->p_filesz) || p->p_filesz > p->p_memsz || p->p_vaddr < *end ||
        p->p_memsz > ELFCHECK_MEMORY_MAX || p->p_vaddr > (1ull << 40) || p->p_align > (2u << 20))
        return p->p_memsz > ELFCHECK_MEMORY_MAX
                   ? refuse(o,
                            "the kernel's static data takes more than %u MiB; use the workspace "
                            "argument",
                            ELFCHECK_MEMORY_MAX >> 20)
                   : broken(o, "segment");
    *end = p->p_vaddr + p->p_memsz;
    *memory += p->p_memsz;
    if (*memory > ELFCHECK_MEMORY_MAX || *end > ELFCHECK_MEMORY_MAX + (64u << 20))
        return refuse(o,
                      "the kernel's static data takes more than %u MiB; use the workspace argument",
                      ELFCHECK_MEMORY_MAX >> 20);
    return true;
}

static bool check_segments(struct object *o)
{
    uint64_t end = 0, memory = 0;
    bool stack = false, dynamic = false;
    for (size_t i = 0; i < o->nph; i++) {
        const Elf64_Phdr *p = &o->ph[i];
        switch (p->p_type) {
        case PT_LOAD:
            if (!check_load(o, p, &end, &memory))
                return false;
            break;
        case PT_GNU_STACK:
            stack = true;
            if (p->p_flags & PF_X)
                return refuse(o, "the kernel asks for an executable stack (a nested function whose "
                                 "address is taken does); write it as a plain function");
            break;
        case PT_TLS:
            return refuse(o, "the kernel has thread-local variables; it runs in one thread: use "
                             "plain ones");
        case PT_DYNAMIC:
            if (dynamic)
                return broken(o, "two dynamic segments");
            dynamic = true;
            break;
        case PT_NULL:
        case PT_NOTE:
        case PT_GNU_EH_FRAME:
        case PT_GNU_RELRO:
        case PT_GNU_PROPERTY:
            break;
        default:
            return refuse(o, "the kernel has a segment of the unexpected type 0x%x", p->p_type);
        }
    }
    if (!dynamic || !stack)
        return broken(o, dynamic ? "no stack header" : "no dynamic segment");
    return true;
}

/* The segment that holds the address range whole, or NULL. */
static const Elf64_Phdr *segment_of(const struct object *o, uint64_t addr, uint64_t len)
{
    for (size_t i = 0; i < o->nph; i++) {
        const Elf64_Phdr *p = &o->ph[i];
        if (p->p_type == PT_LOAD && addr >= p->p_vaddr && addr - p->p_vaddr <= p->p_memsz &&
            len <= p->p_memsz - (addr - p->p_vaddr))
            return p;
    }
    return NULL;
}

/* File offset of an address range that the file holds; false when it does not. */
static bool offset_of(const struct object *o, uint64_t addr, uint64_t len, uint64_t *off)
{
    const Elf64_Phdr *p = segment_of(o, addr, len);
    if (!p || addr - p->p_vaddr > p->p_filesz || len > p->p_filesz - (addr - p->p_vaddr))
        return false;
    *off = p->p_offset + (addr - p->p_vaddr);
    return inside(o, *off, len);
}

/* ---------------------------------------------------------------- dynamic section */

struct dynamic {
    uint64_t strtab, strsz, symtab, rela, relasz, jmprel, pltrelsz, relr, relrsz;
    uint64_t gnu_hash, versym, verneed, verneednum;
    uint64_t stroff; /* file offset of strtab */
};

static bool check_tag(struct object *o, struct dynamic *d, uint64_t tag, uint64_t val)
{
    static const char init[] =
        "the kernel has code that would run when it is loaded or unloaded (an initialiser: "
        "constructor or destructor attribute, target_clones, __builtin_cpu_supports, _init, _fini, "
        ".init_array); a kernel is called "
        "through its entry only";
    switch (tag) {
    case DT_INIT:
    case DT_FINI:
    case DT_INIT_ARRAY:
    case DT_FINI_ARRAY:
    case DT_PREINIT_ARRAY:
    case DT_INIT_ARRAYSZ:
    case DT_FINI_ARRAYSZ:
    case DT_PREINIT_ARRAYSZ:
        return refuse(o, "%s", init);
    case DT_TEXTREL:
        return refuse(o, "the kernel's code would be patched at load (text relocations)");
    case DT_FLAGS:
        if (val & ~(uint64_t)(DF_BIND_NOW))
            return refuse(o, "the kernel asks the loader for something unusual (flags 0x%llx)",
                          (unsigned long long)val);
        return true;
    case DT_FLAGS_1:
        if (val & ~(uint64_t)(DF_1_NOW))
            return refuse(o, "the kernel asks the loader for something unusual (flags_1 0x%llx)",
                          (unsigned long long)val);
        return true;
    case DT_PLTREL:
        return val == DT_RELA ? true : broken(o, "kind of relocations");
    case DT_RELAENT:
        return val == sizeof(Elf64_Rela) ? true : broken(o, "size of relocations");
    case DT_SYMENT:
        return val == sizeof(Elf64_Sym) ? true : broken(o, "size of symbols");
    case DT_RELRENT:
        return val == sizeof(uint64_t) ? true : broken(o, "size of relocations");
#define KEEP(TAG, field)                                                                           \
    case TAG:                                                                                      \
        if (d->field)                                                                              \
            return broken(o, "repeated entry");                                                    \
        d->field = val;                                                                            \
        return true
        KEEP(DT_STRTAB, strtab);
        KEEP(DT_STRSZ, strsz);
        KEEP(DT_SYMTAB, symtab);
        KEEP(DT_RELA, rela);
        KEEP(DT_RELASZ, relasz);
        KEEP(DT_JMPREL, jmprel);
        KEEP(DT_PLTRELSZ, pltrelsz);
        KEEP(DT_RELR, relr);
        KEEP(DT_RELRSZ, relrsz);
        KEEP(DT_GNU_HASH, gnu_hash);
        KEEP(DT_VERSYM, versym);
        KEEP(DT_VERNEED, verneed);
        KEEP(DT_VERNEEDNUM, verneednum);
#undef KEEP
    case DT_NEEDED: /* looked at afterwards */
    case DT_PLTGOT:
    case DT_RELACOUNT:
    case DT_BIND_NOW:
        return true;
    default:
        return refuse(o, "the kernel asks the loader for something unusual (entry 0x%llx)",
                      (unsigned long long)tag);
    }
}

static bool check_needed(struct object *o, const struct dynamic *d, uint64_t at)
{
    static const char *const good[] = {"libm.so.6", "libc.so.6", "libmvec.so.1",
                                       "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
    const char *name = string_at(o, d->stroff, d->strsz, at);
    for (size_t i = 0; name && i < ARRAY_LEN(good); i++) {
        if (strcmp(name, good[i]) == 0)
            return true;
    }
    return refuse(o, "the kernel needs the library %s; only libm and libc are allowed",
                  name ? name : "(unnamed)");
}

static bool check_dynamic(struct object *o, struct dynamic *d)
{
    const Elf64_Phdr *p = NULL;
    for (size_t i = 0; i < o->nph; i++)
        p = o->ph[i].p_type == PT_DYNAMIC ? &o->ph[i] : p;
    uint64_t off = 0, at = 0;
    /* The loader reads it by address, so that is what is checked. */
    if (!p || !offset_of(o, p->p_vaddr, p->p_memsz, &off))
        return broken(o, "dynamic segment");
    size_t n = (size_t)(p->p_memsz / sizeof(Elf64_Dyn)), used = 0;
    Elf64_Dyn dyn;
    for (; used < n; used++) {
        if (!take(o, off + used * sizeof dyn, &dyn, sizeof dyn))
            return broken(o, "dynamic segment");
        if (dyn.d_tag == DT_NULL)
            break;
        if (!check_tag(o, d, (uint64_t)dyn.d_tag, dyn.d_un.d_val))
            return false;
    }
    if (used == n)
        return broken(o, "dynamic segment without an end");
    if (!d->strtab || !d->symtab || !d->strsz || !offset_of(o, d->strtab, d->strsz, &at))
        return broken(o, "dynamic strings");
    d->stroff = at;
    for (size_t i = 0; i < used; i++) {
        if (take(o, off + i * sizeof dyn, &dyn, sizeof dyn) && dyn.d_tag == DT_NEEDED &&
            !check_needed(o, d, dyn.d_un.d_val))
            return false;
    }
    return true;
}

static bool check_place(struct object *o, uint64_t addr)
{
    const Elf64_Phdr *p = segment_of(o, addr, 8);
    if (!p || !(p->p_flags & PF_W))
        return refuse(o, "the kernel's code or constants would be patched at load (a relocation "
                         "outside writable data)");
    return true;
}

/* Each relocation has a plain type and patches writable data. *symbols becomes one more than the
 * highest symbol that one names. */
static bool check_relocations(struct object *o, uint64_t addr, uint64_t len, uint64_t *symbols)
{
    uint64_t off = 0;
    if (!len)
        return true;
    if (len % sizeof(Elf64_Rela) || !offset_of(o, addr, len, &off))
        return broken(o, "relocations");
    for (uint64_t i = 0; i < len / sizeof(Elf64_Rela); i++) {
        Elf64_Rela r;
        bool good = false;
        if (!take(o, off + i * sizeof r, &r, sizeof r))
            return broken(o, "relocations");
        uint32_t type = (uint32_t)ELF64_R_TYPE(r.r_info);
        for (size_t k = 0; k < ARRAY_LEN(good_relocations); k++)
            good = good || type == good_relocations[k];
        if (type == REL_IRELATIVE)
            return refuse(o, "the kernel chooses functions at load (ifunc or target_clones "
                             "attribute), which runs code of its own; it is compiled for this "
                             "machine anyway: use a plain function");
        if (!good)
            return refuse(o, "the kernel has a relocation of the unexpected type %u", type);
        if (!check_place(o, r.r_offset))
            return false;
        if (ELF64_R_SYM(r.r_info) >= *symbols)
            *symbols = ELF64_R_SYM(r.r_info) + 1;
    }
    return true;
}

/* Packed relative relocations: an address, then bit maps of the words after it. */
static bool check_relr(struct object *o, const struct dynamic *d)
{
    uint64_t off = 0, at = 0;
    if (!d->relrsz)
        return true;
    if (d->relrsz % 8 || !offset_of(o, d->relr, d->relrsz, &off))
        return broken(o, "relocations");
    for (uint64_t i = 0; i < d->relrsz / 8; i++) {
        uint64_t w = 0;
        if (!take(o, off + i * 8, &w, sizeof w))
            return broken(o, "relocations");
        if ((w & 1) == 0) {
            if (!check_place(o, w))
                return false;
            at = w + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++) {
            if ((w >> bit & 1) && !check_place(o, at + (bit - 1) * 8))
                return false;
        }
        at += 63 * 8;
    }
    return true;
}

/* ---------------------------------------------------------------- sections */

static bool section_at(const struct object *o, size_t i, Elf64_Shdr *s)
{
    return i < o->eh.e_shnum && take(o, o->eh.e_shoff + i * sizeof *s, s, sizeof *s);
}

static const char *section_name(const struct object *o, const Elf64_Shdr *s)
{
    Elf64_Shdr names;
    if (!section_at(o, o->eh.e_shstrndx, &names))
        return NULL;
    return string_at(o, names.sh_offset, names.sh_size, s->sh_name);
}

static bool named(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, list[i]) == 0)
            return true;
    }
    return false;
}

static bool check_section(struct object *o, const Elf64_Shdr *s, const char *name)
{
    static const char *const code[] = {".text", ".plt", ".plt.got", ".plt.sec"};
    static const char *const data[] = {
        ".gnu.hash",
        ".hash",
        ".dynsym",
        ".dynstr",
        ".gnu.version",
        ".gnu.version_r",
        ".rela.dyn",
        ".rela.plt",
        ".relr.dyn",
        ".rodata",
        ".eh_frame",
        ".eh_frame_hdr",
        ".dynamic",
        ".got",
        ".got.plt",
        ".data",
        ".bss",
        ".data.rel.ro",
        ".data.rel.ro.local",
        ".lrodata",
        ".ldata",
        ".lbss",
        ".rodata.cst",
        ".note.gnu.property",
        ".note.gnu.build-id",
        ".note.ABI-tag",
    };
    static const char *const start[] = {".init", ".fini", ".ctors", ".dtors", ".preinit_array"};
    if (s->sh_type == SHT_INIT_ARRAY || s->sh_type == SHT_FINI_ARRAY ||
        s->sh_type == SHT_PREINIT_ARRAY)
        return refuse(o,
                      "the kernel has an initialiser (section %s); a kernel is called through "
                      "its entry only",
                      name);
    for (size_t i = 0; i < ARRAY_LEN(start); i++) {
        if (strncmp(name, start[i], strlen(start[i])) == 0)
            return refuse(o,
                          "the kernel has an initialiser (section %s); a kernel is called "
                          "through its entry only",
                          name);
    }
    if (!(s->sh_flags & SHF_ALLOC))
        return true;
    if (s->sh_flags & SHF_TLS)
        return refuse(o, "the kernel has thread-local variables; use plain ones");
    bool exec = (s->sh_flags & SHF_EXECINSTR) != 0;
    if (exec && (s->sh_flags & SHF_WRITE))
        return refuse(o, "section %s is both writable and executable", name);
    if (exec ? !named(name, code, ARRAY_LEN(code)) : !named(name, data, ARRAY_LEN(data)))
        return refuse(o,
                      "the kernel puts %s into a section of its own (%s); leave the section to "
                      "the compiler",
                      exec ? "code" : "data", name);
    const Elf64_Phdr *p = s->sh_size ? segment_of(o, s->sh_addr, s->sh_size) : NULL;
    if (s->sh_size && !p)
        return broken(o, "section outside every segment");
    if (p && exec != ((p->p_flags & PF_X) != 0))
        return refuse(o,
                      exec ? "section %s holds code that cannot be executed"
                           : "the data of section %s would be executable",
                      name);
    return true;
}

/* Every byte of an executable segment belongs to one of its code sections, or is padding. */
static bool check_code_covered(struct object *o)
{
    for (size_t i = 0; i < o->nph; i++) {
        const Elf64_Phdr *p = &o->ph[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        uint64_t covered = 0, lowest = UINT64_MAX, highest = 0;
        for (size_t k = 0; k < o->eh.e_shnum; k++) {
            Elf64_Shdr s;
            if (!section_at(o, k, &s) || !(s.sh_flags & SHF_ALLOC) || !s.sh_size ||
                segment_of(o, s.sh_addr, s.sh_size) != p)
                continue;
            covered += s.sh_size;
            lowest = s.sh_addr < lowest ? s.sh_addr : lowest;
            highest = s.sh_addr + s.sh_size > highest ? s.sh_addr + s.sh_size : highest;
        }
        if (p->p_memsz != p->p_filesz || lowest != p->p_vaddr ||
            highest != p->p_vaddr + p->p_memsz || covered + 4096 < p->p_memsz)
            return broken(o, "executable bytes outside the code sections");
    }
    return true;
}

static bool check_sections(struct object *o, Elf64_Shdr *dynsym, Elf64_Shdr *symtab)
{
    *dynsym = *symtab = (Elf64_Shdr){0};
    for (size_t i = 1; i < o->eh.e_shnum; i++) {
        Elf64_Shdr s;
        const char *name = section_at(o, i, &s) ? section_name(o, &s) : NULL;
        if (!name || (s.sh_type != SHT_NOBITS && !inside(o, s.sh_offset, s.sh_size)))
            return broken(o, "sections");
        if (!check_section(o, &s, name))
            return false;
        if (s.sh_type == SHT_DYNSYM)
            *dynsym = s;
        if (s.sh_type == SHT_SYMTAB)
            *symtab = s;
    }
    if (!dynsym->sh_size || (!symtab->sh_size && !o->stripped))
        return broken(o, "no symbol table");
    return check_code_covered(o);
}

/* ---------------------------------------------------------------- tables of the loader */

/* The loader follows these without looking at their bounds, and a section attribute could add bytes
 * to them; so all that it would follow is followed here. */

static bool word_at(const struct object *o, uint64_t addr, uint32_t *w)
{
    uint64_t off = 0;
    return offset_of(o, addr, sizeof *w, &off) && take(o, off, w, sizeof *w);
}

static bool check_hash(struct object *o, const struct dynamic *d, uint64_t nsyms)
{
    uint32_t head[4] = {0}; /* buckets, first symbol, words of the filter, shift */
    uint64_t off = 0;
    for (unsigned i = 0; i < 4; i++) {
        if (!d->gnu_hash || !word_at(o, d->gnu_hash + 4 * i, &head[i]))
            return broken(o, "hash table");
    }
    if (head[0] == 0 || head[0] > IMPORTS_MAX || head[2] == 0 || head[2] > IMPORTS_MAX ||
        (head[2] & (head[2] - 1)) || head[1] > nsyms || head[3] > 63)
        return broken(o, "hash table");
    uint64_t buckets = d->gnu_hash + 16 + 8ull * head[2], chain = buckets + 4ull * head[0];
    if (!offset_of(o, d->gnu_hash, chain - d->gnu_hash, &off))
        return broken(o, "hash table");
    for (uint32_t i = 0; i < head[0]; i++) {
        uint32_t at = 0, h = 0;
        if (!word_at(o, buckets + 4ull * i, &at) || (at != 0 && at < head[1]))
            return broken(o, "hash table");
        for (; at != 0 && !(h & 1); at++) {
            if (at >= nsyms || !word_at(o, chain + 4ull * (at - head[1]), &h))
                return broken(o, "hash table");
        }
    }
    return true;
}

/* Walks the needed versions; *most becomes the highest version number that one gives. */
static bool check_needed_versions(struct object *o, const struct dynamic *d, uint16_t *most)
{
    uint64_t at = d->verneed, off = 0;
    *most = 1;
    if (d->verneednum > 16 || (d->verneednum && !d->verneed))
        return broken(o, "versions");
    for (uint64_t i = 0; i < d->verneednum; i++) {
        Elf64_Verneed v;
        Elf64_Vernaux a;
        if (!offset_of(o, at, sizeof v, &off) || !take(o, off, &v, sizeof v) || v.vn_version != 1 ||
            v.vn_cnt == 0 || v.vn_cnt > 256 || !string_at(o, d->stroff, d->strsz, v.vn_file))
            return broken(o, "versions");
        uint64_t aux = at + v.vn_aux;
        for (unsigned k = 0; k < v.vn_cnt; k++, aux += a.vna_next) {
            if (!offset_of(o, aux, sizeof a, &off) || !take(o, off, &a, sizeof a) ||
                !string_at(o, d->stroff, d->strsz, a.vna_name) || a.vna_other > 1024 ||
                (a.vna_next == 0) != (k + 1 == v.vn_cnt))
                return broken(o, "versions");
            *most = a.vna_other > *most ? a.vna_other : *most;
        }
        if ((v.vn_next == 0) != (i + 1 == d->verneednum))
            return broken(o, "versions");
        at += v.vn_next;
    }
    return true;
}

static bool check_versions(struct object *o, const struct dynamic *d, uint64_t nsyms)
{
    uint64_t off = 0;
    uint16_t most = 1;
    if (!check_needed_versions(o, d, &most))
        return false;
    if (!d->versym)
        return d->verneed ? broken(o, "versions") : true;
    for (uint64_t i = 0; i < nsyms; i++) {
        uint16_t v = 0;
        if (!offset_of(o, d->versym + 2 * i, sizeof v, &off) || !take(o, off, &v, sizeof v) ||
            (v & 0x7fff) > most)
            return broken(o, "versions");
    }
    return true;
}

/* ---------------------------------------------------------------- symbols */

typedef bool symbol_fn(struct object *o, const Elf64_Sym *y, const char *name, void *arg);

static bool each_symbol(struct object *o, const Elf64_Shdr *table, symbol_fn *fn, void *arg)
{
    Elf64_Shdr strings;
    if (!section_at(o, table->sh_link, &strings) || table->sh_entsize != sizeof(Elf64_Sym) ||
        table->sh_size % sizeof(Elf64_Sym) || table->sh_size / sizeof(Elf64_Sym) > SYMBOLS_MAX)
        return broken(o, "symbol table");
    for (uint64_t i = 1; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym y;
        const char *name = NULL;
        if (take(o, table->sh_offset + i * sizeof y, &y, sizeof y))
            name = string_at(o, strings.sh_offset, strings.sh_size, y.st_name);
        if (!name)
            return broken(o, "symbols (a name that is no plain text)");
        if (!fn(o, &y, name, arg))
            return false;
    }
    return true;
}

static bool check_kind(struct object *o, const Elf64_Sym *y, const char *name)
{
    unsigned type = ELF64_ST_TYPE(y->st_info);
    if (type == STT_GNU_IFUNC)
        return refuse(o,
                      "%s is chosen at load (ifunc or target_clones attribute), which runs code "
                      "of the kernel; it is compiled for this machine anyway: use a plain "
                      "function",
                      name);
    if (type == STT_TLS)
        return refuse(o, "%s is thread-local; a kernel runs in one thread: use a plain variable",
                      name);
    if (type > STT_TLS)
        return refuse(o, "%s is a symbol of an unexpected type (%u)", name, type);
    return true;
}

/* A section where a kernel's data may lie; the linker's own tables have two names in them. */
static bool own_data(const struct object *o, const Elf64_Shdr *s, const char *symbol)
{
    static const char *const good[] = {
        ".rodata",  ".data",  ".bss",  ".data.rel.ro", ".data.rel.ro.local",
        ".lrodata", ".ldata", ".lbss", ".rodata.cst"};
    const char *name = section_name(o, s);
    if (!name || !(s->sh_flags & SHF_ALLOC))
        return false;
    if (strcmp(symbol, "_DYNAMIC") == 0)
        return strcmp(name, ".dynamic") == 0;
    if (strcmp(symbol, "_GLOBAL_OFFSET_TABLE_") == 0)
        return strcmp(name, ".got") == 0 || strcmp(name, ".got.plt") == 0;
    return named(name, good, ARRAY_LEN(good));
}

static bool static_symbol(struct object *o, const Elf64_Sym *y, const char *name, void *arg)
{
    Elf64_Shdr s;
    (void)arg;
    if (!check_kind(o, y, name))
        return false;
    unsigned type = ELF64_ST_TYPE(y->st_info);
    if (y->st_shndx == SHN_UNDEF || y->st_shndx >= SHN_LORESERVE || !section_at(o, y->st_shndx, &s))
        return true;
    bool exec = (s.sh_flags & SHF_EXECINSTR) != 0;
    if (type == STT_OBJECT && exec)
        return refuse(o,
                      "the data object %s lies among the code (section attribute); machine code "
                      "in a data array is not allowed: write C",
                      name);
    if (type == STT_OBJECT && !own_data(o, &s, name))
        return refuse(o,
                      "the data object %s lies in a section that is the linker's (section "
                      "attribute); leave the section to the compiler",
                      name);
    if (type == STT_FUNC && !exec)
        return refuse(o,
                      "the function %s lies among the data (section attribute); leave the "
                      "section to the compiler",
                      name);
    return true;
}

struct exports {
    const char *want;
    bool seen;
};

static bool dynamic_symbol(struct object *o, const Elf64_Sym *y, const char *name, void *arg)
{
    struct exports *x = arg;
    if (!check_kind(o, y, name))
        return false;
    if (y->st_shndx == SHN_UNDEF) {
        if (!elfcheck_may_import(name) && !(o->allocates && allocates(name)))
            return refuse(o,
                          "the kernel calls %s, which is not allowed: a kernel may call the "
                          "functions of libm and memcpy, memmove, memset, memcmp, memchr, "
                          "strlen; its memory is the workspace argument",
                          name);
        return true;
    }
    if (strcmp(name, x->want) != 0)
        return refuse(o, "the kernel exports %s (visibility attribute); make it static", name);
    const Elf64_Phdr *p = segment_of(o, y->st_value, y->st_size);
    if (ELF64_ST_TYPE(y->st_info) != STT_FUNC || !p || !(p->p_flags & PF_X) || x->seen)
        return broken(o, "entry");
    x->seen = true;
    return true;
}

/* The loader finds the symbols by address and does not know how many there are; the section must be
 * the very table that it uses, and no relocation may name one beyond it. */
static bool check_symbols(struct object *o, const struct dynamic *d, const Elf64_Shdr *dynsym,
                          const Elf64_Shdr *symtab, const char *exported, uint64_t used)
{
    Elf64_Shdr strings;
    uint64_t off = 0;
    if (dynsym->sh_addr != d->symtab || !offset_of(o, d->symtab, dynsym->sh_size, &off) ||
        off != dynsym->sh_offset || !section_at(o, dynsym->sh_link, &strings) ||
        strings.sh_offset != d->stroff || strings.sh_size != d->strsz ||
        used > dynsym->sh_size / sizeof(Elf64_Sym))
        return broken(o, "dynamic symbols");
    uint64_t nsyms = dynsym->sh_size / sizeof(Elf64_Sym);
    if (nsyms > IMPORTS_MAX)
        return broken(o, "too many dynamic symbols");
    if (!check_hash(o, d, nsyms) || !check_versions(o, d, nsyms))
        return false;
    struct exports x = {.want = exported};
    if (!each_symbol(o, dynsym, dynamic_symbol, &x))
        return false;
    if (!x.seen)
        return broken(o, "the entry is not exported");
    return !symtab->sh_size || each_symbol(o, symtab, static_symbol, NULL);
}

static bool check(struct object o, const char *exported)
{
    struct dynamic d = {0};
    Elf64_Shdr dynsym, symtab;
    uint64_t used = 0;
    if (o.size)
        o.message[0] = '\0';
    return check_header(&o) && check_segments(&o) && check_dynamic(&o, &d) &&
           check_sections(&o, &dynsym, &symtab) && check_relocations(&o, d.rela, d.relasz, &used) &&
           check_relocations(&o, d.jmprel, d.pltrelsz, &used) && check_relr(&o, &d) &&
           check_symbols(&o, &d, &dynsym, &symtab, exported, used);
}

bool elfcheck(const void *bytes, size_t n, const char *exported, bool may_allocate, char *message,
              size_t size)
{
    return check(
        (struct object){
            .b = bytes, .n = n, .allocates = may_allocate, .message = message, .size = size},
        exported);
}

bool elfcheck_stripped(const void *bytes, size_t n, const char *exported, bool may_allocate,
                       char *message, size_t size)
{
    return check((struct object){.b = bytes,
                                 .n = n,
                                 .allocates = may_allocate,
                                 .stripped = true,
                                 .message = message,
                                 .size = size},
                 exported);
}
