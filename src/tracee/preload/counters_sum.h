// SPDX-License-Identifier: BSD-2-Clause
//
// What all threads together counted for the sites of one chunk.
#ifndef SEEP_PRELOAD_COUNTERS_SUM_H
#define SEEP_PRELOAD_COUNTERS_SUM_H

#include "preload/preload.h"

// Allocations, allocated bytes, frees, freed bytes, temporary blocks; weighted where the counters are.
enum { SEEP_SUM_FIELDS = 5 };
typedef uint64_t seep_sums[SEEP_SUM_FIELDS];

// Writes `ret_sums` of nr_sites sites (at most SEEP_CHUNK_SITES) from `first` on, the first of a chunk.
// false: no thread counted anything in the chunk, and nothing was written. Context: threads go on counting
// meanwhile; no lock is needed.
// The caller has looked for filters of system calls that no hook saw, unless seep_counters_are_few().
SEEP_MUST_CHECK bool seep_counters_sum(uint64_t first, uint32_t nr_sites, seep_sums *ret_sums);

// Whether they are added up without a system call: a few pages may be made that were never written.
static inline bool seep_counters_are_few(uint32_t nr_threads, uint32_t nr_sites) {
    enum { FEW_PAGES = 8 };
    return nr_threads == 1 && nr_sites <= FEW_PAGES * SEEP_IMAGE_PAGE / sizeof(struct seep_image_counters);
}

#endif
