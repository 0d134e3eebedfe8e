// SPDX-License-Identifier: BSD-2-Clause
//
// The hooks of libseep-record.so (seep_g.apart): for calls that are counted or logged (call_counts.h), and
// for events that are recorded (events.h), in the place of those for sampling. Each has a frame of its own,
// in which the hook's caller is where SEEP_HOOK_CALLER looks for it: the hook jumps here as its first
// instruction.
//
// Cost of a call that is counted, beside the real one: 12 instructions for malloc, 6 for free.
#include "preload/boot_allocator.h"
#include "preload/call_counts.h"
#include "preload/events.h"
#include "preload/hooks.h"

// ---- events ----

// What the guard of an idle thread is where there is nothing special but that events are recorded.
SEEP_INLINE uint64_t recording_mode(void) {
    return mode_now() ^ SEEP_SPECIAL_MODE;
}

// After a short way, which has looked there.
SEEP_INLINE uint64_t *entry_of(const struct seep_thread *thread, const void *block) {
    uint64_t offset = (uintptr_t)block - thread->leaf_start;
    return SEEP_LIKELY(IN_LEAF(offset)) ? &thread->leaf[offset >> LEAF_GRANULE] : map_entry((uintptr_t)block);
}

SEEP_INLINE bool recorded_allocation(struct seep_thread *thread, const void *block, uint64_t size,
                                     enum seep_via via, struct seep_caller caller) {
    uint64_t mode = recording_mode();
    if (SEEP_UNLIKELY(thread->guard != mode))
        return false;
    thread_mark_busy(thread);
    events_make_room(thread, 1);
    bool done = record_allocation_short(thread, block, size, via, caller);
    if (SEEP_LIKELY(done)) {
        uint64_t *at = entry_of(thread, block);
        event_append(thread, SEEP_EVENT_ALLOCATION, (uintptr_t)block, *at, event_stamp_of(at));
    }
    thread_mark_idle(thread, mode);
    return done;
}

SEEP_INLINE bool recorded_release(struct seep_thread *thread, const void *block, enum seep_release via) {
    uint64_t mode = recording_mode();
    if (SEEP_UNLIKELY(thread->guard != mode))
        return false;
    thread_mark_busy(thread);
    events_make_room(thread, 1);
    struct seep_place place = place_of(thread, block);
    uint64_t entry = SEEP_LIKELY(place.at != NULL) ? *place.at : 0;
    bool done = place.at && record_free_short(thread, block, via);
    if (SEEP_LIKELY(done))
        event_append(thread, SEEP_EVENT_FREE + via, (uintptr_t)block, entry, event_stamp_of(place.at));
    thread_mark_idle(thread, mode);
    return done;
}

// What is kept of a block while the real realloc runs.
struct resize {
    uint64_t entry;
    bool temporary;
};

// false: the slow path is needed, and nothing has been done.
SEEP_INLINE bool recorded_resize_begin(struct seep_thread *thread, const void *block,
                                       struct resize *ret_resize) {
    uint64_t mode = recording_mode();
    if (SEEP_UNLIKELY(thread->guard != mode))
        return false;
    thread_mark_busy(thread);
    events_make_room(thread, 2); // for its end, too
    struct seep_place place = place_of(thread, block);
    uint64_t entry = SEEP_LIKELY(place.at != NULL) ? *place.at : 0;
    bool known = place.at && SEEP_ENTRY_IS_LIVE(entry) && place_has(place, entry);
    if (SEEP_LIKELY(known)) {
        // As begin_realloc(): a scan that stops us anywhere must find what is in the block.
        struct seep_image_thread *slot = thread->slot;
        slot->moving_bytes = 0;
        slot->moving_rt = (uintptr_t)block;
        atomic_signal_fence(memory_order_release);
        map_end(place.at, SEEP_ENTRY_SITE(entry));
        slot->moving_bytes = SEEP_ENTRY_SIZE(entry);
        event_append(thread, SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC, (uintptr_t)block, entry,
                     event_stamp_of(place.at));
        *ret_resize = (struct resize){entry, thread->last_block == (uintptr_t)block};
    }
    thread_mark_idle(thread, mode);
    return known;
}

