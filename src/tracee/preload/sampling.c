// SPDX-License-Identifier: BSD-2-Clause
// Sampling: the rare halves, see sampling.h.
#include "preload/sampling.h"

#include "image/sample.h"
#include "preload/boot_allocator.h"
#include "preload/control.h"
#include "preload/free_stacks.h"
#include "preload/record.h"

bool seep_sample_prepare(void) {
    seep_g.filter = sys_private(UINT64_C(1) << SEEP_FILTER_SHIFT);
    if (seep_g.filter) {
        seep_g.filter[filter_index(NULL)] = UINT8_MAX; // full: so NULL is no block that is passed by
        seep_boot_note_sampled();
    }
    atomic_store_explicit(&seep_g.mode.special, SEEP_SPECIAL_SAMPLING, memory_order_relaxed);
    seep_g.apart = seep_g.filter != NULL;
    return seep_g.apart;
}

static SEEP_NOINLINE uint64_t weight_of(uint64_t size) {
    return seep_sample_weight(size, seep_g.sample_bytes);
}

// Source: xorshift64*, Vigna, "An experimental exploration of Marsaglia's xorshift generators" (2016).
static SEEP_NOINLINE uint64_t next_random(struct seep_thread *thread) {
    uint64_t x = thread->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    thread->random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

// Where releases are kept every allocation is looked at, for its address may be remembered: sample_at is 0.
static void next_point(struct seep_thread *thread) {
    int64_t distance = seep_sample_distance(next_random(thread), seep_g.sample_bytes);
    *(releases_are_kept() ? &thread->sample_at_long : &thread->sample_at) = -distance;
}

void seep_sample_begin(struct seep_thread *thread) {
    thread->random = (seep_clock_ns(CLOCK_MONOTONIC) ^ (uint64_t)thread->tid << 40) | 1;
    for (int i = 0; i < 8; i++) // the first numbers after a seed of few bits are not random
        next_random(thread);
    thread->filter = seep_g.filter;
    next_point(thread);
}

// Puts `count` where *known is; false: it is not, and *known is what is there.
static bool change_count(uint8_t *at, uint8_t *known, uint8_t count) {
#if __GCC_ATOMIC_CHAR_LOCK_FREE == 2
    return __atomic_compare_exchange_n(at, known, count, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#else // by the word that it is in
    uint32_t *word = (uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
    unsigned shift = (unsigned)((uintptr_t)at % 4 ^ (SEEP_BIG_ENDIAN_HERE ? 3 : 0)) * 8;
    uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint32_t there = before >> shift & 0xff;
    uint32_t after = (before & ~(UINT32_C(0xff) << shift)) | (uint32_t)count << shift;
    if (there == *known &&
        __atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return true;
    *known = (uint8_t)there;
    return false;
#endif
}

void seep_sample_note(const void *block, bool recorded) {
    uint8_t *at = &seep_g.filter[filter_index(block)];
    uint8_t count = __atomic_load_n(at, __ATOMIC_RELAXED);
    // A counter that has been full stays full: then its blocks are always looked up.
    while (count != UINT8_MAX && (recorded || count != 0) &&
           !change_count(at, &count, (uint8_t)(recorded ? count + 1 : count - 1))) {
    }
}

void seep_sample_put_back(const void *block, uint32_t site, uint64_t size) {
    if (!seep_map_put_odd((uintptr_t)block, site, size)) {
        seep_lost(SEEP_LOST_ODD_FULL);
        return;
    }
    seep_sample_note(block, true);
}

void seep_sample_record(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                        struct seep_caller caller) {
    next_point(thread);
    uint64_t old_size;
    uint32_t old_site = seep_sample_take(block, &old_size);
    if (old_site) { // its free was never seen
        seep_lost(SEEP_LOST_FREE_UNSEEN);
        seep_sample_count_free(thread, old_site, old_size, SEEP_RELEASE_IMPLICIT, false);
    }
    if (allocations_pass()) {
        seep_lost(SEEP_LOST_STOPPED);
        sample_count_skipped(thread, size);
        return;
    }
    uint32_t site = seep_stack_site(thread, via, caller);
    seep_sample_put_back(block, site, size);
    thread->last_block = (uintptr_t)block;
    thread->last_skipped = sample_nr_skipped(thread);
    thread->slot->sampled_allocations++;
    thread->slot->sampled_bytes += size;
    struct seep_image_counters *counters = counters_of(thread, site);
    if (!counters)
        return;
    uint64_t weight = weight_of(size);
    uint64_t bytes = seep_sample_bytes_for(size, weight);
    SEEP_ADD(counters->allocations, weight);
    SEEP_ADD(counters->allocated_bytes, bytes);
    counters->peak_bytes++; // in this mode: the number of samples
    counters->size_min_inverted = SEEP_MAX(counters->size_min_inverted, ~size);
    counters->size_max = SEEP_MAX(counters->size_max, size);
    thread->slot->size_class[size_class_of(size)] += weight;
    count_net(thread, (int64_t)bytes);
}

uint32_t seep_sample_take(const void *block, uint64_t *ret_size) {
    if (!sample_may_have(seep_g.filter, block))
        return 0;
    uint32_t site = (uint32_t)seep_map_take_odd((uintptr_t)block, ret_size);
    if (site)
        seep_sample_note(block, false);
    return site;
}

static void forget_sample(struct seep_thread *thread, uint32_t site, uint64_t size) {
    struct seep_image_counters *counters = counters_of(thread, site);
    thread->slot->sampled_allocations--;
    thread->slot->sampled_bytes -= size;
    if (!counters)
        return;
    uint64_t weight = weight_of(size);
    uint64_t bytes = seep_sample_bytes_for(size, weight);
    counters->allocations -= weight;
    counters->allocated_bytes -= bytes;
    counters->peak_bytes--;
    thread->slot->size_class[size_class_of(size)] -= weight;
    count_net(thread, -(int64_t)bytes);
}

// The sampling decision of the nested malloc stands for the operator. A block with a header is larger, so
// more sampling points hit it. The operator keeps correspondingly fewer.
bool seep_sample_again(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                       struct seep_caller caller, const struct seep_nested *nested) {
    struct seep_image_thread *slot = thread->slot;
    if (slot->sampled_allocations == nested->nr_sampled) {
        uint64_t nr = slot->skipped_allocations - nested->nr_skipped;
        if (nr == 1)
            slot->skipped_bytes = nested->skipped_bytes + size;
        return nr != 0;
    }
    const void *latest = (const void *)(uintptr_t)thread->last_block;
    uint64_t nested_size;
    uint32_t site =
        thread->last_skipped == sample_nr_skipped(thread) ? seep_sample_take(latest, &nested_size) : 0;
    if (!site)
        return false;
    if ((uintptr_t)block - (uintptr_t)latest >= SEEP_MAX(nested_size, 1)) {
        seep_sample_put_back(latest, site, nested_size);
        return false;
    }
    forget_sample(thread, site, nested_size);
    if (next_random(thread) % weight_of(size) < weight_of(nested_size))
        seep_sample_record(thread, block, size, via, caller);
    else
        sample_count_skipped(thread, size);
    return true;
}

struct seep_image_counters *seep_sample_count_free(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                   enum seep_release via, bool temporary) {
    thread->slot->sampled_frees++;
    uint64_t weight = weight_of(size);
    thread->slot->releases[via] += weight;
    struct seep_image_counters *counters = counters_of(thread, site);
    if (!counters)
        return NULL;
    uint64_t bytes = seep_sample_bytes_for(size, weight);
    count_net(thread, -(int64_t)bytes); // first, as in count_free
    SEEP_ADD(counters->frees, weight);
    SEEP_ADD(counters->freed_bytes, bytes);
    if (temporary)
        counters->temporary += weight;
    return counters->temporary & SEEP_RELEASE_OK(via) ? NULL : counters;
}
