// SPDX-License-Identifier: BSD-2-Clause
//
// Sampling (image/sample.h): most allocations only count down to the next point. What is recorded
// goes to the odd table instead of the heap map, so that memory stays small too; a filter of 64 KiB,
// one counter per hash of an address, lets all other frees pass with one load.
//
// Cost of what is not recorded: an allocation three adds, a free one hash, one compare, one add.
#ifndef SEEP_PRELOAD_SAMPLING_H
#define SEEP_PRELOAD_SAMPLING_H

#include "preload/stack.h"

#define SEEP_FILTER_SHIFT 16

// From seep_start(): the filter. false: no memory for it.
bool seep_sample_prepare(void);
// A thread's first point, when it has got its slot.
void seep_sample_begin(struct seep_thread *thread);

// Records an allocation that a point fell into. Takes odd_lock; no room is counted as a loss.
void seep_sample_record(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                        struct seep_caller caller);
// seep_record_again().
struct seep_nested;
bool seep_sample_again(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                       struct seep_caller caller, const struct seep_nested *nested);
// Takes a block out that may have been recorded: its site or 0. Takes odd_lock.
uint32_t seep_sample_take(const void *block, uint64_t *ret_size);
// Returns what count_free does.
struct seep_image_counters *seep_sample_count_free(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                   enum seep_release via, bool temporary);
// One more or one less recorded block at that address, for the filter.
void seep_sample_note(const void *block, bool recorded);
// Puts back what seep_sample_take took.
void seep_sample_put_back(const void *block, uint32_t site, uint64_t size);

// Of the lower half of the address: 4 GiB apart are the same.
SEEP_INLINE uint32_t filter_index(const void *block) {
    return (uint32_t)(uintptr_t)block * UINT32_C(0x9e3779b1) >> (32 - SEEP_FILTER_SHIFT);
}

// A plain load: whatever others do to the byte meanwhile, a block of ours that is recorded is counted in it.
SEEP_INLINE bool sample_may_have(const uint8_t *filter, const void *block) {
    return filter[filter_index(block)] != 0;
}

// How many operations were passed by. What was so since an allocation came in between; so that these need not
// say so in last_block.
SEEP_INLINE uint64_t sample_nr_skipped(const struct seep_thread *thread) {
    return thread->slot->skipped_allocations + thread->slot->skipped_frees;
}

// Counts an allocation that the sampling leaves out.
SEEP_INLINE void sample_count_skipped(struct seep_thread *thread, uint64_t size) {
    thread->slot->skipped_allocations++;
    thread->slot->skipped_bytes += size;
}

// Takes `size` bytes nearer to the point *at, unless it would be met; then the allocation is counted as
// skipped.
SEEP_INLINE bool sample_passes(struct seep_thread *thread, int64_t *at, uint64_t size) {
    if (*at + (int64_t)size >= 0)
        return false;
    *at += (int64_t)size;
    sample_count_skipped(thread, size);
    return true;
}

// The same in fewer instructions: with false, sample_at has moved and must be put back.
SEEP_INLINE bool sample_skips_else_undo(struct seep_thread *thread, uint64_t size) {
    if (SEEP_UNLIKELY((thread->sample_at += (int64_t)size) >= 0))
        return false;
    sample_count_skipped(thread, size);
    return true;
}

// Whether no point falls into an allocation of `size`; then it is counted as skipped. Where nothing is
// sampled, and in a thread without a slot, sample_at is not below 0.
SEEP_INLINE bool sample_skips(struct seep_thread *thread, const void *block, uint64_t size) {
    return SEEP_LIKELY(block != NULL) && sample_passes(thread, &thread->sample_at, size);
}

// Whether `block` is certainly not recorded; then its free is counted as skipped.
SEEP_INLINE bool sample_skips_free(struct seep_thread *thread, const void *block) {
    if (SEEP_UNLIKELY(!thread->filter || sample_may_have(thread->filter, block)))
        return false;
    thread->slot->skipped_frees++;
    return true;
}

#endif
