#include "gpu/c/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool channel_new(int end[2], struct error *e)
{
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0)
        return error_sys(e, "cannot make a socket pair");
    if (setsockopt(end[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0)
        return true;
    error_sys(e, "cannot ask for the sender's id on a socket");
    close(end[0]);
    close(end[1]);
    return false;
}

/* Room for the attached descriptors and credentials, aligned as the kernel wants it. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * CHANNEL_FDS) + CMSG_SPACE(sizeof(struct ucred))];
};

bool channel_send(int fd, const void *bytes, size_t n, const int *fds, size_t nfds)
{
    union control control;
    char *copy[1];
    memcpy(copy, &bytes, sizeof copy[0]); /* iovec has no const; sendmsg does not write */
    struct iovec iov = {.iov_base = copy[0], .iov_len = n};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    memset(&control, 0, sizeof control);
    if (nfds) {
        m.msg_control = control.bytes;
        m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
    }
    ssize_t sent;
    do {
        sent = sendmsg(fd, &m, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}

/* Take what is attached; descriptors without room for them are closed. */
static void take_control(struct msghdr *m, int *fds, size_t *nfds, pid_t *sender)
{
    size_t room = nfds ? *nfds : 0, got = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_CREDENTIALS && sender) {
            struct ucred u;
            memcpy(&u, CMSG_DATA(c), sizeof u);
            *sender = u.pid;
        }
        if (c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int one;
            memcpy(&one, CMSG_DATA(c) + i * sizeof one, sizeof one);
            if (got < room)
                fds[got++] = one;
            else
                close(one);
        }
    }
    if (nfds)
        *nfds = got;
}

ssize_t channel_receive(int fd, void *bytes, size_t n, int *fds, size_t *nfds, pid_t *sender)
{
    union control control;
    struct iovec iov = {.iov_base = bytes, .iov_len = n};
    struct msghdr m = {.msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (sender)
        *sender = 0;
    if (got < 0)
        return -1;
    take_control(&m, fds, nfds, sender);
    return got;
}
