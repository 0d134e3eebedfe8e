// SPDX-License-Identifier: BSD-2-Clause
//
// What the events of a recording refer to, as it comes while a process is recorded: the modules, nodes of the
// stack tree, sites and threads that were added since the part before.
#ifndef SEEP_PROFILE_RECORDED_STACKS_H
#define SEEP_PROFILE_RECORDED_STACKS_H

#include "profile/profile.h"

// Elements [first, first + nr) of each kind; ids as in a profile.
struct seep_recorded_stacks {
    struct seep_process
        process;          // pid, ppid, forked_from, is_main, start_realtime_ns, exe, args: in each of them
    uint32_t image_flags; // SEEP_FLAG_* of image/layout.h
    uint32_t first_module, nr_modules;
    uint32_t first_node, nr_nodes;
    uint32_t first_site, nr_sites;
    uint32_t first_thread, nr_threads;
    struct seep_module *modules;
    struct seep_node *nodes;
    struct seep_site *sites; // node and via only
    struct seep_thread *threads;
    struct seep_arena arena;
};

void seep_recorded_stacks_deinit(struct seep_recorded_stacks *stacks);

// A profile to which such parts are added.
struct seep_recorded_growing {
    struct seep_profile *profile;
    size_t modules_capacity, nodes_capacity, sites_capacity, threads_capacity;
};
// NULL, or what is wrong: a part that does not continue where the one before ended. Texts are copied.
SEEP_MUST_CHECK const char *seep_recorded_stacks_add(struct seep_recorded_growing *growing,
                                                     const struct seep_recorded_stacks *part);

#endif
