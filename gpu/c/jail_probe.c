/* What the machine offers for a jail, found out by trying it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "gpu/c/jail.h"
#include "gpu/c/landlock.h"
#include "gpu/c/seccomp.h"

#define TRIAL_NS 5000000000LL

void jail_drop_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    for (unsigned long c = 0; c < 64; c++)
        prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    syscall(SYS_capset, &head, none);
}

/* Run `act` in a child; true if it returned true there. */
static bool in_child(bool (*act)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(act() ? 0 : 1);
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool try_chroot(void)
{
    return chroot("/") == 0;
}

static bool try_filter(void)
{
    struct seccomp_program p;
    return seccomp_compiler(&p, NULL) && seccomp_enter(&p) && socket(AF_UNIX, SOCK_STREAM, 0) < 0 &&
           errno == EPERM;
}

static bool try_landlock(void)
{
    int rules = landlock_new(landlock_abi(), NULL);
    return rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && landlock_enter(rules) &&
           open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY) < 0 && errno == EACCES;
}

static int sysctl_is(const char *path, char *first)
{
    struct buf b = {0};
    bool ok = fs_read(path, 4096, &b, NULL) && b.len > 0;
    *first = ok ? b.s[0] : '\0';
    buf_free(&b);
    return ok;
}

/* Why bubblewrap does not work, and the command that helps. */
static void diagnose(struct jail_report *r, bool installed, const char *said)
{
    static const struct {
        const char *path;
        char bad;
        const char *command;
    } knobs[] = {
        {"/proc/sys/kernel/unprivileged_userns_clone", '0',
         "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
        {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
         "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
        {"/proc/sys/user/max_user_namespaces", '0',
         "sudo sysctl -w user.max_user_namespaces=15000"},
    };
    if (!installed) {
        snprintf(r->lacks, sizeof r->lacks, "bubblewrap (bwrap) is not installed");
        snprintf(r->command, sizeof r->command, "sudo apt-get install bubblewrap");
        return;
    }
    snprintf(r->lacks, sizeof r->lacks, "bubblewrap cannot make namespaces here (%.140s)",
             *said ? said : "no reason given");
    for (size_t i = 0; i < ARRAY_LEN(knobs); i++) {
        char first;
        if (sysctl_is(knobs[i].path, &first) && first == knobs[i].bad) {
            snprintf(r->command, sizeof r->command, "%s", knobs[i].command);
            return;
        }
    }
    if (fs_exists("/.dockerenv") || fs_exists("/run/.containerenv"))
        snprintf(r->command, sizeof r->command,
                 "docker run --security-opt seccomp=unconfined --security-opt "
                 "apparmor=unconfined ... (on the host)");
}

/* Try bubblewrap on itself. The first line it says goes to `said`. */
static bool try_bwrap(char *said, size_t size)
{
    const char *bwrap = jail_bwrap();
    struct jail_report r = {.kind = JAIL_BWRAP};
    struct jail_path all = {.path = "/"};
    struct jail_spec spec = {.jail = &r, .see = &all, .nsee = 1};
    char *argv[] = {xstrdup(bwrap), (char[]){"--version"}, NULL};
    struct jail_proc p;
    struct error e;
    struct buf out = {0};
    size_t total = 0;
    enum jail_end why = JAIL_END_ITSELF;
    int status = -1;
    if (jail_start(&spec, argv, &p, &e))
        status = jail_wait(&p, clock_mono_ns() + TRIAL_NS, 512, 65536, &out, &total, &why);
    else
        buf_adds(&out, e.msg);
    free(argv[0]);
    const char *text = buf_str(&out);
    snprintf(said, size, "%.*s", (int)strcspn(text, "\n"), text);
    buf_free(&out);
    return why == JAIL_END_ITSELF && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void describe(struct jail_report *r)
{
    const char *filter = r->seccomp ? "seccomp without sockets" : "no seccomp";
    if (r->kind == JAIL_BWRAP)
        snprintf(r->text, sizeof r->text, "bwrap (user, pid, net, mount namespaces), %s", filter);
    else if (r->kind == JAIL_LANDLOCK)
        snprintf(r->text, sizeof r->text, "Landlock (ABI %d)%s, %s", r->landlock,
                 r->chroot ? ", own root" : "", filter);
    else if (r->kind == JAIL_CHROOT)
        snprintf(r->text, sizeof r->text, "own root, %s", filter);
    else if (r->kind == JAIL_NONE)
        snprintf(r->text, sizeof r->text, "none (limits on time, memory and file size; %s)",
                 filter);
    else
        snprintf(r->text, sizeof r->text, "refused");
    r->network = r->kind == JAIL_BWRAP || (r->kind != JAIL_REFUSED && r->seccomp);
}

/* Without namespaces: Landlock, or at least a root of its own. Both need seccomp, since neither
 * keeps a process from the network. */
static enum jail_kind without_namespaces(const char *want, struct jail_report *r)
{
    bool automatic = strcmp(want, "auto") == 0;
    if (!r->seccomp)
        return JAIL_REFUSED;
    r->chroot = in_child(try_chroot);
    if ((automatic || strcmp(want, "landlock") == 0) && r->landlock > 0 && in_child(try_landlock))
        return JAIL_LANDLOCK;
    if ((automatic || strcmp(want, "chroot") == 0) && r->chroot)
        return JAIL_CHROOT;
    return JAIL_REFUSED;
}

static bool known(const char *want)
{
    static const char *const wants[] = {"auto", "none", "bwrap", "landlock", "chroot"};
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        if (strcmp(want, wants[i]) == 0)
            return true;
    }
    return false;
}

bool jail_probe(const char *want, struct jail_report *out, struct error *e)
{
    char said[120] = "";
    if (!want)
        want = "auto";
    *out = (struct jail_report){.kind = JAIL_REFUSED, .landlock = landlock_abi()};
    if (!known(want))
        return error_set(e, ERR_INPUT, "unknown jail \"%.40s\": expected auto or none", want);
    out->seccomp = in_child(try_filter);
    if (strcmp(want, "none") == 0)
        out->kind = JAIL_NONE;
    if (strcmp(want, "auto") == 0 || strcmp(want, "bwrap") == 0) {
        bool installed = jail_bwrap() != NULL;
        out->namespaces = installed && try_bwrap(said, sizeof said);
        if (out->namespaces)
            out->kind = JAIL_BWRAP;
        else
            diagnose(out, installed, said);
    }
    if (out->kind == JAIL_REFUSED)
        out->kind = without_namespaces(want, out);
    describe(out);
    if (out->kind != JAIL_REFUSED)
        return true;
    return error_set(e, ERR_SYSTEM,
                     "%s on this machine, and untrusted code is not run without a jail%s%s. "
                     "Landlock: %s; seccomp: %s; change of root: %s.%s%s\n"
                     "With --jail none it runs with your own rights.",
                     strcmp(want, "auto") == 0 ? "no jail works" : "this jail does not work",
                     out->lacks[0] ? ": " : "", out->lacks, out->landlock ? "yes" : "no",
                     out->seccomp ? "yes" : "no", out->chroot ? "yes" : "no",
                     out->command[0] ? " Try: " : "", out->command);
}
