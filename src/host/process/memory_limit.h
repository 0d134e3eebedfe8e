// SPDX-License-Identifier: BSD-2-Clause
//
// What the memory of a process may come to before the kernel ends it: the tightest limit of its control group
// and of those above it (cgroup v2: memory.max, memory.high; v1: memory.limit_in_bytes), else what the
// machine has.
#ifndef SEEP_PROCESS_MEMORY_LIMIT_H
#define SEEP_PROCESS_MEMORY_LIMIT_H

#include <sys/types.h>

#include "core/attr.h"

struct seep_memory_limit {
    uint64_t bytes;
    char what[160];  // "memory.max of /user.slice"; "the machine's memory"
    char usage[512]; // the file that says what is used of it; "": the machine
    char own[512];   // the folder of the process's own group; "": it has none that is mounted here
    bool is_known;   // false: the process is gone, and the machine is all that is left
};

// The limit that is nearest to what is used of it.
// `root`: "" or, for tests, a folder with /proc/PID/cgroup, /proc/self/mountinfo and what they name in it.
void seep_memory_limit_find(pid_t pid, const char *root, struct seep_memory_limit *ret_limit);

// 0: not known. Without file pages that were not used lately: the kernel takes those before it ends anything.
uint64_t seep_memory_limit_used(const struct seep_memory_limit *limit);

// How many processes of the group of the limit, or of the process's own, the kernel has ended because memory
// of a group ran out, since there is the group; 0: none, or not known.
uint64_t seep_memory_limit_killed(const struct seep_memory_limit *limit);

// Resident memory of a process; 0: it is gone.
uint64_t seep_process_rss(pid_t pid);

// Processor time of all threads so far, ended ones included; 0: the process is gone.
uint64_t seep_process_cpu_ns(pid_t pid);

#endif
