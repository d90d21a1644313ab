/* A SQLite VFS for tests, laid over the system's own: it counts everything that changes a file,
 * calls a hook before each (where a test may kill the process), lets chosen ones fail, and can play
 * a power cut: what was written but not synced is dropped, kept or kept in parts.
 *
 * One process, one thread, one scenario at a time: its state is global, as SQLite's list of VFSs
 * is. Model: a file's content is safe once it was synced, and so is its being there; a removal is
 * safe when SQLite asked for the folder to be synced. Unsynced writes may arrive in any combination
 * of 512-byte pieces. The -shm file holds nothing that must survive and comes back as rubbish. */
#ifndef WARPLOOP_TESTS_SUPPORT_DROPVFS_H
#define WARPLOOP_TESTS_SUPPORT_DROPVFS_H

#include <stdbool.h>
#include <stdint.h>

enum drop_op { DROP_WRITE, DROP_TRUNCATE, DROP_SYNC, DROP_DELETE };

enum drop_mode {
    DROP_ALL,  /* nothing unsynced survives */
    DROP_NONE, /* everything survives: the system died, the disk did not */
    DROP_SOME, /* each 512-byte piece by a throw of the dice */
};

/* Make this the default VFS. no_wal: offer no shared memory, as a network's file system. */
void dropvfs_install(bool no_wal);
/* Give the default back, forget everything. All connections must be closed. */
void dropvfs_remove(void);

/* Called before every operation with its number (from 1 since install). NULL: none. */
void dropvfs_before(void (*hook)(void *ctx, int64_t n, enum drop_op op), void *ctx);
int64_t dropvfs_ops(void);
/* Operation number n, and all later ones unless `once`, fail with this SQLite code. 0: none. */
void dropvfs_fail(int64_t n, int code, bool once);

/* Put the files on the disk as they are after a power cut now. Connections must be closed (let
 * operations fail from the moment of the cut on, so that closing changes nothing). */
void dropvfs_power_cut(enum drop_mode mode, uint64_t seed);

#endif
