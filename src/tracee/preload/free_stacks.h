// SPDX-License-Identifier: BSD-2-Clause
//
// Where blocks were freed (SEEP_FREE_STACKS), so that a second free can tell of the first. A plane of
// the heap map (image/layout.h): its word means something where the entry has no live block any more, and
// it is forgotten when the address is handed out again. Off by default; where it is on, operations go the
// special way and the stack of every release is asked for.
//
// Sampled blocks have no entry in the map while they live; freed they get one, and the filter counts
// them on, so that a second free is not passed by.
#ifndef SEEP_PRELOAD_FREE_STACKS_H
#define SEEP_PRELOAD_FREE_STACKS_H

#include "preload/block_birth.h"
#include "preload/events.h"

// Whether the heap map has a plane of the stacks that freed (--free-stacks).
SEEP_INLINE bool releases_are_kept(void) {
    return seep_g.config.free_stacks;
}

// Of the leaves: entries, and what is kept beside them.
SEEP_INLINE uint64_t map_planes(void) {
    return UINT64_C(1) + births_are_kept() + releases_are_kept() + events_are_kept();
}

// The word of the block whose entry is at `entry`. Only where releases are kept.
SEEP_INLINE uint64_t *freed_word(uint64_t *entry) {
    return entry + (map_planes() - 1) * ((UINT64_C(1) << SEEP_LEAF_SHIFT) >> seep_g.granule_shift);
}

// What is known of the release of the block that was last in the granule of `address`, as a heap map entry of
// the site where it was freed; 0: nothing.
uint64_t seep_freed_at(uint64_t address);

// Both only where blocks are sampled and releases kept. The block of `site` is freed at
// `release_site`; its address is handed out again.
void seep_freed_keep_sampled(uint64_t address, uint32_t site, uint32_t release_site, uint64_t size);
void seep_freed_forget_sampled(uint64_t address);

#endif
