/* The holder keeps the terminal for the shell while the workbench and the engine live in its child:
 * on leave or hang-up the child becomes a session of its own and goes on without a screen; when the
 * child is killed, the holder puts the terminal right and says how to go on. Forks once, before any
 * thread and before the log is opened. */
#ifndef WARPLOOP_LOOP_HOLDER_H
#define WARPLOOP_LOOP_HOLDER_H

/* In the child returns the descriptor to report on (holder_left); in the parent never returns: it
 * exits with the child's status. `resume_hint` is printed when the child is killed. -1: no fork was
 * possible, go on without. */
int holder_fork(const char *resume_hint);
/* The child leaves the terminal: own session, descriptors 0-2 on /dev/null, the shell goes on. */
void holder_left(int fd);

#endif
