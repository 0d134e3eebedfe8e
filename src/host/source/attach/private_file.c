// SPDX-License-Identifier: BSD-2-Clause
//
// Hides files behind copies in memory, see private_file.h. A namespace can only be entered by a process with
// one thread, and ours must stay where it is: so each step is made by a child. Source: mount_namespaces(7),
// fsopen(2), open_tree(2), move_mount(2) (Linux 5.2), openat2(2) (5.6).
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/live_thread.h"
#include "source/attach/private_file.h"

#define TREE_CLONE       1u
#define TREE_CLOEXEC     ((unsigned)O_CLOEXEC)
#define CHILD_NS         INT64_C(10000000000)
#define MOVE_EMPTY_PATHS (4u | 0x40u) // of what is moved, and where to

bool seep_private_enter(void) {
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

// The exit status of a child that does `work`; false also where there is none.
static bool in_child(bool (*work)(void *), void *context) {
    int status;
    pid_t pid = fork(), found;
    if (pid == 0)
        _exit(work(context) ? 0 : 1);
    if (pid < 0)
        return false;
    // What it opens may be on a file system that does not answer: then it is left to that.
    const struct timespec pause = {0, 1000000};
    int64_t end_ns = seep_monotonic_ns() + CHILD_NS;
    while ((found = waitpid(pid, &status, WNOHANG)) == 0 && seep_monotonic_ns() < end_ns && !seep_interrupted)
        nanosleep(&pause, NULL);
    if (found == 0)
        kill(pid, SIGKILL);
    return found == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool try_to_enter(void *context) {
    (void)context;
    return seep_private_enter();
}

bool seep_private_is_possible(void) {
    return in_child(try_to_enter, NULL);
}

static bool copy_bytes(int from, int to) {
    char bytes[65536];
    ssize_t nr;
    while ((nr = read(from, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)nr) != nr)
            return false;
    return nr == 0;
}

// The traced program may be another user's by now, and change its folders under our hands: every path is
// followed once, without links, and all else goes by descriptors.
static int open_once(const char *path, uint64_t flags) {
    struct open_how how = {.flags = flags | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

// A file system in memory over the folder. Its root, or -1. With `nodev` too it would look like one that a
// user mounted (confine/untrusted.h), and the tool would not read the copies itself.
static int mount_over(int folder) {
    int system = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    bool made = system >= 0 && syscall(SYS_fsconfig, system, FSCONFIG_SET_STRING, "source", "seep", 0) == 0 &&
                syscall(SYS_fsconfig, system, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
                syscall(SYS_fsconfig, system, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
    int root = made ? (int)syscall(SYS_fsmount, system, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID) : -1;
    if (system >= 0)
        close(system);
    if (root >= 0 && syscall(SYS_move_mount, root, "", folder, "", MOVE_EMPTY_PATHS) != 0) {
        close(root);
        return -1;
    }
    return root;
}

static bool fill(int from, const struct stat *status, int to) {
    struct timespec times[2] = {status->st_atim, status->st_mtim};
    return copy_bytes(from, to) && fchown(to, status->st_uid, status->st_gid) == 0 &&
           fchmod(to, status->st_mode & 0777) == 0 && futimens(to, times) == 0;
}

// A file like `from`, in memory that is mounted over its folder only while it is made. A descriptor of a
// mount of the file alone, or -1.
static int make_copy(int from, int folder) {
    struct stat status;
    char mounted[64];
    if (fstat(from, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    int root = mount_over(folder), tree = -1;
    if (root < 0)
        return -1;
    int to = openat(root, "copy", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to >= 0 && fill(from, &status, to))
        tree = (int)syscall(SYS_open_tree, root, "copy", TREE_CLONE | TREE_CLOEXEC);
    if (to >= 0)
        close(to);
    snprintf(mounted, sizeof(mounted), "/proc/self/fd/%d", root);
    bool is_gone = umount2(mounted, MNT_DETACH) == 0;
    close(root);
    return is_gone ? tree : -1;
}

struct hiding {
    pid_t pid;
    const char *path;
};

static bool hide(void *context) {
    const struct hiding *hiding = context;
    char name[64], path[PATH_MAX], folder[PATH_MAX];
    snprintf(name, sizeof(name), "/proc/%d/ns/mnt", (int)seep_live_thread(hiding->pid));
    int namespace = open(name, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, CLONE_NEWNS) != 0 || !realpath(hiding->path, path))
        return false;
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    slash[slash == folder] = 0;
    int from = open_once(path, O_RDONLY | O_NONBLOCK), over = open_once(folder, O_PATH | O_DIRECTORY);
    int tree = from < 0 || over < 0 ? -1 : make_copy(from, over);
    return tree >= 0 && syscall(SYS_move_mount, tree, "", from, "", MOVE_EMPTY_PATHS) == 0;
}

bool seep_private_copy(pid_t pid, const char *path) {
    struct hiding hiding = {pid, path};
    return path[0] == '/' && in_child(hide, &hiding);
}
