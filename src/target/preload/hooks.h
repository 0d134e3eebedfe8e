// SPDX-License-Identifier: BSD-2-Clause
// What the files of hooks share.
#ifndef SEEP_PRELOAD_HOOKS_H
#define SEEP_PRELOAD_HOOKS_H

#include "preload/record.h"

// Records what an allocation function returned (NULL: it failed), and returns it. errno is the real
// function's. In the hook itself: its caller is looked up here, and again where the long way needs it,
// so that no register holds it.
SEEP_INLINE void *allocated(void *block, uint64_t size, enum seep_via via) {
    struct seep_thread *thread = seep_self;
    uint64_t mode = mode_now();
    if (SEEP_LIKELY(thread && thread->guard == mode)) {
        thread_mark_busy(thread);
        bool done = record_allocation_short(thread, block, size, via, SEEP_HOOK_CALLER());
        thread_leave(thread);
        if (SEEP_LIKELY(done))
            return block;
    } else if (thread && sample_skips(thread, block, size)) {
        return block;
    }
    struct seep_caller caller = SEEP_HOOK_CALLER();
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

// The same for functions that few programs call often: small instead of quick.
SEEP_INLINE void *allocated_rarely(void *block, uint64_t size, enum seep_via via, struct seep_caller caller) {
    struct seep_thread *thread = seep_self;
    if (thread && sample_skips(thread, block, size))
        return block;
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

// Records that `block` is about to be given back. free() keeps errno (POSIX 2024): we never touch it.
// false: not recorded yet, call seep_released_long.
SEEP_INLINE bool released_short(const void *block, enum seep_release via) {
    struct seep_thread *thread = seep_self;
    uint64_t mode = mode_now();
    if (SEEP_UNLIKELY(!thread || thread->guard != mode))
        return thread && sample_skips_free(thread, block);
    thread_mark_busy(thread);
    bool done = record_free_short(thread, block, via);
    thread_mark_idle(thread, mode);
    return done;
}

#endif
