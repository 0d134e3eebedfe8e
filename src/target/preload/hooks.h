// SPDX-License-Identifier: BSD-2-Clause
// What the files of hooks share.
#ifndef SEEP_PRELOAD_HOOKS_H
#define SEEP_PRELOAD_HOOKS_H

#include "preload/record.h"

// Records what an allocation function returned (NULL: it failed), and returns it. errno is the real
// function's. In the hook itself: its caller is looked up here, and again where the long way needs it,
// so that no register holds it.
SEEP_INLINE void *allocated(void *block, uint64_t size, enum seep_via via) {
    struct seep_thread *thread = thread_enter_short();
    if (SEEP_LIKELY(thread != NULL)) {
        bool done = record_allocation_short(thread, block, size, via, SEEP_HOOK_CALLER());
        thread_leave(thread);
        if (SEEP_LIKELY(done))
            return block;
    }
    struct seep_caller caller = SEEP_HOOK_CALLER();
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

// Records that `block` is about to be given back. free() keeps errno (POSIX 2024): we never touch it.
// false: not recorded yet, call seep_released_long.
SEEP_INLINE bool released_short(const void *block, enum seep_release via) {
    struct seep_thread *thread = is_special() ? NULL : thread_enter_short();
    if (SEEP_UNLIKELY(!thread))
        return false;
    bool done = record_free_short(thread, block, via);
    thread_leave(thread);
    return done;
}

#endif
