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

// Cold halves, record.c.
void seep_record_allocation_special(struct seep_thread *thread, const void *block, uint64_t size,
                                    enum seep_via via, uint64_t pc, uint64_t sp, uint64_t bp);
uint32_t seep_record_take_special(struct seep_thread *thread, const void *block, uint64_t *ret_size);
struct seep_image_counters *seep_record_free_special(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                     enum seep_release via, bool temporary);
void seep_record_put_back(struct seep_thread *thread, const void *block, uint32_t site, uint64_t size);
void seep_record_put_slow(struct seep_thread *thread, uint64_t address, uint32_t site, uint64_t size);
// The block that was the thread's latest allocation was in truth asked for by this function.
void seep_record_again(struct seep_thread *thread, const void *block, uint64_t size, enum seep_via via,
                       struct seep_caller caller);
void seep_record_unknown_free(struct seep_thread *thread, uint64_t address, enum seep_release via,
                              struct seep_caller caller);
// Reckons net_room and its bounds anew; tells the process what it must know.
void seep_record_net(struct seep_thread *thread);
// The long ways of the hooks, see hooks.h. The caller as numbers, so that nothing is put in memory for it.
void *seep_allocated_long(void *block, uint64_t size, enum seep_via via, uint64_t pc, uint64_t sp,
                          uint64_t bp);
void seep_released_long(const void *block, enum seep_release via, uint64_t pc, uint64_t sp, uint64_t bp);
void seep_record_free_unentered(const void *block); // in a signal handler inside a hook, or passive

// Sampling, or a fork whose child has no image yet: the long way, in record.c.
SEEP_INLINE bool is_special(void) {
    return atomic_load_explicit(&seep_g.mode.special, memory_order_relaxed) != 0;
}

SEEP_INLINE uint64_t mode_now(void) {
    return atomic_load_explicit(&seep_g.mode.word, memory_order_relaxed);
}

SEEP_INLINE void thread_mark_busy(struct seep_thread *thread) {
    thread->guard = (uint64_t)__builtin_frame_address(0);
    atomic_signal_fence(memory_order_seq_cst); // a handler that interrupts us must see it
}

SEEP_INLINE void thread_mark_idle(struct seep_thread *thread, uint64_t guard) {
    atomic_signal_fence(memory_order_seq_cst);
    thread->guard = guard;
}

// The thread, marked busy, or NULL: pass through and record nothing.
SEEP_INLINE struct seep_thread *thread_enter(void) {
    struct seep_thread *thread = seep_self;
    if (SEEP_UNLIKELY(!thread || !SEEP_GUARD_IS_IDLE(thread->guard))) {
        thread = seep_thread_slow();
        if (!thread)
            return NULL;
    }
    thread_mark_busy(thread);
    return thread;
}

SEEP_INLINE void thread_leave(struct seep_thread *thread) {
    thread_mark_idle(thread, thread->mode.word);
}

// NULL: no memory for them (counted).
SEEP_INLINE struct seep_image_counters *counters_of(struct seep_thread *thread, uint32_t site) {
    uint32_t page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    if (SEEP_UNLIKELY(!page)) {
        if (!seep_counters_chunk(thread, site))
            return NULL;
        page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    }
    struct seep_image_counters *chunk =
        (struct seep_image_counters *)(seep_g.pool + (uint64_t)page * SEEP_POOL_PAGE);
    return &chunk[site & (SEEP_CHUNK_SITES - 1)];
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
    thread->slot->net_room = room;
    if (SEEP_UNLIKELY(room < 0 || room > thread->net_most))
        seep_record_net(thread);
}

SEEP_INLINE void count_sizes(struct seep_image_counters *counters, uint64_t size) {
    uint64_t bytes = counters->allocated_bytes + size;
    counters->allocated_bytes = bytes;
    int64_t live = (int64_t)(bytes - counters->freed_bytes);
    if (live > (int64_t)counters->peak_bytes)
        counters->peak_bytes = (uint64_t)live;
    if (~size > counters->size_min_inverted)
        counters->size_min_inverted = ~size;
    if (size > counters->size_max)
        counters->size_max = size;
    counters->allocations++;
}

