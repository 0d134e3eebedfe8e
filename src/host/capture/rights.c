// SPDX-License-Identifier: BSD-2-Clause
// Capabilities, see rights.h.
#include <stdio.h>

#include "capture/rights.h"

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
