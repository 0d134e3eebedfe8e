// SPDX-License-Identifier: BSD-2-Clause
// Allocators whose functions call one another by name, and so our hooks: only the outermost call counts.
#ifndef SEEP_PRELOAD_QUIET_CALLS_H
#define SEEP_PRELOAD_QUIET_CALLS_H

#include <link.h>

#include "preload/record.h"

// Replaces functions of `real` that may call our hooks by quiet ones. At start.
void seep_quiet_calls(struct seep_real *real);
// Whether the module calls glibc's allocator by names of glibc's own. At start.
bool seep_calls_libc(const struct link_map *map);
// The thread has left a quiet function by longjmp.
void seep_quiet_recover(struct seep_thread *thread);

// Around a real function that may call our hooks, and returns: the hooks record nothing. The result of the
// first call is passed to the second. `frame`: CPU_FRAME() of the function that calls both.
// NULL: the thread records nothing now (it has no slot, or a hook is at work); then the second call does
// nothing.
struct seep_thread *seep_quiet_begin(uint64_t frame);
void seep_quiet_end(struct seep_thread *thread);

// The thread, marked busy, or NULL: for side effects of a quiet function, such as mapping memory.
SEEP_INLINE struct seep_thread *quiet_enter(void) {
    struct seep_thread *thread = seep_self();
    if (SEEP_LIKELY(!thread->quiet || thread->guard != thread->quiet))
        return thread_enter();
    thread_mark_busy(thread);
    return thread;
}

// Ends the operation; a thread that is quiet stays so.
SEEP_INLINE void quiet_leave(struct seep_thread *thread) {
    thread_mark_idle(thread, thread->quiet ? thread->quiet : thread->mode.word);
}

#endif
