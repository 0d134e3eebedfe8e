// SPDX-License-Identifier: BSD-2-Clause
// Compares a process's root and mounts with ours, see own_root.h.
#include <stdio.h>

#include "base/live_thread.h"
#include "base/statx_call.h"
#include "process/own_root.h"

static bool differ(const char *ours, const char *its) {
    struct seep_statx a, b;
    // Its root may be a file system that does not answer: what the kernel knows of it is enough.
    return seep_statx(AT_FDCWD, ours, SEEP_STATX_DONT_SYNC, &a) &&
           seep_statx(AT_FDCWD, its, SEEP_STATX_DONT_SYNC, &b) &&
           (a.ino != b.ino || a.dev_major != b.dev_major || a.dev_minor != b.dev_minor);
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
