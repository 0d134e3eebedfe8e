// SPDX-License-Identifier: BSD-2-Clause
// What the files of hooks share.
#ifndef SEEP_PRELOAD_HOOKS_H
#define SEEP_PRELOAD_HOOKS_H

#include "preload/record.h"

// Records that `block` is about to be given back. free() keeps errno (POSIX 2024): we never touch it.
SEEP_INLINE void release(const void *block, enum seep_release via) {
    if (SEEP_UNLIKELY(sample_skips_free(block)))
        return;
    struct seep_thread *thread = thread_enter();
    if (SEEP_UNLIKELY(!thread)) {
        seep_record_free_unentered(block);
        return;
    }
    record_free(thread, block, via);
    thread_leave(thread);
}

#endif
