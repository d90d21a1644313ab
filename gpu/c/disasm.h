/* The instruction mix of a built kernel, counted from the text of `objdump -d` (which the caller
 * runs in the jail; the text is not trusted). Static counts: an instruction in a loop counts once.
 * x86-64 only. */
#ifndef WARPLOOP_GPU_C_DISASM_H
#define WARPLOOP_GPU_C_DISASM_H

#include <stddef.h>
#include <stdint.h>

struct disasm_mix {
    char absent[160];                        /* why there are no counts; "" when there are */
    int64_t instructions;                    /* padding (nop) left out */
    int64_t vector512, vector256, vector128; /* by the widest register; 128 without scalar ones */
    int64_t fma;                             /* fused multiply-adds of any width, scalar too */
    int64_t loads, stores;                   /* operands in memory, the stack included */
    int64_t branches, calls;
    int64_t stack;      /* loads and stores relative to the stack pointer: spills, mostly */
    char forbidden[32]; /* the first instruction that no kernel may have (syscall, ...), or "" */
};

/* Counts the text of n bytes. Sets `absent` when it is no disassembly. */
void disasm_count(const char *text, size_t n, struct disasm_mix *out);

#endif
