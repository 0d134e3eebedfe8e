// SPDX-License-Identifier: BSD-2-Clause
//
// Which thread of a process has its memory: the one whose link to the program's file is there.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/live_thread.h"

// The link is there, readable or not, as long as the thread has memory.
static bool has_memory(pid_t tid) {
    char path[64], first;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
    return readlink(path, &first, sizeof(first)) >= 0 || errno != ENOENT;
}

static pid_t find_other(pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return pid;
    pid_t found = 0;
    for (struct dirent *entry; !found && (entry = readdir(folder));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (isdigit((unsigned char)entry->d_name[0]) && tid != pid && has_memory(tid))
            found = tid;
    }
    closedir(folder);
    return found ? found : pid;
}

pid_t seep_live_thread(pid_t pid) {
    int before = errno;
    pid_t found = has_memory(pid) ? pid : find_other(pid);
    errno = before;
    return found;
}
