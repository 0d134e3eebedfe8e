// SPDX-License-Identifier: BSD-2-Clause
// Capabilities, see rights.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/rights.h"

// Source of the numbers: Linux uapi linux/capability.h.
#define CAPABILITY_ADMIN 21

static const struct {
    const char *name;
    unsigned number;
    bool admin_does; // CAP_SYS_ADMIN has it in it
    const char *cost;
} rights[SEEP_RIGHTS_NR] = {
    [SEEP_RIGHT_BPF] = {"CAP_BPF", 39, true,
                        "'seep attach' and 'seep kernel' cannot load programs: be root, or have it"},
    [SEEP_RIGHT_PERFMON] = {"CAP_PERFMON", 38, true,
                            "'seep attach' and 'seep kernel' cannot trace: be root, or have it"},
    [SEEP_RIGHT_PTRACE] = {"CAP_SYS_PTRACE", 19, false,
                           "'seep attach', 'seep scan' and 'seep report PID' see processes of your own only"},
    [SEEP_RIGHT_SYSLOG] =
        {"CAP_SYSLOG", 34, false,
         "'seep kernel' may see no addresses in /proc/kallsyms, and cannot name functions then"},
};

static uint64_t effective_capabilities(void) {
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long long mask = UINT64_MAX;
    while (status && fgets(line, sizeof(line), status))
        if (sscanf(line, "CapEff: %llx", &mask) == 1)
            break;
    if (status)
        fclose(status);
    return mask;
}

bool seep_right_is_held(enum seep_right right) {
    uint64_t mask = effective_capabilities();
    return (mask >> rights[right].number & 1) || (rights[right].admin_does && mask >> CAPABILITY_ADMIN & 1);
}

const char *seep_right_name(enum seep_right right) {
    return rights[right].name;
}

const char *seep_right_cost(enum seep_right right) {
    return rights[right].cost;
}

// The first number of a file; with a key, behind it, at the start of a line. -1: not there.
static long first_number(const char *path, const char *key) {
    FILE *file = fopen(path, "re");
    char line[256];
    long value = -1;
    while (file && value < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

// Source: proc_pid_stat(5), the ninth field; PF_KTHREAD of the kernel's linux/sched.h.
static bool is_of_kernel(pid_t pid) {
    char path[64], line[512] = "";
    unsigned long flags = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(line, sizeof(line), file)) {
        const char *name_end = strrchr(line, ')'); // the name may have anything in it
        if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
            flags = 0;
    }
    if (file)
        fclose(file);
    return flags & 0x00200000;
}

struct seep_error *seep_right_to_debug(struct seep_error *error, pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    long user = first_number(path, "Uid:");
    long scope = first_number("/proc/sys/kernel/yama/ptrace_scope", "");
    if (is_of_kernel(pid))
        return seep_error_hint(error, "it is a thread of the kernel, whose memory 'seep kernel' tells of");
    if (seep_right_is_held(SEEP_RIGHT_PTRACE))
        return seep_error_hint(error, "CAP_SYS_PTRACE is there and does not help: a security module protects "
                                      "the process, or its user namespace is not ours");
    if (user >= 0 && (uid_t)user != geteuid())
        return seep_error_hint(
            error, "it belongs to another user (%ld): be that user, or root, or have CAP_SYS_PTRACE", user);
    if (scope > 0)
        return seep_error_hint(
            error,
            "kernel.yama.ptrace_scope is %ld: set it to 0 (sysctl -w kernel.yama.ptrace_scope=0), "
            "or be root, or have CAP_SYS_PTRACE",
            scope);
    return seep_error_hint(
        error, "it is protected, though of your user (it changed its user or may not be dumped): be "
               "root, or have CAP_SYS_PTRACE");
}
