/* A terminal for tests: a pseudo-terminal whose other end is emulated by libvterm. Runs a command
 * or a callback on it at a size and under a TERM, sends keys, waits for text, reads text,
 * attributes, bytes and writes. One waits for what one expects, never for a time. */
#ifndef WARPLOOP_TESTS_SUPPORT_VT_H
#define WARPLOOP_TESTS_SUPPORT_VT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"

struct vt;

struct vt_opts {
    int rows, cols;
    const char *term;   /* TERM; NULL: xterm-256color; "": unset */
    const char *locale; /* LC_ALL; NULL: C.UTF-8 */
    /* what runs on it: a command, or a function whose return value is the exit status */
    char *const *argv;
    int (*call)(void *ctx);
    void *ctx;
};

struct vt *vt_start(const struct vt_opts *o);
/* Kill what still runs and free. */
void vt_end(struct vt *v);

void vt_send(struct vt *v, const char *keys); /* bytes as a terminal would send them */
void vt_sendn(struct vt *v, const char *keys, size_t n);
void vt_resize(struct vt *v, int rows, int cols);
void vt_hangup(struct vt *v); /* close our end */
void vt_signal(struct vt *v, int sig);
pid_t vt_pid(const struct vt *v);

/* Take in output for at most ms milliseconds until `text` stands on the screen. False: it did not
 * come. */
bool vt_wait(struct vt *v, const char *text, int ms);
/* Until it stands there no more. */
bool vt_wait_gone(struct vt *v, const char *text, int ms);
/* Until nothing came for `quiet` ms, at most `ms`. Returns the bytes that came. */
size_t vt_settle(struct vt *v, int quiet, int ms);
/* Until the process ended: its wait status; -1 when it did not within ms. */
int vt_wait_exit(struct vt *v, int ms);
/* Until it stopped (Ctrl-Z). */
bool vt_wait_stopped(struct vt *v, int ms);

/* The screen: one line a row, trailing blanks removed. */
void vt_text(struct vt *v, struct buf *out);
bool vt_has(struct vt *v, const char *text);
/* One letter a cell: b bold, u underlined, r reversed, c coloured, . nothing (the first that
 * holds). */
void vt_attributes(struct vt *v, struct buf *out);
/* A picture for rsvg-convert. */
void vt_svg(struct vt *v, struct buf *out);
const char *vt_title(const struct vt *v); /* what the program set as window title, "" */
bool vt_altscreen(const struct vt *v);
bool vt_cursor_visible(const struct vt *v);

/* All bytes so far and the number of reads that brought them: a program that writes a frame at once
 * is read at once. */
const struct buf *vt_raw(const struct vt *v);
int vt_reads(const struct vt *v);
/* The line discipline's flags as the program left them: true when canonical with echo. */
bool vt_cooked(const struct vt *v);
/* CPU time that the process has used, ms. */
long vt_cpu_ms(const struct vt *v);

#endif
