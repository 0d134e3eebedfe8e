// SPDX-License-Identifier: BSD-2-Clause
//
// What a hook does: enter the thread's state, record, leave. Hot path: the fast halves are inline in
// the hooks. One allocation costs one guard, the memo check, one map entry and one counter line; one
// free costs one guard, one map entry and one counter line. No locks, no atomic read-modify-writes.
//
// Order: a free is recorded before the real free, an allocation after the real allocation, so that a
// block handed out again to another thread is never seen twice.
#ifndef SEEP_PRELOAD_RECORD_H
#define SEEP_PRELOAD_RECORD_H

#include "preload/heap_map.h"
#include "preload/misuse.h"
#include "preload/sampling.h"
#include "preload/stack.h"

// A block that the real allocator has just handed out, the long way. The caller as numbers, as below.
void seep_record_allocation(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                            uint64_t pc, uint64_t sp, uint64_t bp);

// Cold halves, record_slow.c, for where is_special(). Takes the block out of map or table and notes it for a
// fork: its site, 0: not a block we know. seep_record_free_special() counts what it took: NULL, or counters
// that do not say that this way of freeing is right (seep_misuse_check). seep_record_put_back() undoes the
// first.
uint32_t seep_record_take_special(struct seep_thread *thread, const void *block, uint64_t *ret_size,
                                  enum seep_release via, uint64_t pc, uint64_t sp, uint64_t bp);
struct seep_image_counters *seep_record_free_special(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                     enum seep_release via, bool temporary);
void seep_record_put_back(struct seep_thread *thread, const void *block, uint32_t site, uint64_t size);
void seep_record_move_abandoned(struct seep_thread *thread); // a handler of a signal has left a real realloc
// Notes of a hook of an operator new before the real operator runs. The real operator may call malloc by
// name, and may leave by an exception. Used only if seep_g.apart.
struct seep_nested {
    const struct seep_thread *thread; // NULL: not noted
    uint64_t nr_sampled;
    uint64_t nr_skipped;
    uint64_t skipped_bytes;
    struct seep_counted_new outer;
};
void seep_nested_begin(struct seep_nested *ret_nested);
void seep_nested_end(struct seep_thread *thread, const struct seep_nested *nested); // it has returned
// Whether `block` is the thread's latest allocation, or within it. If so, that allocation becomes one of this
// function.
bool seep_record_again(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                       struct seep_caller caller, const struct seep_nested *nested);
// A block that is not known was freed: it was allocated past us, or before a moment from which we record, or
// it is freed twice; counted as what it is, as far as that can be told.
void seep_record_unknown_free(struct seep_thread *thread, uint64_t address, enum seep_release via,
                              struct seep_caller caller);
void seep_record_unknown_kept(struct seep_thread *thread); // it was not freed after all
// Reckons net_room and its bounds anew; tells the process what it must know.
void seep_record_net(struct seep_thread *thread);
// The long ways of the hooks, see hooks.h. The caller as numbers, so that nothing is put in memory for it.
void *seep_allocated_long(void *block, uint64_t size, enum seep_via via, uint64_t pc, uint64_t sp,
                          uint64_t bp);
void seep_released_long(const void *block, enum seep_release via, uint64_t pc, uint64_t sp, uint64_t bp);
void seep_record_free_unentered(const void *block); // in a signal handler inside a hook, or passive

// Sampling, or a fork whose child has no image yet: the long way, in record_slow.c.
SEEP_INLINE bool is_special(void) {
    return atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) != 0;
}

SEEP_INLINE uint64_t mode_now(void) {
#if SEEP_ARCH_WORD == 8
    return atomic_load_explicit(&seep_g.mode.word, memory_order_relaxed);
#else // they change apart, too
    uint32_t epoch = atomic_load_explicit(&seep_g.mode.modules_epoch, memory_order_relaxed);
    return (uint64_t)epoch << 32 | atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed);
#endif
}

SEEP_INLINE void thread_mark_busy(struct seep_thread *thread) {
    SEEP_PUT(thread->guard, CPU_FRAME());
    atomic_signal_fence(memory_order_seq_cst); // a handler that interrupts us must see it
}

