// SPDX-License-Identifier: BSD-2-Clause
//
// Births of blocks (SEEP_AGE): when, and by which thread. The second plane of the heap map (image/layout.h).
// Off by default; where it is on, operations go the special way.
#ifndef SEEP_PRELOAD_BLOCK_BIRTH_H
#define SEEP_PRELOAD_BLOCK_BIRTH_H

#include "preload/heap_map.h"

// Whether the heap map has a plane of times (--age).
SEEP_INLINE bool births_are_kept(void) {
    return seep_g.config.age;
}

// 0: not kept.
SEEP_INLINE uint64_t seep_birth_ns(void) {
    return births_are_kept() ? seep_clock_ns(CLOCK_MONOTONIC) : 0;
}

// What goes into the plane; 0: not kept.
SEEP_INLINE uint64_t seep_birth_now(const struct seep_thread *thread) {
    return births_are_kept() ? SEEP_BIRTH_MAKE(thread->slot_index, seep_birth_ns() / 1000) : 0;
}

// The block at `address` is in the map, unless it is in the odd table.
SEEP_INLINE void seep_birth_note(const struct seep_thread *thread, uint64_t address) {
    uint64_t *at = births_are_kept() ? map_entry(address) : NULL;
    if (at)
        at[(UINT64_C(1) << SEEP_LEAF_SHIFT) >> seep_g.granule_shift] = seep_birth_now(thread);
}

#endif
