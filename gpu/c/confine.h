/* How the executor's processes give up what they do not need, in three steps: the nursery once
 * (namespaces, filters made ready), each template after it loaded its object (files, identity,
 * capabilities), each child before its call (all system calls). Every step takes what the machine
 * offers and says so; a child that can reach neither files nor network is required unless the
 * request says "jail": "none". */
#ifndef WARPLOOP_GPU_C_CONFINE_H
#define WARPLOOP_GPU_C_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/c/seccomp.h"

struct confine {
    bool pid_namespaces; /* templates can be forked into PID namespaces */
    bool network;        /* in a network namespace without interfaces */
    int empty_root;      /* a removed, empty folder to change the root to; -1 */
    int ruleset;         /* Landlock rules that deny everything; -1 */
    int landlock;        /* its ABI; 0 */
    bool filters;        /* the two programs below were made */
    struct seccomp_program child, executor;
};

/* In the nursery. `text` gets what is in force: "pid, net and ipc namespaces". */
void confine_prepare(struct confine *c, char *text, size_t size);

/* In a template, object loaded. False (text says why) when neither files nor network would be out
 * of a child's reach; else text says what is in force: "landlock 7, empty root, seccomp". */
bool confine_template(const struct confine *c, bool unconfined, char *text, size_t size);

/* In a child, last thing before its call. `allocates`: the reference keeps the template's wider
 * filter, under which memory can be had. */
bool confine_child(const struct confine *c, bool allocates, bool unconfined);

#endif