// The other end of thread_mark_busy. What was written before is seen before by a signal handler of the
// thread.
SEEP_INLINE void thread_mark_idle(struct seep_thread *thread, uint64_t guard) {
    atomic_signal_fence(memory_order_seq_cst);
    SEEP_PUT(thread->guard, guard);
}

// The thread, marked busy, or NULL: pass through and record nothing.
SEEP_INLINE struct seep_thread *thread_enter(void) {
    struct seep_thread *thread = seep_self();
    if (SEEP_UNLIKELY(!SEEP_GUARD_IS_IDLE(thread->guard))) {
        thread = seep_thread_slow(CPU_FRAME());
        if (!thread)
            return NULL;
    }
    thread_mark_busy(thread);
    return thread;
}

// Whether this is the block that the thread allocated as its latest operation.
SEEP_INLINE bool is_last_block(const struct seep_thread *thread, const void *block) {
    return thread->last_block == (uintptr_t)block &&
           (!thread->filter || thread->last_skipped == sample_nr_skipped(thread));
}

// Ends the operation in the mode that is asked for now.
SEEP_INLINE void thread_leave(struct seep_thread *thread) {
    thread_mark_idle(thread, thread->mode.word);
}

// `page`: of the chunk that the site is in.
SEEP_INLINE struct seep_image_counters *counters_in(uint32_t page, uint32_t site) {
    struct seep_image_counters *chunk =
        (struct seep_image_counters *)(seep_g.pages + (uint64_t)page * SEEP_IMAGE_PAGE);
    return &chunk[site & (SEEP_CHUNK_SITES - 1)];
}

// NULL: no memory for them (counted).
SEEP_INLINE struct seep_image_counters *counters_of(struct seep_thread *thread, uint32_t site) {
    uint32_t page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    if (SEEP_UNLIKELY(!page)) {
        if (!seep_counters_chunk(thread, site))
            return NULL;
        page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    }
    return counters_in(page, site);
}

// The bit length of the size: of 2 * size + 1 it is one more, also for size 0. No block has 2^63 bytes.
SEEP_INLINE uint32_t size_class_of(uint64_t size) {
    return 63u - (uint32_t)__builtin_clzll(size << 1 | 1);
}

#define SEEP_NET_SLACK (64 << 10) // header.peak_slack_bytes

// Exact peaks at the price of an addition: the slot counts down what it may still gain before its peak
// or its next report to the process, whichever is nearer (see net_room in image/layout.h).
SEEP_INLINE void count_net(struct seep_thread *thread, int64_t delta) {
    int64_t room = thread->slot->net_room - delta;
    SEEP_PUT(thread->slot->net_room, room);
    if (SEEP_UNLIKELY(room < 0 || room > thread->net_most))
        seep_record_net(thread);
}

// An allocation of `size` bytes in the counters of a site; only their own thread writes them.
SEEP_INLINE void count_sizes(struct seep_image_counters *counters, uint64_t size) {
    uint64_t bytes = counters->allocated_bytes + size;
    SEEP_PUT(counters->allocated_bytes, bytes);
    int64_t live = (int64_t)(bytes - counters->freed_bytes);
    if (live > (int64_t)counters->peak_bytes)
        SEEP_PUT(counters->peak_bytes, (uint64_t)live);
    if (~size > counters->size_min_inverted)
        SEEP_PUT(counters->size_min_inverted, ~size);
    if (size > counters->size_max)
        SEEP_PUT(counters->size_max, size);
    SEEP_ADD(counters->allocations, 1);
}

// counters: NULL: there was no memory for them.
SEEP_INLINE void count_allocation(struct seep_thread *thread, struct seep_image_counters *counters,
                                  uint64_t size) {
    if (SEEP_UNLIKELY(!counters))
        return;
    count_sizes(counters, size);
    SEEP_ADD(thread->slot->size_class[size_class_of(size)], 1);
    count_net(thread, (int64_t)size);
}

