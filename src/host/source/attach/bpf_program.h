// SPDX-License-Identifier: BSD-2-Clause
//
// The BPF programs as an object: what the kernel can do, loading, attaching. Owns libbpf; a build without
// it has the same functions, which then say so.
#ifndef SEEP_SOURCE_ATTACH_BPF_PROGRAM_H
#define SEEP_SOURCE_ATTACH_BPF_PROGRAM_H

#include <sys/types.h>

#include "base/error.h"

// What was tried, each by itself; why: what is missing and what that costs, static text, or NULL.
enum seep_bpf_feature {
    SEEP_BPF_CAN_LOAD,    // programs at all: rights, lockdown
    SEEP_BPF_CAN_BTF,     // kernel types: needed
    SEEP_BPF_CAN_RING,    // needed
    SEEP_BPF_CAN_STORAGE, // needed
    SEEP_BPF_CAN_LOOP,    // else stacks by frame pointers only
    SEEP_BPF_CAN_VMA,     // else new processes have cut stacks until their mappings were read
    SEEP_BPF_CAN_MULTI,   // else slower to attach, and older probes
    SEEP_BPF_CAN_SESSION, // else two probes per function, and sampling saves little
    SEEP_BPF_CAN_CAST,    // else the kernel's stacks are read by copying
    SEEP_BPF_CAN_SLAB,    // else more blocks of the kernel that were freed in bulk count as live
    SEEP_BPF_FEATURES_NR
};
struct seep_bpf_features {
    bool can[SEEP_BPF_FEATURES_NR];
    int load_errno; // of the first program that did not load
    bool lockdown;  // the kernel keeps its memory secret
};

// Loads small programs and takes them away again. Never fails: what cannot be tried is not there.
void seep_bpf_features_probe(struct seep_bpf_features *ret_features);
// Static text, as `seep info` has it.
const char *seep_bpf_feature_name(enum seep_bpf_feature feature);
const char *seep_bpf_feature_cost(enum seep_bpf_feature feature); // of its absence
// NULL where all that is needed is there; else SEEP_E_PERMISSION or SEEP_E_UNSUPPORTED with what to do.
SEEP_MUST_CHECK struct seep_error *seep_bpf_features_check(const struct seep_bpf_features *features);

// Whether this build has BPF programs in it.
bool seep_bpf_is_built(void);

// Whether we know processes by other numbers than the kernel's own, which BPF programs see: in a container.
bool seep_bpf_numbers_differ(void);
#define SEEP_BPF_NUMBERS_ADVICE "run it on the host, or start the container with --pid=host"

// Attaching one program to many places of one file at once.
#define SEEP_BPF_ATTACH_MULTI   48
#define SEEP_BPF_ATTACH_SESSION 57
struct seep_bpf_places {
    const char *path;             // as open() takes it
    const unsigned long *offsets; // in the file
    const uint64_t *cookies;
    const unsigned long *semaphores; // in the file too: counts that are one more while the probes are there
                                     // (0: none); or NULL
    uint32_t nr;
    pid_t pid; // 0: all processes
};
// *ret_link: a descriptor; the probes go when it is closed, also when we are killed. `returns`: at the
// return, not at the entry.
SEEP_MUST_CHECK struct seep_error *seep_bpf_attach_multi(int program_fd, int attach_type,
                                                         const struct seep_bpf_places *places, bool returns,
                                                         int *ret_link);

#endif
