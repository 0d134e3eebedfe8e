// SPDX-License-Identifier: BSD-2-Clause
//
// What the BPF programs of `seep kernel` (src/tracee/bpf/kernel_heap.bpf.c) and the host share. Millions of
// events a second are no stream to read: the programs keep the live blocks in memory that the host has
// mapped, and reads now and then. Nothing of it is ever saved.
//
// Invariants
//  - A site is a kernel stack with a class and a cache; its number is its place in the array of sites, and
//    never changes. Number 0 is that of allocations whose stack is not known.
//  - A block is in one of the buckets that its key has (seep_kernel_bucket_of), from its allocation to
//    its free. What is not, though it lives, is counted by reason in `seep_kernel_counter`.
//  - A key is written after all else of its block. What is read with a key that was the same before and
//    after is of that block.
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
    SEEP_KERNEL_VMALLOC, // areas of addresses; what is mapped there is among the pages
    SEEP_KERNEL_CLASSES_NR
};

#define SEEP_KERNEL_FRAMES_MAX     64u
#define SEEP_KERNEL_CACHE_NAME_MAX 32u
#define SEEP_KERNEL_COMM_MAX       16u // Source: TASK_COMM_LEN, Linux include/linux/sched.h

// A key is an address: of the block, of the page's descriptor; a per-CPU block's with the lowest bit set,
// because it is an offset that could be like any other's address. One cache line.
#define SEEP_KERNEL_BUCKET_BLOCKS 7u
#define SEEP_KERNEL_KEY_TAKEN     1u // a block is being written
struct seep_kernel_bucket {
    uint64_t nr_elsewhere; // blocks whose first bucket this is, that are in another of theirs
    uint64_t keys[SEEP_KERNEL_BUCKET_BLOCKS]; // 0: free
};

// The block of key `i` of bucket `b` has number b * SEEP_KERNEL_BUCKET_BLOCKS + i.
struct seep_kernel_block {
    uint64_t born_ns;    // CLOCK_MONOTONIC, to the tick
    uint32_t size;       // bytes that were asked for; of all CPUs
    uint32_t site;       // number
    uint32_t slab_bytes; // that the slab allocator gave; 0: not of it
    uint32_t process;    // number
};

// Which process allocated; an exec makes another one. Numbers are places in an array, as those of sites.
#define SEEP_KERNEL_PROCESS_UNKNOWN   0u
#define SEEP_KERNEL_PROCESS_INTERRUPT 1u // an interrupt did, whatever ran before it
#define SEEP_KERNEL_PROCESS_FIRST     2u
struct seep_kernel_process {
    uint32_t pid;  // as the kernel has it
    uint32_t zero; // an element of an array takes a multiple of 8 bytes
    char name[SEEP_KERNEL_COMM_MAX];
};

// Buckets that a key may be in; it is in the first of them that had room. With four of them the first block
// finds no room when the table is half full.
#define SEEP_KERNEL_CHOICES 4u

// Source of the constant: the golden ratio.
static inline uint32_t seep_kernel_bucket_of(uint64_t key, uint32_t choice, uint32_t nr_buckets) {
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 32) * ((2 * choice + 1) * UINT64_C(0x9e3779b97f4a7c15));
    return (uint32_t)((hash >> 32) * nr_buckets >> 32);
}

struct seep_kernel_site {
    uint32_t class_of; // enum seep_kernel_class
    uint32_t nr_frames;
    uint64_t cache_name;                    // address of it in the kernel; 0: no cache
    char cache[SEEP_KERNEL_CACHE_NAME_MAX]; // of SEEP_KERNEL_CACHE
    uint64_t live_blocks;                   // only where no single blocks are read (combined)
    uint64_t live_bytes;
    uint64_t live_slab_bytes;
    uint64_t frames[SEEP_KERNEL_FRAMES_MAX]; // innermost first; the first ones are the probe itself
};

// One for each CPU.
enum seep_kernel_counter {
    SEEP_KERNEL_ALLOCATIONS, // that were recorded
    SEEP_KERNEL_ALLOCATED_BYTES,
    SEEP_KERNEL_PAGE_ALLOCATIONS, // of these, of pages
    SEEP_KERNEL_PAGE_ALLOCATED_BYTES,
    SEEP_KERNEL_FREES,    // of recorded blocks
    SEEP_KERNEL_IMPLICIT, // a block's free was not seen: its address was given out again, or its slab is gone
    SEEP_KERNEL_LOST_BLOCKS,    // no room for the block
    SEEP_KERNEL_LOST_STACKS,    // no room for the stack: the block counts, its site is not known
    SEEP_KERNEL_LOST_PROCESSES, // no room for the process: the block counts
    SEEP_KERNEL_LOST_NESTED,    // interrupts within interrupts: no scratch memory for the stack
    SEEP_KERNEL_RECALLED,       // stacks that were known by their memo, the rest was unwound
    SEEP_KERNEL_MISTAKEN,       // of those, where they are checked: that were another one
    SEEP_KERNEL_COUNTERS_NR
};

// What one run of the program that looks for slabs that are gone is given.
struct seep_kernel_sweep {
    uint32_t first_bucket;
    uint32_t nr_buckets;
};

struct seep_kernel_counters {
    uint64_t values[SEEP_KERNEL_COUNTERS_NR];
    uint64_t nr_calls; // allocations that were looked at, the sampled ones among them
};

_Static_assert(sizeof(struct seep_kernel_bucket) == 64, "shared size");
_Static_assert(sizeof(struct seep_kernel_block) == 24, "shared size");
_Static_assert(sizeof(struct seep_kernel_process) == 24, "shared size");
_Static_assert(sizeof(struct seep_kernel_site) == 584, "shared size");

#endif
