// SPDX-License-Identifier: BSD-2-Clause
// Capabilities, see rights.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/proc_fields.h"
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

// -1: it is not there.
static long ptrace_scope(void) {
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    char line[32];
    long value = file && fgets(line, sizeof(line), file) ? strtol(line, NULL, 10) : -1;
    if (file)
        fclose(file);
    return value;
}

// Source: PF_KTHREAD of the kernel's linux/sched.h.
static bool is_of_kernel(pid_t pid) {
    struct seep_stat stat;
    return seep_stat_read(pid, 0, &stat) && seep_stat_number(&stat, SEEP_STAT_FLAGS) & 0x00200000;
}

struct seep_error *seep_right_to_debug(struct seep_error *error, pid_t pid) {
    long user = seep_status_number(pid, 0, "Uid:"), scope = ptrace_scope();
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
