// SPDX-License-Identifier: BSD-2-Clause
//
// The kernel's own heap, traced by BPF programs on the tracepoints of its allocators; they keep the live
// blocks in a map, which is read here. Nothing is left in the kernel when the probes are destroyed, or we
// are.
#ifndef SEEP_SOURCE_KERNEL_KERNEL_HEAP_H
#define SEEP_SOURCE_KERNEL_KERNEL_HEAP_H

#include "base/error.h"
#include "image/bpf_kernel.h"

struct seep_kernel_probes;

struct seep_kernel_probes_options {
    bool combined; // figures by site only: no single blocks, no ages
    bool percpu;   // per-CPU allocations as well
    bool vmalloc;  // areas of vmalloc as well
    uint64_t sample;
    uint64_t min_size; // bytes
    uint64_t max_size;
    uint32_t blocks_max; // live blocks that there is room for
    bool plain;          // for tests: without calls of kernel functions, as for kernels before 6.2
    bool check_memos;    // for tests: unwind each stack, also where a memo says what it is
};

// SEEP_E_PERMISSION where a right is missing, SEEP_E_UNSUPPORTED where the kernel cannot. All tracepoints
// are attached when it returns, those of frees first.
SEEP_MUST_CHECK struct seep_error *seep_kernel_probes_create(const struct seep_kernel_probes_options *options,
                                                             struct seep_kernel_probes **ret_probes);
void seep_kernel_probes_destroy(struct seep_kernel_probes *probes); // takes NULL

struct seep_kernel_live_block {
    uint64_t address; // of a page: of its descriptor
    uint64_t size;
    int64_t age_ns;
    uint64_t slab_bytes; // 0: not of the slab allocator
    uint32_t process;    // number, within all_processes
};

struct seep_kernel_live_site {
    uint32_t number; // 0: allocations whose stack is not known
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t live_slab_bytes; // 0: not of the slab allocator
    uint64_t size_min;
    uint64_t size_max;
    const struct seep_kernel_site *site; // NULL: not known
    size_t first_block;                  // in seep_kernel_heap.blocks
};

// What is live, at one moment.
struct seep_kernel_heap {
    struct seep_kernel_live_site *sites; // those with live blocks, in no order
    size_t nr_sites;
    struct seep_kernel_live_block *blocks; // by site, then by process, oldest first; NULL when combined
    size_t nr_blocks;
    uint64_t counters[SEEP_KERNEL_COUNTERS_NR];
    size_t nr_cut;   // sites with more frames than are kept
    uint64_t missed; // calls that the kernel kept from the programs: one ran already on that CPU
    struct seep_kernel_site *all_sites; // what the sites point into, by number
    size_t nr_all_sites;
    struct seep_kernel_process *all_processes; // by number; those below SEEP_KERNEL_PROCESS_FIRST are empty
    size_t nr_all_processes;
};

// Blocks at least that old. Does not stop anything: blocks that come or go meanwhile may be in it or not.
SEEP_MUST_CHECK struct seep_error *seep_kernel_probes_read(struct seep_kernel_probes *probes,
                                                           int64_t older_ns,
                                                           struct seep_kernel_heap *ret_heap);
void seep_kernel_heap_deinit(struct seep_kernel_heap *heap);

#endif
