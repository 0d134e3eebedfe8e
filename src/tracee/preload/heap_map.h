// SPDX-License-Identifier: BSD-2-Clause
//
// The heap map (image/layout.h): from block address to site and size, without locks: the thread that
// holds a block owns its entry. Cost of a hit: the directory's load, the entry's load and store.
#ifndef SEEP_PRELOAD_HEAP_MAP_H
#define SEEP_PRELOAD_HEAP_MAP_H

#include "preload/preload.h"

// What depends on the word size, see image/layout.h.
#if SEEP_ARCH_WORD == 8
#define SEEP_LEAF_SHIFT 26u
#define SEEP_MAP_FLAG   0u
#else
#define SEEP_LEAF_SHIFT 20u
#define SEEP_MAP_FLAG   SEEP_FLAG_NARROW
#endif
#define SEEP_PLANE_SHIFT       SEEP_MAP_PLANE_SHIFT(SEEP_MAP_FLAG)
#define SEEP_SUB_SHIFT         SEEP_MAP_SUB_SHIFT(SEEP_MAP_FLAG) // which of the blocks that one granule can hold
#define SEEP_SUB_GRANULE_SHIFT (SEEP_SUB_SHIFT + 1)              // of granules that can hold two
#define SEEP_SUB_ADDRESS       (UINT64_C(1) << SEEP_SUB_SHIFT)
#define SEEP_LEAF_MASK         ((UINT64_C(1) << SEEP_LEAF_SHIFT) - 1)

// Cold halves, heap_map.c.
// The entry of `address`, in a leaf that is made if need be; NULL: no room, or no address that the map can
// hold. Takes image_lock.
uint64_t *seep_map_new_leaf(uint64_t address);
// A block that no entry can hold, into the table of odd blocks. false: no room, or odd_lock is not to be had;
// the caller counts it. seep_map_take_odd takes it out: its site, 0: not there. Both take odd_lock.
bool seep_map_put_odd(uint64_t address, uint32_t site, uint64_t size);
uint64_t seep_map_take_odd(uint64_t address, uint64_t *ret_size);
// The site of a block of the table of odd blocks that was freed lately at `address`; 0: none. Takes odd_lock.
uint32_t seep_map_freed_odd(uint64_t address);
// In a child of fork, which has no image yet: each page of the directory that its parent had written by the
// fork, some of them twice; `off` is in bytes. false: not all of them are known.
bool seep_map_each_dir_page(void (*one)(void *data, uint64_t off), void *data);

// The place of the leaf of `address` in the directory.
SEEP_INLINE uint32_t *map_leaf_place(uint64_t address) {
    return &seep_g.dir[(address >> SEEP_LEAF_SHIFT) << SEEP_PLANE_SHIFT |
                       (address >> 3 & ((1u << SEEP_PLANE_SHIFT) - 1))];
}

// An entry has 64 bits, which a CPU of 32 writes one half after the other: a reader never takes the size of
// one block for that of another, for while the half with the site is zero there is no block.
SEEP_INLINE void map_put(uint64_t *at, uint64_t entry) {
#if SEEP_ARCH_WORD == 8
    *at = entry;
#else
    uint32_t *halves = (uint32_t *)at;
    __atomic_store_n(&halves[0], (uint32_t)entry, __ATOMIC_RELAXED);
    __atomic_store_n(&halves[1], (uint32_t)(entry >> 32), __ATOMIC_RELEASE);
#endif
}

// No live block from now on; and whose it was.
SEEP_INLINE void map_end(uint64_t *at, uint64_t site) {
#if SEEP_ARCH_WORD == 8
    *at = site;
#else
    uint32_t *halves = (uint32_t *)at;
    __atomic_store_n(&halves[1], 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&halves[0], (uint32_t)site, __ATOMIC_RELAXED);
#endif
}

// The entry of `address`; NULL: no leaf, or not an address the map can hold.
SEEP_INLINE uint64_t *map_entry(uint64_t address) {
    if (SEEP_UNLIKELY(address & 7 || address >> SEEP_ADDRESS_BITS))
        return NULL;
    uint32_t page = __atomic_load_n(map_leaf_place(address),
                                    __ATOMIC_ACQUIRE); // pairs with the release in seep_map_new_leaf
    if (SEEP_UNLIKELY(!page))
        return NULL;
    return (uint64_t *)(seep_g.pages + (uint64_t)page * SEEP_IMAGE_PAGE) +
           ((address & SEEP_LEAF_MASK) >> seep_g.granule_shift);
}

#define SEEP_NO_LEAF UINT64_MAX // as thread->leaf_start: no block is in it

// Keeps the leaf of `address` for the short way, which knows blocks as glibc lays them.
SEEP_INLINE void map_remember_leaf(struct seep_thread *thread, uint64_t address) {
    uint64_t start = address & ~SEEP_LEAF_MASK;
    if (SEEP_LIKELY(start == thread->leaf_start) || seep_g.granule_shift != SEEP_SUB_GRANULE_SHIFT)
        return;
    uint64_t *first = address & (SEEP_SUB_ADDRESS - 1) ? NULL : map_entry(start);
    if (first && start == 0)
        map_put(first, UINT64_C(1) << SEEP_ENTRY_SUB_BIT); // of address 0: no block, but not free either
    thread->leaf_start = first ? start : SEEP_NO_LEAF;
    thread->leaf = first;
}

// Which of the blocks that one granule can hold. Smaller granules have only one.
SEEP_INLINE uint64_t map_sub(uint64_t address) {
    return address >> SEEP_SUB_SHIFT & seep_g.sub_mask;
}

// Takes the block out of the map: its site (0: the map has no such block) and size.
SEEP_INLINE uint32_t map_take(uint64_t address, uint64_t *ret_size) {
    uint64_t *at = map_entry(address);
    uint64_t entry = SEEP_LIKELY(at != NULL) ? *at : 0;
    uint32_t site = SEEP_ENTRY_SITE(entry);
    if (SEEP_LIKELY(site != 0 && SEEP_ENTRY_SUB(entry) == map_sub(address))) {
        map_end(at, site);
        *ret_size = SEEP_ENTRY_SIZE(entry);
        return site;
    }
    if (SEEP_LIKELY(!__atomic_load_n(&seep_g.header->areas[SEEP_AREA_ODD].used, __ATOMIC_RELAXED)))
        return 0;
    return (uint32_t)seep_map_take_odd(address, ret_size);
}

#endif
