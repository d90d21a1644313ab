/* What a built kernel may contain, checked on the bytes of the shared object itself: no code that
 * runs when it is loaded, none that the loader is made to call, no memory that is both writable and
 * executable, no data placed among the code, nothing imported but mathematics and memory copies,
 * nothing exported but the one entry. The object is hostile: every offset is checked. */
#ifndef WARPLOOP_GPU_C_ELFCHECK_H
#define WARPLOOP_GPU_C_ELFCHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Memory that all segments of an object may take together. */
#define ELFCHECK_MEMORY_MAX (256u << 20)

/* True when the object keeps to the rules and exports `exported` and nothing else. It is looked at
 * as linked, with all its symbols; that it was is the builder's to see to. `may_allocate`: it may
 * call malloc and free too (a task's float64 reference). Else the message says which rule it breaks
 * and what to do instead. */
bool elfcheck(const void *bytes, size_t n, const char *exported, bool may_allocate, char *message,
              size_t size);

/* The same for an object whose static symbols were stripped: what the loader would follow, run or
 * map is checked as above; what lies where among its own functions and data can no longer be. */
bool elfcheck_stripped(const void *bytes, size_t n, const char *exported, bool may_allocate,
                       char *message, size_t size);

/* True for a function that a kernel may import. */
bool elfcheck_may_import(const char *name);

#endif
