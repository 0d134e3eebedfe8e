// SPDX-License-Identifier: BSD-2-Clause
// Compares a process's root and mounts with ours, see own_root.h.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/live_thread.h"
#include "process/own_root.h"

static bool differ(const char *ours, const char *its) {
    struct statx a, b;
    // Its root may be a file system that does not answer: what the kernel knows of it is enough.
    return statx(AT_FDCWD, ours, AT_STATX_DONT_SYNC, STATX_INO, &a) == 0 &&
           statx(AT_FDCWD, its, AT_STATX_DONT_SYNC, STATX_INO, &b) == 0 &&
           (a.stx_ino != b.stx_ino || a.stx_dev_major != b.stx_dev_major ||
            a.stx_dev_minor != b.stx_dev_minor);
}

bool seep_process_own_root(pid_t pid, char ret_path[SEEP_OWN_ROOT_ROOM]) {
    char mounts[SEEP_OWN_ROOT_ROOM];
    if (pid <= 0)
        return false;
    // Of a process whose main thread has ended the others tell.
    int thread = (int)seep_live_thread(pid);
    snprintf(mounts, sizeof(mounts), "/proc/%d/ns/mnt", thread);
    snprintf(ret_path, SEEP_OWN_ROOT_ROOM, "/proc/%d/root", thread);
    return differ("/proc/self/ns/mnt", mounts) || differ("/", ret_path);
}
