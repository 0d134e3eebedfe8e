// SPDX-License-Identifier: BSD-2-Clause
//
// Sampling (image/sample.h): most allocations only count down to the next point. What is recorded
// goes to the odd table instead of the heap map, so that memory stays small too; a filter of 64 KiB,
// one counter per hash of an address, lets all other frees pass with one load.
//
// Cost of what is not recorded: an allocation three adds, a free one hash, one load, one add.
#ifndef SEEP_PRELOAD_SAMPLING_H
#define SEEP_PRELOAD_SAMPLING_H

#include "preload/stack.h"

#define SEEP_FILTER_SHIFT 16

bool seep_sample_prepare(void);                     // at start: the filter
void seep_sample_begin(struct seep_thread *thread); // a thread's first point

// Records an allocation that a point fell into. The thread is entered.
void seep_sample_record(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                        struct seep_caller caller);
// Takes a block out that may have been recorded: its site or 0. The thread is entered.
uint32_t seep_sample_take(const void *block, uint64_t *ret_size);
// Returns what count_free does.
struct seep_image_counters *seep_sample_count_free(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                   enum seep_release via, bool temporary);
// One more or one less recorded block at that address, for the filter.
void seep_sample_note(const void *block, bool recorded);
// Where releases are kept, see freed.h, allocations come here that sample_skips would let pass: the same.
bool seep_sample_skips_long(struct seep_thread *thread, uint64_t size);
// Puts back what seep_sample_take took.
void seep_sample_put_back(const void *block, uint32_t site, uint64_t size);

SEEP_INLINE uint32_t filter_index(const void *block) {
    return (uint32_t)(((uint64_t)block >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SEEP_FILTER_SHIFT));
}

SEEP_INLINE void sample_count_skipped(struct seep_thread *thread, uint64_t size) {
    thread->last_block = 0;
    thread->slot->skipped_allocations++;
    thread->slot->skipped_bytes += size;
}

// Whether no point falls into an allocation of `size`; then it is counted as skipped. Where nothing is
// sampled, sample_left is 0.
SEEP_INLINE bool sample_skips(struct seep_thread *thread, const void *block, uint64_t size) {
    int64_t left = thread->sample_left - (int64_t)size;
    if (left <= 0 || !block)
        return false;
    thread->sample_left = left;
    sample_count_skipped(thread, size);
    return true;
}

// Whether `block` is certainly not recorded; then its free is counted as skipped.
SEEP_INLINE bool sample_skips_free(struct seep_thread *thread, const void *block) {
    if (!thread->filter || !block ||
        atomic_load_explicit(&thread->filter[filter_index(block)], memory_order_relaxed))
        return false;
    thread->last_block = 0;
    thread->slot->skipped_frees++;
    return true;
}

#endif
