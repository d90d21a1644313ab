#include "gpu/c/landlock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on every architecture. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE       445
#define NR_RESTRICT_SELF  446

#define CREATE_RULESET_VERSION 1u
#define RULE_PATH_BENEATH      1

#define FS_EXECUTE    (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_READ_FILE  (1ull << 2)
#define FS_READ_DIR   (1ull << 3)
#define FS_REMOVE_DIR (1ull << 4)
#define FS_REMOVE     (1ull << 5)
#define FS_MAKE_REG   (1ull << 8)
#define FS_ABI1       ((1ull << 13) - 1)
#define FS_REFER      (1ull << 13) /* ABI 2 */
#define FS_TRUNCATE   (1ull << 14) /* ABI 3 */
#define FS_IOCTL_DEV  (1ull << 15) /* ABI 5 */
#define NET_TCP       3ull         /* ABI 4: bind and connect */
#define SCOPES        3ull         /* ABI 6: abstract sockets, signals */

#define FS_OF_A_FILE (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

struct ruleset_attr {
    uint64_t fs, net, scoped;
};
struct path_attr {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

static uint64_t fs_known(int abi)
{
    uint64_t all = FS_ABI1;
    if (abi >= 2)
        all |= FS_REFER;
    if (abi >= 3)
        all |= FS_TRUNCATE;
    if (abi >= 5)
        all |= FS_IOCTL_DEV;
    return all;
}

int landlock_abi(void)
{
    long abi = syscall(NR_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

int landlock_new(int abi, struct error *e)
{
    struct ruleset_attr a = {
        .fs = fs_known(abi), .net = abi >= 4 ? NET_TCP : 0, .scoped = abi >= 6 ? SCOPES : 0};
    size_t size = abi >= 6   ? sizeof a
                  : abi >= 4 ? offsetof(struct ruleset_attr, scoped)
                             : offsetof(struct ruleset_attr, net);
    int fd = (int)syscall(NR_CREATE_RULESET, &a, size, 0u);
    if (fd < 0)
        error_sys(e, "cannot make a Landlock rule set");
    return fd;
}

bool landlock_allow(int ruleset, int abi, const char *path, bool write, struct error *e)
{
    uint64_t allowed = FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
    if (write)
        allowed |= FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE | FS_MAKE_REG | FS_TRUNCATE;
    struct path_attr a = {.fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat st;
    bool ok = a.fd >= 0 && fstat(a.fd, &st) == 0;
    if (ok && !S_ISDIR(st.st_mode))
        allowed &= FS_OF_A_FILE;
    a.allowed = allowed & fs_known(abi);
    ok = ok && syscall(NR_ADD_RULE, ruleset, RULE_PATH_BENEATH, &a, 0u) == 0;
    if (!ok)
        error_sys(e, "cannot let the jail see %s", path);
    if (a.fd >= 0)
        close(a.fd);
    return ok;
}

bool landlock_enter(int ruleset)
{
    return syscall(NR_RESTRICT_SELF, ruleset, 0u) == 0;
}
