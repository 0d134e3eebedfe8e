// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel's allocators have outstanding, in memleak's shape or as JSON. Pages are apart from the
// rest: the slab allocator's own are among them.
#ifndef SEEP_OUTPUT_REPORT_KERNEL_H
#define SEEP_OUTPUT_REPORT_KERNEL_H

#include <stdio.h>

#include "source/kernel/kernel_heap.h"
#include "names/kallsyms.h"

struct seep_kernel_report {
    uint64_t top;     // stacks of each part; 0: all
    bool by_count;    // else by bytes
    bool blocks;      // each block
    bool combined;    // no sizes and ages of single blocks are known
    bool percpu;      // was traced
    bool vmalloc;     // was traced
    uint64_t sample;  // every Nth was recorded
    int64_t older_ns; // what the heap was read with
    int64_t start_ns; // CLOCK_REALTIME, of the trace
    int64_t duration_ns;
};

// Sorts the heap's sites.
SEEP_MUST_CHECK struct seep_error *seep_report_kernel_text(FILE *out, struct seep_kernel_heap *heap,
                                                           const struct seep_kallsyms *symbols,
                                                           const struct seep_kernel_report *how);
SEEP_MUST_CHECK struct seep_error *seep_report_kernel_json(FILE *out, struct seep_kernel_heap *heap,
                                                           const struct seep_kallsyms *symbols,
                                                           const struct seep_kernel_report *how);

#endif
