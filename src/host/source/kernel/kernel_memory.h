// SPDX-License-Identifier: BSD-2-Clause
//
// Reads what the kernel's tracer keeps in its memory (image/bpf_kernel.h), while it goes on. A number in it
// is not trusted: an index out of range stands for an unknown stack. Proof: tests/fuzz/fuzz_kernel_memory.c.
#ifndef SEEP_SOURCE_KERNEL_KERNEL_MEMORY_H
#define SEEP_SOURCE_KERNEL_KERNEL_MEMORY_H

#include "source/kernel/kernel_heap.h"

// All borrowed.
struct seep_kernel_memory {
    const struct seep_kernel_bucket *buckets;
    const struct seep_kernel_block *blocks; // for each key of the buckets
    uint32_t nr_buckets;
    const struct seep_kernel_site *sites;
    const volatile uint32_t *nr_sites; // that are there by now
    uint32_t nr_sites_max;             // that there is room for
    const struct seep_kernel_process *processes;
    const volatile uint32_t *nr_processes; // as of sites
    uint32_t nr_processes_max;
};

// By the blocks themselves: those at least that old.
SEEP_MUST_CHECK struct seep_error *seep_kernel_memory_blocks(const struct seep_kernel_memory *memory,
                                                             int64_t older_ns, struct seep_kernel_heap *heap);
// By the counts that the programs keep.
SEEP_MUST_CHECK struct seep_error *seep_kernel_memory_combined(const struct seep_kernel_memory *memory,
                                                               struct seep_kernel_heap *heap);

#endif
