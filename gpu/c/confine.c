#include "gpu/c/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/c/landlock.h"
#include "gpu/c/template.h"

#define NOBODY 65534

static void say(char *text, size_t size, const char *what)
{
    size_t n = strlen(text);
    if (n < size)
        snprintf(text + n, size - n, "%s%s", n ? ", " : "", what);
}

static bool write_file(const char *path, const char *s)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, s, strlen(s)) == (ssize_t)strlen(s);
    close(fd);
    return ok;
}

/* A user namespace in which we keep our own id. */
static bool enter_user_namespace(void)
{
    char map[64];
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%u %u 1\n", uid, uid);
    if (!write_file("/proc/self/uid_map", map))
        return false;
    snprintf(map, sizeof map, "%u %u 1\n", gid, gid);
    return write_file("/proc/self/gid_map", map);
}

/* Whether a child in a new PID namespace can be made: by making one. */
static bool pid_namespaces_work(void)
{
    pid_t pid =
        (pid_t)syscall(SYS_clone, (unsigned long)(CLONE_NEWPID | SIGCHLD), 0UL, 0UL, 0UL, 0UL);
    if (pid == 0)
        _exit(0);
    return pid > 0;
}

/* A folder that was removed: nothing can be made in it, nothing is in it. */
static int make_empty_root(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[256];
    int n = snprintf(path, sizeof path, "%s/warploop-root-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || (size_t)n >= sizeof path || !mkdtemp(path))
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rmdir(path);
    return fd;
}

void confine_prepare(struct confine *c, char *text, size_t size)
{
    *c = (struct confine){.empty_root = make_empty_root(), .ruleset = -1};
    bool root = geteuid() == 0;
    /* Root first tries without a user namespace, so that templates can become nobody. */
    c->network = root && unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0;
    bool user = !c->network && enter_user_namespace();
    if (user)
        c->network = unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0;
    c->pid_namespaces = pid_namespaces_work();
    c->landlock = landlock_abi();
    if (c->landlock > 0)
        c->ruleset = landlock_new(c->landlock, NULL);
    c->filters = seccomp_timed_child(TEMPLATE_GO_FD, &c->child, NULL) &&
                 seccomp_executor(&c->executor, NULL);
    text[0] = '\0';
    if (user)
        say(text, size, "user");
    if (c->pid_namespaces)
        say(text, size, "pid");
    if (c->network)
        say(text, size, "net, ipc");
    if (text[0]) {
        size_t n = strlen(text);
        snprintf(text + n, size - n, " namespaces");
    }
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);
    return syscall(SYS_capset, &head, none) == 0;
}

/* Root becomes nobody. In a user namespace with one id there is no other to become. */
static void drop_identity(void)
{
    if (geteuid() != 0 || setgroups(0, NULL) != 0)
        return;
    if (setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0)
        prctl(PR_SET_DUMPABLE, 1); /* still counted from outside by perf_event_open */
}

bool confine_template(const struct confine *c, bool unconfined, char *text, size_t size)
{
    char abi[24];
    text[0] = '\0';
    /* The out-of-memory killer's first choice is the candidate, not the run. */
    write_file("/proc/self/oom_score_adj", "1000");
    if (unconfined) {
        say(text, size, "none");
        return true;
    }
    bool root = c->empty_root >= 0 && fchdir(c->empty_root) == 0 && chroot(".") == 0;
    drop_identity();
    bool bare = drop_capabilities();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    bool files = c->ruleset >= 0 && landlock_enter(c->ruleset);
    bool calls = c->filters && seccomp_enter(&c->executor);
    snprintf(abi, sizeof abi, "landlock %d", c->landlock);
    if (files)
        say(text, size, abi);
    if (root)
        say(text, size, "empty root");
    if (bare)
        say(text, size, "no capabilities");
    if (calls)
        say(text, size, "seccomp");
    if (calls || ((files || root) && c->network))
        return true;
    snprintf(text, size,
             "this machine has neither seccomp nor the namespaces to keep a candidate "
             "from files and network; nothing is run (--jail none runs it all the "
             "same)");
    return false;
}

bool confine_child(const struct confine *c, bool allocates, bool unconfined)
{
    if (unconfined || allocates || !c->filters)
        return true;
    return seccomp_enter(&c->child);
}