// counters: NULL: there was no memory for them.
SEEP_INLINE void count_allocation(struct seep_thread *thread, struct seep_image_counters *counters,
                                  uint64_t size) {
    if (SEEP_UNLIKELY(!counters))
        return;
    count_sizes(counters, size);
    thread->slot->size_class[size_class_of(size)]++;
    count_net(thread, (int64_t)size);
}

// Returns the counters where they do not say that this way to give the block back is right, else NULL.
SEEP_INLINE struct seep_image_counters *count_free(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                   enum seep_release via, bool temporary) {
    struct seep_image_counters *counters = counters_of(thread, site);
    if (SEEP_UNLIKELY(!counters))
        return NULL;
    counters->frees++;
    counters->freed_bytes += size;
    if (via != SEEP_RELEASE_FREE) // the reader knows what is left
        thread->slot->releases[via]++;
    count_net(thread, -(int64_t)size);
    counters->temporary += temporary;
    if (via == SEEP_RELEASE_FREE || via == SEEP_RELEASE_REALLOC)
        return SEEP_LIKELY((int64_t)counters->temporary < 0) ? NULL : counters; // the sign that the sum left
    return SEEP_LIKELY(counters->temporary & SEEP_RELEASE_OK(via)) ? NULL : counters;
}

// A block that the real allocator has just handed out, the long way.
SEEP_INLINE void record_allocation(struct seep_thread *thread, const void *block, uint64_t size,
                                   enum seep_via via, struct seep_caller caller) {
    uint64_t address = (uint64_t)block;
    if (SEEP_UNLIKELY(is_special())) {
        seep_record_allocation_special(thread, block, size, via, caller.pc, caller.sp, caller.bp);
        return;
    }
    const struct seep_detour *detour = detour_at(thread, caller);
    bool known = detour_holds(thread, detour, via, caller);
    uint32_t site = known ? detour->site : stack_site(thread, via, caller);
    struct seep_image_counters *counters = known ? detour->counters : counters_of(thread, site);
    if (known)
        seep_stack_show_detour(thread, detour);
    uint64_t *at = map_entry(address);
    if (SEEP_LIKELY(at != NULL && !SEEP_ENTRY_IS_LIVE(*at) && size >> SEEP_ENTRY_SIZE_BITS == 0))
        *at = SEEP_ENTRY_MAKE(site, map_sub(address), size);
    else
        seep_record_put_slow(thread, address, site, size);
    thread->last_block = address;
    count_allocation(thread, counters, size);
    map_remember_leaf(thread, address);
    if (!known)
        stack_remember(thread, site, counters, caller);
}

// ---- the short way --------------------------------------------------------------------------------
//
// What nearly all operations are, if they are anything like the one before: the stack of last time, a
// block in the leaf of last time, in the mode of last time (the caller has seen to that). First everything is
// looked at, then everything is written; so there is no call in between and nothing to take back. false: not
// so, and nothing has been done.

SEEP_INLINE uint64_t leaf_offset(const struct seep_thread *thread, const void *block) {
    return (uint64_t)block - thread->leaf_start;
}
// In the leaf, and where a glibc block may start.
#define IN_LEAF(offset) (((offset) & ~(SEEP_LEAF_MASK & ~UINT64_C(15))) == 0)
#define LEAF_GRANULE    5 // other granules are never remembered

SEEP_INLINE uint64_t sub_bit(uint64_t offset) {
    uint64_t sub = offset & 16;
    __asm__("" : "+r"(sub)); // gcc would shift first, and then need a mask of 38 bits
    return sub << (SEEP_ENTRY_SUB_BIT - 4);
}

