// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Waits until threads of this process sleep in the expected system calls. Source: proc_pid_syscall(5).
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_asleep_in(const char *tid, const long *calls, int nr_calls) {
    char path[64], line[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    int is_known = fgets(line, sizeof(line), file) && strncmp(line, "running", 7) != 0;
    fclose(file);
    for (int i = 0; is_known && i < nr_calls; i++)
        if (strtol(line, NULL, 10) == calls[i])
            return 1;
    return 0;
}

static void wait_for_sleepers(int nr_threads, const long *calls, int nr_calls) {
    for (int nr = 0; nr < nr_threads;) {
        DIR *threads = opendir("/proc/self/task");
        nr = 0;
        for (struct dirent *entry; (entry = readdir(threads)) != NULL;)
            nr += is_asleep_in(entry->d_name, calls, nr_calls);
        closedir(threads);
        if (nr < nr_threads)
            usleep(1000);
    }
}
