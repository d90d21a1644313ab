/* Fixed-size messages over a SOCK_SEQPACKET socket pair between the supervisor, the nursery and the
 * templates (all of them our own code), with descriptors and the sender's process id attached. */
#ifndef WARPLOOP_GPU_C_CHANNEL_H
#define WARPLOOP_GPU_C_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

#define CHANNEL_FDS 4

/* A connected pair, close-on-exec; the kernel attaches the sender's id to what end[0] receives. */
bool channel_new(int end[2], struct error *e) WARN_UNUSED;

/* Send n bytes and nfds descriptors (borrowed). Async-signal-safe; false with errno. */
bool channel_send(int fd, const void *bytes, size_t n, const int *fds, size_t nfds);

/* Receive one message of at most n bytes: returns its length, 0 at end of file, -1 on error.
 * *nfds: in, room in fds; out, descriptors received (close-on-exec, the caller's). NULL: none are
 * taken. *sender (or NULL): process id in the caller's namespace, 0 if not given. */
ssize_t channel_receive(int fd, void *bytes, size_t n, int *fds, size_t *nfds, pid_t *sender);

#endif