// Returns the counters where they do not say that this way to free the block is right, else NULL.
SEEP_INLINE struct seep_image_counters *count_free(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                   enum seep_release via, bool temporary) {
    struct seep_image_counters *counters = counters_of(thread, site);
    if (SEEP_UNLIKELY(!counters))
        return NULL;
    count_net(thread, -(int64_t)size); // first: a peak that ends here is copied with the block in it
    SEEP_ADD(counters->frees, 1);
    SEEP_ADD(counters->freed_bytes, size);
    if (via != SEEP_RELEASE_FREE) // the reader knows what is left
        SEEP_ADD(thread->slot->releases[via], 1);
    SEEP_ADD(counters->temporary, temporary);
    if (via == SEEP_RELEASE_FREE || via == SEEP_RELEASE_REALLOC)
        return SEEP_LIKELY((int64_t)counters->temporary < 0) ? NULL : counters; // the sign that the sum left
    return SEEP_LIKELY(counters->temporary & SEEP_RELEASE_OK(via)) ? NULL : counters;
}

// ---- the short way --------------------------------------------------------------------------------
//
// What nearly all operations are: a stack that was recorded lately, a block in the leaf of last time, in the
// mode of last time (the caller has seen to that). First everything is looked at, then everything is written;
// so there is no call in between and nothing to take back. false: not so, and nothing has been done.

// Where the entry of a block is; `at` NULL: the long way. Bit SEEP_SUB_SHIFT of `bits` is the entry's sub.
struct seep_place {
    uint64_t *at;
    uint64_t bits;
};

// In the leaf, and where a glibc block may start.
#define IN_LEAF(offset) (((offset) & ~(SEEP_LEAF_MASK & ~(SEEP_SUB_ADDRESS - 1))) == 0)
#define LEAF_GRANULE    SEEP_SUB_GRANULE_SHIFT // other granules are never remembered

// Another leaf than last time, or another allocator than glibc's.
SEEP_INLINE struct seep_place place_elsewhere(struct seep_thread *thread, const void *block) {
    uint64_t address = (uintptr_t)block;
    struct seep_place place = {block ? map_entry(address) : NULL, map_sub(address) << SEEP_SUB_SHIFT};
    if (place.at && seep_g.granule_shift == LEAF_GRANULE && address >> SEEP_LEAF_SHIFT &&
        !(address & (SEEP_SUB_ADDRESS - 1))) {
        thread->leaf_start = address & ~SEEP_LEAF_MASK;
        thread->leaf = place.at - ((address & SEEP_LEAF_MASK) >> LEAF_GRANULE);
    }
    return place;
}

// The block's place in the heap map; `at` is NULL where the map has no leaf for it.
SEEP_INLINE struct seep_place place_of(struct seep_thread *thread, const void *block) {
    uint64_t offset = (uintptr_t)block - thread->leaf_start;
    if (SEEP_UNLIKELY(!IN_LEAF(offset)))
        return place_elsewhere(thread, block);
    uint64_t *at = &thread->leaf[offset >> LEAF_GRANULE];
    if (!at)
        __builtin_unreachable();
    return (struct seep_place){at, offset};
}

SEEP_INLINE uint64_t place_sub(struct seep_place place) {
    uint64_t sub = place.bits & SEEP_SUB_ADDRESS;
    __asm__("" : "+r"(sub)); // gcc would shift first, and then need a mask of 38 bits
    return sub << (SEEP_ENTRY_SUB_BIT - SEEP_SUB_SHIFT);
}

// Whether the entry is of this very block, and not of another in the same granule.
SEEP_INLINE bool place_has(struct seep_place place, uint64_t entry) {
    return SEEP_LIKELY(
        !((entry ^ place.bits << (SEEP_ENTRY_SUB_BIT - SEEP_SUB_SHIFT)) & UINT64_C(1) << SEEP_ENTRY_SUB_BIT));
}

// What is left of the room for net bytes after an allocation, negative: the process must be told. A new peak
// that matters to no other thread yet is noted.
SEEP_INLINE int64_t net_room_less(struct seep_thread *thread, uint64_t size) {
    struct seep_image_thread *slot = thread->slot;
    int64_t room = slot->net_room - (int64_t)size;
    if (SEEP_LIKELY(room >= 0))
        return room;
    int64_t above = thread->net_above + room;
    if (above < 0)
        return room;
    thread->net_above = above;
    SEEP_ADD(slot->peak_bytes, -room);
    return 0;
}

