// SPDX-License-Identifier: BSD-2-Clause
//
// The processes that belong together: a process and its descendants, and those of a control group. Any of
// them may have ended by the time that the list is used.
#ifndef SEEP_PROCESS_PROCESS_GROUP_H
#define SEEP_PROCESS_PROCESS_GROUP_H

#include <sys/types.h>

#include "base/error.h"

struct seep_pids {
    pid_t *items; // malloc'ed
    size_t nr_items;
    size_t capacity;
};

void seep_pids_deinit(struct seep_pids *pids); // of zeros, too

// Appends, without a look whether it is there.
SEEP_MUST_CHECK struct seep_error *seep_pids_add(struct seep_pids *pids, pid_t pid);

// A process and its descendants, parents first.
SEEP_MUST_CHECK struct seep_error *seep_pids_add_family(struct seep_pids *pids, pid_t pid);

// Those of a control group and of the groups below it, this process excepted. Takes `folder`, a descriptor.
// Source: Linux admin-guide/cgroup-v2.rst and cgroup-v1/cgroups.rst (cgroup.procs).
SEEP_MUST_CHECK struct seep_error *seep_pids_add_group(struct seep_pids *pids, int folder);

#endif
