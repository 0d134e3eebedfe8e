// SPDX-License-Identifier: BSD-2-Clause
// Compares a process's root and mounts with ours, see own_root.h.
#include <stdio.h>
#include <sys/stat.h>

#include "base/live_thread.h"
#include "process/own_root.h"

static bool differ(const char *ours, const char *its) {
    struct stat a, b;
    return stat(ours, &a) == 0 && stat(its, &b) == 0 && (a.st_ino != b.st_ino || a.st_dev != b.st_dev);
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