SEEP_INLINE bool record_allocation_short(struct seep_thread *thread, const void *block, uint64_t size,
                                         enum seep_via via, struct seep_caller caller) {
    const struct seep_recent *recent = recent_find(thread, via, caller);
    if (SEEP_UNLIKELY(!recent))
        return false;
    struct seep_place place = place_of(thread, block);
    // Live entries have higher bits than any size; so has that of NULL, which no block has.
    if (SEEP_UNLIKELY(!place.at || (*place.at | size) >> SEEP_ENTRY_SIZE_BITS))
        return false;
    int64_t room = net_room_less(thread, size);
    if (SEEP_UNLIKELY(room < 0))
        return false;
    SEEP_PUT(thread->slot->net_room, room);
    thread->last_block = (uintptr_t)block;
    map_put(place.at, recent->entry | place_sub(place) | size);
    SEEP_ADD(thread->slot->size_class[size_class_of(size)], 1);
    count_sizes(recent->counters, size);
    seep_stack_show_recent(thread, recent);
    return true;
}

// The same for free: `ok` of its kind of release is known for the site.
SEEP_INLINE bool record_free_short(struct seep_thread *thread, const void *block, enum seep_release via) {
    struct seep_place place = place_of(thread, block);
    if (SEEP_UNLIKELY(!place.at))
        return false;
    uint64_t entry = *place.at;
    uint32_t site = SEEP_ENTRY_SITE(entry); // 0: nothing is right for it
    uint32_t page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    if (SEEP_UNLIKELY(!place_has(place, entry) || !page))
        return false;
    struct seep_image_counters *counters = counters_in(page, site);
    uint64_t size = SEEP_ENTRY_SIZE(entry);
    if (SEEP_UNLIKELY((int64_t)size > thread->net_most - thread->slot->net_room))
        return false;
    uint64_t temporary = counters->temporary + (thread->last_block == (uintptr_t)block);
    if (SEEP_UNLIKELY(!(temporary & SEEP_RELEASE_OK(via))))
        return false;
    map_end(place.at, site);
    SEEP_ADD(counters->frees, 1);
    SEEP_ADD(counters->freed_bytes, size);
    SEEP_PUT(counters->temporary, temporary);
    thread->last_block = 0;
    SEEP_ADD(thread->slot->net_room, (int64_t)size);
    if (via != SEEP_RELEASE_FREE) // the reader knows what is left
        SEEP_ADD(thread->slot->releases[via], 1);
    return true;
}

// Takes a block out of the heap map before it is freed. The site, and its size; 0: the map does not have it.
SEEP_INLINE uint32_t take_block(struct seep_thread *thread, const void *block, uint64_t *ret_size,
                                enum seep_release via, struct seep_caller caller) {
    return SEEP_UNLIKELY(is_special())
               ? seep_record_take_special(thread, block, ret_size, via, caller.pc, caller.sp, caller.bp)
               : map_take((uintptr_t)block, ret_size);
}

// Counts the free of what take_block took; returns what count_free does.
SEEP_INLINE struct seep_image_counters *count_taken(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                    enum seep_release via, bool temporary) {
    return SEEP_UNLIKELY(is_special()) ? seep_record_free_special(thread, site, size, via, temporary)
                                       : count_free(thread, site, size, via, temporary);
}

// A block that is about to be freed. false: not a block we know.
SEEP_INLINE bool record_free(struct seep_thread *thread, const void *block, enum seep_release via,
                             struct seep_caller caller) {
    uint64_t address = (uintptr_t)block;
    uint64_t size;
    uint32_t site = take_block(thread, block, &size, via, caller);
    bool temporary = thread->last_block == address;
    thread->last_block = 0;
    if (SEEP_UNLIKELY(!site)) {
        seep_record_unknown_free(thread, address, via, caller);
        return false;
    }
    struct seep_image_counters *suspect = count_taken(thread, site, size, via, temporary);
    if (SEEP_UNLIKELY(suspect != NULL))
        seep_misuse_check(thread, suspect, site, address, size, via, caller);
    return true;
}

#endif
