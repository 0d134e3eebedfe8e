// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of image_look.h share.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_LOOK_PARTS_H
#define SEEP_SOURCE_IMAGE_IMAGE_LOOK_PARTS_H

#include "base/records.h"
#include "source/image/image_look.h"
#include "source/image/image_reader.h"

#define SEEP_LOOK_GROUP SEEP_CHUNK_SITES

// Sums over the heap's sites of one chunk.
struct seep_look_sums {
    uint64_t allocations, allocated_bytes, frees, freed_bytes, temporary;
    uint64_t live_blocks, live_bytes;
    uint64_t by_function[SEEP_VIA_HEAP_NR];
};

struct seep_look_group {
    uint32_t nr_sites;
    uint32_t nr_now; // bytes
    uint32_t nr_differences;
    unsigned char *now;         // figures of each site, as in seep_image_look_each()
    unsigned char *differences; // in `epoch`: LEB of the place in the group, then figures; NULL: none
    uint64_t epoch;             // of the last change in the group
    uint32_t *changed;          // of each site: the lower half of its epoch
    struct seep_look_sums sums;
};

// What one thread counted in one chunk.
struct seep_look_seen {
    uint32_t group;
    uint32_t thread;
    uint64_t page;
    uint64_t hash; // of its bytes
    uint64_t allocations, allocated_bytes, frees, freed_bytes;
};

// A growing array, owned by the look.
struct seep_look_threads {
    struct seep_thread_figures *items;
    size_t nr;
    size_t capacity;
    bool is_many;
};

struct seep_image_look {
    int fd;
    pid_t pid;
    uint64_t device, inode;
    struct seep_image_head head;
    struct seep_profile *profile; // NULL: not read yet
    struct seep_profile *profile_before;
    uint32_t nr_nodes, nr_sites, nr_sites_before;
    struct seep_look_group *groups;
    size_t nr_groups, groups_capacity;
    struct seep_look_seen *seen; // by group, then by thread
    size_t nr_seen;
    uint64_t epoch, before, changed;
    struct seep_look_threads threads, threads_before;
    uint8_t *cut; // of each node that was counted: 1 + enum seep_cut of its outermost one; 0: whole
    uint32_t nr_cut_nodes, nr_cut_sites; // nodes and sites that were counted
    uint64_t cut_sites[SEEP_CUT_NR];
};

// ---- image_look_counters.c ----

// Adds up the counters of all threads, by site. Only chunks that have changed since the last look are added
// up again.
SEEP_MUST_CHECK struct seep_error *seep_look_take_counters(struct seep_image_look *look,
                                                           const struct seep_image_copy *copy);

// ---- image_look_figures.c ----

// Packs figures: a mask, then each that differs from `before`, as zigzag of the difference; `before` NULL:
// each that is not 0, as LEB.
void seep_look_put_figures(struct seep_put *put, const struct seep_figures *now,
                           const struct seep_figures *before);
// Reads packed figures. `bytes` NULL: nothing.
struct seep_take seep_look_take_of(const unsigned char *bytes, size_t nr_bytes);
// The next figures; 0 where they are not packed.
struct seep_figures seep_look_take_figures(struct seep_take *take);
// The figures that a look keeps of counters.
struct seep_figures seep_look_figures_of(const struct seep_counters *c);

#endif
