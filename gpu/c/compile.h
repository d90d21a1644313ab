/* Compiling a hostile C file into a shared object that keeps to the rules.
 *
 * One fixed command line serves candidate, baseline and reference, so that the same source gives
 * the same bytes: relative names, one thread, no time stamps, symbols stripped. The jail holds only
 * the compiler, the allowed headers with what they include, and a scratch folder; then the object
 * itself is checked (elfcheck.h), and its instruction mix counted. Limits: 2 GiB of memory, 32 MiB
 * a file, 4 MiB of compiler output. */
#ifndef WARPLOOP_GPU_C_COMPILE_H
#define WARPLOOP_GPU_C_COMPILE_H

#include "core/base/buf.h"
#include "core/base/error.h"
#include "gpu/c/disasm.h"
#include "gpu/c/jail.h"
#include "gpu/c/toolchain.h"

/* What stays the same between builds of one process. */
struct compiler {
    struct toolchain tools;
    struct jail_report jail;
    char want[16]; /* the jail that was asked for */
    bool ready;
    bool swept; /* what killed builds left behind was removed */
};

struct compile_request {
    const char *task; /* [a-z0-9_-]+; its header is TASK.h */
    const char *role; /* candidate, baseline or reference; its file is ROLE.c */
    const char *jail; /* auto, none; for tests also bwrap, landlock, chroot */
    const char *const *headers;
    size_t nheaders;
    const struct buf *source, *header, *shim; /* borrowed */
    int64_t timeout_ns;
};

enum compile_verdict {
    COMPILE_OK,
    COMPILE_RULE,    /* the object breaks a rule */
    COMPILE_BUILD,   /* the compiler or the linker refuses it */
    COMPILE_TIMEOUT, /* it takes too long to compile */
    COMPILE_INFRA,   /* the machine's fault: no compiler, no jail, no space */
};

struct compile_result {
    enum compile_verdict verdict;
    char message[1200]; /* the first lines for a person */
    int line;           /* of the source; 0 when none is known */
    char *command;      /* as text, for a person to repeat */
    struct buf log;     /* what the compiler said, at most 16 KiB */
    struct buf object;  /* on COMPILE_OK */
    struct disasm_mix mix;
    double seconds;
};

/* Always fills *out; compile_result_free when done. */
void compile(struct compiler *c, const struct compile_request *r, struct compile_result *out);
void compile_result_free(struct compile_result *r);
const char *compile_verdict_name(enum compile_verdict v);

/* Find the compiler and a jail of the wanted kind, if not done yet (compile does it itself). */
bool compiler_ready(struct compiler *c, const char *jail, struct error *e) WARN_UNUSED;
void compiler_free(struct compiler *c);

#endif
