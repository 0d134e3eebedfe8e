// SPDX-License-Identifier: BSD-2-Clause
//
// How the places of a program that allocate do it, as its recording tells: what each advice is drawn from. A
// group is one place: the sites whose stacks end at the same line of the program.
#ifndef SEEP_REPLAY_TRAITS_H
#define SEEP_REPLAY_TRAITS_H

#include "base/map.h"
#include "profile/profile.h"

// The sites of a process by group. Group 0 is of no place.
struct seep_groups {
    const uint32_t *of_site; // by id
    uint32_t nr_sites;
    uint32_t nr;
};

// The group of a site; 0 for sites that came later.
static inline uint32_t seep_group_of(const struct seep_groups *groups, uint32_t site) {
    return site < groups->nr_sites ? groups->of_site[site] : 0;
}

struct seep_group_traits {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t size_min, size_max;
    uint64_t resized;       // blocks of it that a realloc took
    uint64_t elsewhere;     // blocks of it that another thread freed
    uint64_t nested;        // freed when all that the thread had allocated later was freed: as a stack would
    uint64_t nested_events; // events of the thread within the lives of these, summed
    uint64_t live_blocks;
    uint64_t most_blocks; // the highest that live_blocks was
    uint64_t live_bytes;
    uint64_t live_cost_bytes; // with what glibc adds: rounding, header
    // At the peak of the process, to within a hundredth of it.
    uint64_t peak_blocks, peak_bytes, peak_cost_bytes;
    // Of generations of at least SEEP_GENERATION_BLOCKS: one thread allocates, and then frees all of them.
    uint64_t generations, generation_blocks;
    // Of blocks that grew here, again and again.
    uint64_t chains, steps, copied_bytes;
};

#define SEEP_GENERATION_BLOCKS 64u

// A block that grew: at its first event in the walk (from 0) it is malloc'ed, and `bytes` is the most it had.
struct seep_grown {
    uint64_t bytes;
    uint32_t group; // where it grew last
};

struct seep_traits {
    struct seep_group_traits *groups;
    uint32_t nr_groups;
    uint64_t nr_events;
    uint64_t allocations, allocated_bytes;
    uint32_t nr_threads;
    uint64_t peak_bytes;
    uint64_t largest; // block
    struct seep_grown *growths;
    size_t nr_growths;
    struct seep_map growth_of; // event -> 1 + index in growths
    struct seep_map successor; // event that allocates the larger copy of a block -> that block's address
};

// Reads the recording `path` once. Owner: the caller deinits *ret_traits.
SEEP_MUST_CHECK struct seep_error *seep_traits_find(const char *path, struct seep_profile *profile,
                                                    const struct seep_groups *groups,
                                                    struct seep_traits *ret_traits);
void seep_traits_deinit(struct seep_traits *traits);

#endif
