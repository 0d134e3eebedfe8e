// SPDX-License-Identifier: BSD-2-Clause
// Allocators whose functions call one another by name, and so our hooks: only the outermost call counts.
#ifndef SEEP_PRELOAD_QUIET_CALLS_H
#define SEEP_PRELOAD_QUIET_CALLS_H

#include "preload/record.h"

// Puts quiet functions in the place of those of `real` that may call hooks of ours. At start.
void seep_quiet_calls(struct seep_real *real);
// The thread has left a quiet function by longjmp.
void seep_quiet_recover(struct seep_thread *thread);

// For what a quiet function does beside allocating, as to map memory: the thread, marked busy, or NULL.
SEEP_INLINE struct seep_thread *quiet_enter(void) {
    struct seep_thread *thread = seep_self();
    if (SEEP_LIKELY(!thread->quiet || thread->guard != thread->quiet))
        return thread_enter();
    thread_mark_busy(thread);
    return thread;
}

SEEP_INLINE void quiet_leave(struct seep_thread *thread) {
    thread_mark_idle(thread, thread->quiet ? thread->quiet : thread->mode.word);
}

#endif