SEEP_INLINE bool record_allocation_short(struct seep_thread *thread, const void *block, uint64_t size,
                                         enum seep_via via, struct seep_caller caller) {
    const struct seep_shortcut *last = &thread->last;
    if (SEEP_UNLIKELY(last->frame != SEEP_FRAME_OF(caller) || last->pc != caller.pc))
        return false;
    if (SEEP_UNLIKELY(last->via != (uint64_t)via) &&
        (last->via != (via | SEEP_NEED_BP) || last->bp != caller.bp))
        return false;
    uint64_t offset = leaf_offset(thread, block);
    if (SEEP_UNLIKELY(!IN_LEAF(offset)))
        return false;
    uint64_t *at = &thread->leaf[offset >> LEAF_GRANULE];
    // Live entries have higher bits than any size; so has that of NULL, which no block has.
    if (SEEP_UNLIKELY((*at | size) >> SEEP_ENTRY_SIZE_BITS || !slots_hold(last->slots_end, thread->slots)))
        return false;
    struct seep_image_thread *slot = thread->slot;
    int64_t room = slot->net_room - (int64_t)size;
    if (SEEP_UNLIKELY(room < 0)) {
        // A new peak; it matters to nobody else yet.
        if (thread->net_above < -room)
            return false;
        thread->net_above += room;
        slot->peak_bytes -= room;
        room = 0;
    }
    slot->net_room = room;
    thread->last_block = (uint64_t)block;
    *at = last->entry | sub_bit(offset) | size;
    slot->size_class[size_class_of(size)]++;
    count_sizes(last->counters, size);
    seep_stack_show_memo(thread);
    return true;
}

// The same for free: `ok` of its kind of release is known for the site.
SEEP_INLINE bool record_free_short(struct seep_thread *thread, const void *block, enum seep_release via) {
    uint64_t offset = leaf_offset(thread, block);
    if (SEEP_UNLIKELY(!IN_LEAF(offset)))
        return false;
    uint64_t *at = &thread->leaf[offset >> LEAF_GRANULE];
    uint64_t entry = *at;
    uint32_t site = SEEP_ENTRY_SITE(entry);
    uint32_t page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    if (SEEP_UNLIKELY(!site ||
                      (entry ^ offset << (SEEP_ENTRY_SUB_BIT - 4)) & UINT64_C(1) << SEEP_ENTRY_SUB_BIT ||
                      !page))
        return false;
    struct seep_image_counters *counters =
        (struct seep_image_counters *)(seep_g.pool + (uint64_t)page * SEEP_POOL_PAGE) +
        (site & (SEEP_CHUNK_SITES - 1));
    uint64_t size = SEEP_ENTRY_SIZE(entry);
    int64_t room = thread->slot->net_room + (int64_t)size;
    uint64_t temporary = counters->temporary + (thread->last_block == (uint64_t)block);
    if (SEEP_UNLIKELY(!(temporary & SEEP_RELEASE_OK(via)) || room > thread->net_most))
        return false;
    *at = site; // no live block; and whose it was
    counters->frees++;
    counters->freed_bytes += size;
    counters->temporary = temporary;
    thread->last_block = 0;
    thread->slot->net_room = room;
    if (via != SEEP_RELEASE_FREE) // the reader knows what is left
        thread->slot->releases[via]++;
    return true;
}

SEEP_INLINE uint32_t take_block(struct seep_thread *thread, const void *block, uint64_t *ret_size) {
    return SEEP_UNLIKELY(is_special()) ? seep_record_take_special(thread, block, ret_size)
                                       : map_take((uint64_t)block, ret_size);
}

// Counts the free of what take_block took; returns what count_free does.
SEEP_INLINE struct seep_image_counters *count_taken(struct seep_thread *thread, uint32_t site, uint64_t size,
                                                    enum seep_release via, bool temporary) {
    return SEEP_UNLIKELY(is_special()) ? seep_record_free_special(thread, site, size, via, temporary)
                                       : count_free(thread, site, size, via, temporary);
}

// A block that is about to be given back. false: not a block we know.
SEEP_INLINE bool record_free(struct seep_thread *thread, const void *block, enum seep_release via,
                             struct seep_caller caller) {
    uint64_t address = (uint64_t)block;
    uint64_t size;
    uint32_t site = take_block(thread, block, &size);
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
