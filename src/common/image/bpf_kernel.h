// SPDX-License-Identifier: BSD-2-Clause
//
// What the BPF programs of `seep kernel` (src/target/bpf/kernel_heap.bpf.c) and the host share. Millions of
// events a second are no stream to read: the programs keep the live blocks in a map, and the host reads
// that now and then. Nothing of it is ever saved.
//
// Invariants
//  - A site is a kernel stack with a class and a cache; its id is a hash of all of them, never 0.
//  - A block is in the map from its allocation to its free. What is not, though it lives, is counted by
//    reason in `seep_kernel_counters`.
#ifndef SEEP_IMAGE_BPF_KERNEL_H
#define SEEP_IMAGE_BPF_KERNEL_H

#include <stdint.h>

// Whose memory it is. The slab allocator takes its pages from the page allocator, so the classes overlap and
// are never added up.
enum seep_kernel_class {
    SEEP_KERNEL_KMALLOC,
    SEEP_KERNEL_CACHE, // kmem_cache_alloc
    SEEP_KERNEL_PERCPU,
    SEEP_KERNEL_PAGES,
    SEEP_KERNEL_CLASSES_NR
};

#define SEEP_KERNEL_FRAMES_MAX     64u
#define SEEP_KERNEL_CACHE_NAME_MAX 32u

// Value of the map of live blocks. Its key is an address: of the block, of the page's descriptor; a per-CPU
// block's with the lowest bit set, because it is an offset that could be like any other's address.
struct seep_kernel_block {
    uint64_t size;    // bytes; of all CPUs
    uint64_t born_ns; // CLOCK_MONOTONIC
    uint64_t site;    // 0: not known
};

// Value of the map of sites, by id.
struct seep_kernel_site {
    uint32_t class_of; // enum seep_kernel_class
    uint32_t nr_frames;
    char cache[SEEP_KERNEL_CACHE_NAME_MAX]; // of SEEP_KERNEL_CACHE
    uint64_t live_blocks;                   // only where no single blocks are read (combined)
    uint64_t live_bytes;
    uint64_t frames[SEEP_KERNEL_FRAMES_MAX]; // innermost first; the first ones are the probe itself
};

// One for each CPU.
enum seep_kernel_counter {
    SEEP_KERNEL_ALLOCATIONS, // that were recorded
    SEEP_KERNEL_ALLOCATED_BYTES,
    SEEP_KERNEL_FREES,       // of recorded blocks
    SEEP_KERNEL_IMPLICIT,    // a block's address was given out again: its free was not seen
    SEEP_KERNEL_LOST_BLOCKS, // no room for the block
    SEEP_KERNEL_LOST_STACKS, // no room for the stack: the block counts, its site is not known
    SEEP_KERNEL_LOST_NESTED, // interrupts within interrupts: no scratch memory for the stack
    SEEP_KERNEL_CUT,         // stacks with more frames than are kept
    SEEP_KERNEL_COUNTERS_NR
};

_Static_assert(sizeof(struct seep_kernel_block) == 24, "shared size");
_Static_assert(sizeof(struct seep_kernel_site) == 568, "shared size");

#endif