// The real function has resized the block, freed it (fresh: NULL, size 0), or failed. The caller is passed as
// three numbers, so that it stays in registers.
static SEEP_NOINLINE void resized_long(void *block, struct resize resize, void *fresh, uint64_t size,
                                       uint64_t pc, uint64_t sp, uint64_t bp) {
    struct seep_caller caller = {.pc = pc, .sp = sp, .bp = bp};
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return;
    uint32_t site = SEEP_ENTRY_SITE(resize.entry);
    uint64_t freed = SEEP_ENTRY_SIZE(resize.entry);
    if (!fresh && size) {
        thread->slot->failed++;
        seep_record_put_back(thread, block, site, freed);
    } else {
        struct seep_image_counters *suspect =
            seep_record_free_special(thread, site, freed, SEEP_RELEASE_REALLOC, resize.temporary);
        if (suspect)
            seep_misuse_check(thread, suspect, site, (uintptr_t)block, freed, SEEP_RELEASE_REALLOC, caller);
    }
    if (fresh)
        seep_record_allocation(thread, fresh, size, SEEP_VIA_REALLOC, pc, sp, bp);
    else if (size == 0)
        thread->last_block = 0;
    atomic_signal_fence(memory_order_release);
    thread->slot->moving_rt = 0;
    thread_leave(thread);
}

// Counts a free by realloc, as record_free_short() does. false: the slow path is needed.
SEEP_INLINE bool count_resized(struct seep_thread *thread, uint64_t entry, bool temporary) {
    uint32_t site = SEEP_ENTRY_SITE(entry);
    uint64_t size = SEEP_ENTRY_SIZE(entry);
    uint32_t page = thread->chunk_dir[site >> SEEP_CHUNK_SITES_SHIFT];
    struct seep_image_counters *counters = counters_in(page, site);
    if (SEEP_UNLIKELY(!page || (int64_t)size > thread->net_most - thread->slot->net_room ||
                      !((counters->temporary + temporary) & SEEP_RELEASE_OK(SEEP_RELEASE_REALLOC))))
        return false;
    SEEP_ADD(counters->frees, 1);
    SEEP_ADD(counters->freed_bytes, size);
    SEEP_ADD(counters->temporary, temporary);
    SEEP_ADD(thread->slot->releases[SEEP_RELEASE_REALLOC], 1);
    SEEP_ADD(thread->slot->net_room, (int64_t)size);
    return true;
}

SEEP_INLINE bool recorded_resize_end(struct seep_thread *thread, struct resize resize, const void *fresh,
                                     uint64_t size, struct seep_caller caller) {
    uint64_t mode = recording_mode();
    if (SEEP_UNLIKELY(thread->guard != mode || !fresh))
        return false;
    thread_mark_busy(thread);
    events_make_room(thread, 1);
    bool done = count_resized(thread, resize.entry, resize.temporary);
    if (SEEP_LIKELY(done)) {
        if (SEEP_LIKELY(record_allocation_short(thread, fresh, size, SEEP_VIA_REALLOC, caller))) {
            uint64_t *at = entry_of(thread, fresh);
            event_append(thread, SEEP_EVENT_ALLOCATION, (uintptr_t)fresh, *at, event_stamp_of(at));
        } else {
            seep_record_allocation(thread, fresh, size, SEEP_VIA_REALLOC, caller.pc, caller.sp, caller.bp);
        }
        atomic_signal_fence(memory_order_release);
        thread->slot->moving_rt = 0;
    }
    thread_leave(thread);
    return done;
}

// ---- all of them ----

