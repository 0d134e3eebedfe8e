// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Whether the main thread of another process blocks a signal. Source: proc_pid_status(5).
#include <stdio.h>
#include <sys/types.h>

static int blocks_signal(pid_t pid, int signal) {
    char path[64], line[256];
    unsigned long long blocked = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof(line), status))
        sscanf(line, "SigBlk: %llx", &blocked);
    if (status)
        fclose(status);
    return blocked >> (signal - 1) & 1;
}
