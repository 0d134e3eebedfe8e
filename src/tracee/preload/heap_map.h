// SPDX-License-Identifier: BSD-2-Clause
//
// The heap map (image/layout.h): from block address to site and size, without locks: the thread that
// holds a block owns its entry. Cost of a hit: the directory's load, the entry's load and store.
#ifndef SEEP_PRELOAD_HEAP_MAP_H
#define SEEP_PRELOAD_HEAP_MAP_H

#include "preload/preload.h"

#define SEEP_LEAF_SHIFT 26u
#define SEEP_LEAF_MASK  ((UINT64_C(1) << SEEP_LEAF_SHIFT) - 1)

// Cold halves, heap_map.c.
uint64_t *seep_map_new_leaf(uint64_t address); // the entry of `address`, or NULL
bool seep_map_put_odd(uint64_t address, uint32_t site, uint64_t size);
uint64_t seep_map_take_odd(uint64_t address, uint64_t *ret_size);
// In a child of fork, which has no image yet: each page of the directory that its parent had written by the
// fork, some of them twice; `off` is in bytes. false: not all of them are known.
bool seep_map_each_dir_page(void (*one)(void *data, uint64_t off), void *data);

// The entry of `address`; NULL: no leaf, or not an address the map can hold.
SEEP_INLINE uint64_t *map_entry(uint64_t address) {
    if (SEEP_UNLIKELY(address & 7 || address >> SEEP_ADDRESS_BITS))
        return NULL;
    uint32_t page = __atomic_load_n(&seep_g.dir[(address >> SEEP_LEAF_SHIFT) << 1 | (address >> 3 & 1)],
                                    __ATOMIC_ACQUIRE); // pairs with the release in seep_map_new_leaf
    if (SEEP_UNLIKELY(!page))
        return NULL;
    return (uint64_t *)(seep_g.pool + (uint64_t)page * SEEP_POOL_PAGE) +
           ((address & SEEP_LEAF_MASK) >> seep_g.granule_shift);
}

#define SEEP_NO_LEAF UINT64_MAX // as thread->leaf_start: no block is in it

// Keeps the leaf of `address` for the short way, which knows blocks as glibc lays them.
SEEP_INLINE void map_remember_leaf(struct seep_thread *thread, uint64_t address) {
    uint64_t start = address & ~SEEP_LEAF_MASK;
    if (SEEP_LIKELY(start == thread->leaf_start) || seep_g.granule_shift != 5)
        return;
    uint64_t *first = address & 15 ? NULL : map_entry(start);
    if (first && start == 0)
        *first = UINT64_C(1) << SEEP_ENTRY_SUB_BIT; // of address 0: no block, but not free either
    thread->leaf_start = first ? start : SEEP_NO_LEAF;
    thread->leaf = first;
}

// Which of the blocks that one granule can hold. With granules of 16 bytes there is only one.
SEEP_INLINE uint64_t map_sub(uint64_t address) {
    return address >> 4 & seep_g.sub_mask;
}

// Takes the block out of the map: its site (0: the map has no such block) and size.
SEEP_INLINE uint32_t map_take(uint64_t address, uint64_t *ret_size) {
    uint64_t *at = map_entry(address);
    uint64_t entry = SEEP_LIKELY(at != NULL) ? *at : 0;
    uint32_t site = SEEP_ENTRY_SITE(entry);
    if (SEEP_LIKELY(site != 0 && SEEP_ENTRY_SUB(entry) == map_sub(address))) {
        *at = site; // no live block; and whose it was
        *ret_size = SEEP_ENTRY_SIZE(entry);
        return site;
    }
    if (SEEP_LIKELY(!__atomic_load_n(&seep_g.header->areas[SEEP_AREA_ODD].used, __ATOMIC_RELAXED)))
        return 0;
    return (uint32_t)seep_map_take_odd(address, ret_size);
}

#endif