// Where the thread is not known yet, the allocation failed, or the short way is none: the long way.
#define DONE(block, size, via)                                                                               \
    ({                                                                                                       \
        struct seep_thread *thread_ = seep_self();                                                           \
        bool counts_ = thread_->called && (block);                                                           \
        if (SEEP_LIKELY(counts_))                                                                            \
            calls_count_allocation(thread_, size, via);                                                      \
        bool done_ = counts_ || recorded_allocation(thread_, block, size, via, SEEP_HOOK_CALLER());          \
        done_ ? (block) : seep_allocated_here(block, size, via);                                             \
    })

void *seep_malloc_apart(size_t size) {
    void *block = seep_g.real.malloc(size);
    return DONE(block, size, SEEP_VIA_MALLOC);
}

void *seep_calloc_apart(size_t count, size_t size) {
    void *block = seep_g.real.calloc(count, size);
    return DONE(block, (uint64_t)count * size, SEEP_VIA_CALLOC);
}

void *seep_new_apart(size_t size, enum seep_via via) {
    void *block = !seep_g.new_is_malloc                 ? NULL
                  : seep_g.config.mode == SEEP_MODE_LOG ? seep_calls_log_new(size, via)
                                                        : seep_g.real.malloc(size ? size : 1);
    if (SEEP_UNLIKELY(!block))
        return seep_new_here(size, via);
    return DONE(block, size, via);
}

// What is left to the long way: NULL, which is nothing, and what the boot allocator gave out.
SEEP_INLINE bool counts(const struct seep_thread *thread, const void *block) {
    return SEEP_LIKELY(thread->called && block && !seep_boot_has(block));
}

void seep_free_apart(void *block) {
    struct seep_thread *thread = seep_self();
    if (SEEP_LIKELY(counts(thread, block))) {
        calls_count_release(thread, SEEP_RELEASE_FREE);
    } else if (SEEP_UNLIKELY(!recorded_release(thread, block, SEEP_RELEASE_FREE))) {
        seep_free_here(block);
        return;
    }
    seep_g.real.free(block);
}

void seep_delete_apart(void *block, size_t alignment, uint32_t form) {
    if (SEEP_UNLIKELY(seep_g.operators_replaced)) {
        seep_delete_here(block, alignment, form, false);
        return;
    }
    struct seep_thread *thread = seep_self();
    enum seep_release via = form % 2 ? SEEP_RELEASE_DELETE_ARRAY : SEEP_RELEASE_DELETE;
    bool counted = counts(thread, block);
    if (counted)
        calls_count_release(thread, via);
    else
        counted = recorded_release(thread, block, via);
    bool logged = seep_g.config.mode == SEEP_MODE_LOG;
    if (SEEP_UNLIKELY(!seep_g.delete_is_free || !block || seep_boot_has(block) || (!counted && !logged))) {
        seep_delete_here(block, alignment, form, counted);
        return;
    }
    if (SEEP_UNLIKELY(!counted)) // no stacks are kept for a log
        seep_released_long(block, via, 0, 0, 0);
    if (logged)
        seep_calls_log_delete(block, form);
    else
        seep_g.real.free(block);
}

void *seep_realloc_apart(void *block, size_t size) {
    struct seep_thread *thread = seep_self();
    struct resize resize;
    if (SEEP_LIKELY(!thread->called && recorded_resize_begin(thread, block, &resize))) {
        void *moved = seep_g.real.realloc(block, size);
        struct seep_caller caller = SEEP_HOOK_CALLER();
        if (SEEP_UNLIKELY(!recorded_resize_end(thread, resize, moved, size, caller)))
            resized_long(block, resize, moved, size, caller.pc, caller.sp, caller.bp);
        return moved;
    }
    if (SEEP_UNLIKELY(!counts(thread, block)))
        return seep_realloc_here(block, size, SEEP_VIA_REALLOC);
    void *fresh = seep_g.real.realloc(block, size);
    if (SEEP_UNLIKELY(!fresh)) {
        if (size)
            thread->slot->failed++;
        else
            calls_count_release(thread, SEEP_RELEASE_REALLOC);
        return NULL;
    }
    calls_count_release(thread, SEEP_RELEASE_REALLOC);
    calls_count_allocation(thread, size, SEEP_VIA_REALLOC);
    return fresh;
}
