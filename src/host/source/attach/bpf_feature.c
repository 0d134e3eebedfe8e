// SPDX-License-Identifier: BSD-2-Clause
// The names of what a kernel may lack, and what that costs; see bpf_program.h. The same in every build.
#include <string.h>
#include <unistd.h>

#include "source/attach/bpf_program.h"

static const char *const names[SEEP_BPF_FEATURES_NR] = {
    [SEEP_BPF_CAN_LOAD] = "BPF programs",    [SEEP_BPF_CAN_BTF] = "kernel types (BTF)",
    [SEEP_BPF_CAN_RING] = "BPF ring buffer", [SEEP_BPF_CAN_STORAGE] = "BPF task storage",
    [SEEP_BPF_CAN_LOOP] = "bpf_loop",        [SEEP_BPF_CAN_MULTI] = "uprobe.multi",
    [SEEP_BPF_CAN_VMA] = "bpf_find_vma",     [SEEP_BPF_CAN_SESSION] = "uprobe.session",
    [SEEP_BPF_CAN_CAST] = "bpf_rdonly_cast", [SEEP_BPF_CAN_SLAB] = "bpf_get_kmem_cache",
};

static const char *const costs[SEEP_BPF_FEATURES_NR] = {
    [SEEP_BPF_CAN_LOAD] = "'seep attach' and 'seep kernel' need root, or CAP_BPF and CAP_PERFMON",
    [SEEP_BPF_CAN_BTF] = "'seep attach' and 'seep kernel' need a kernel built with CONFIG_DEBUG_INFO_BTF",
    [SEEP_BPF_CAN_RING] = "'seep attach' and 'seep kernel' need Linux 5.8 or later",
    [SEEP_BPF_CAN_STORAGE] = "'seep attach' needs Linux 5.11 or later",
    [SEEP_BPF_CAN_LOOP] =
        ("stacks of programs by frame pointers only, so most are cut after the first frame, "
         "and 'seep kernel' costs three times as much: Linux 5.17 or later has it"),
    [SEEP_BPF_CAN_VMA] =
        "stacks of a new process are cut in its first milliseconds: Linux 5.17 or later has it",
    [SEEP_BPF_CAN_MULTI] = "attaching takes longer: Linux 6.6 or later has it",
    [SEEP_BPF_CAN_SESSION] = "two probes per call, and sampling saves little: Linux 6.13 or later has it",
    [SEEP_BPF_CAN_CAST] = "'seep kernel' costs a tenth more: Linux 6.2 or later has it",
    [SEEP_BPF_CAN_SLAB] =
        ("'seep kernel' has blocks that were freed in bulk as live until their address is given out "
         "again: Linux 6.13 or later has it"),
};

bool seep_bpf_numbers_differ(void) {
    char text[64];
    ssize_t nr = readlink("/proc/self/ns/pid", text, sizeof(text) - 1);
    // PROC_PID_INIT_INO of the kernel's proc_ns.h: the first one is always this.
    static const char first[] = "pid:[4026531836]";
    return nr > 0 && ((size_t)nr != sizeof(first) - 1 || memcmp(text, first, sizeof(first) - 1) != 0);
}

const char *seep_bpf_feature_name(enum seep_bpf_feature feature) {
    return names[feature];
}

const char *seep_bpf_feature_cost(enum seep_bpf_feature feature) {
    return costs[feature];
}
