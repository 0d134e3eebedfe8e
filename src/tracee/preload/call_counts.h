// SPDX-License-Identifier: BSD-2-Clause
//
// Calls that are only counted (SEEP_MODE=count), or counted and written as text (SEEP_MODE=log): no stacks,
// no blocks. There is one site for each function, with the root for its stack; what was freed is
// counted at the site that is not known, because it is not known whose block it was. Counters are those of
// every image, so whatever reads images reads these, at any moment.
//
// Only in libseep-record.so (SEEP_MODES).
#ifndef SEEP_PRELOAD_CALL_COUNTS_H
#define SEEP_PRELOAD_CALL_COUNTS_H

#include "preload/record.h"

// Whether calls are counted or logged, and no blocks are kept.
SEEP_INLINE bool calls_only(void) {
    return SEEP_MODES && (seep_g.config.mode == SEEP_MODE_COUNT || seep_g.config.mode == SEEP_MODE_LOG);
}

// At start, when there is an image.
void seep_calls_start(void);
// The thread is entered. `size`: requested.
void seep_calls_allocation(struct seep_thread *thread, uint64_t size, enum seep_via via);
void seep_calls_release(struct seep_thread *thread, enum seep_release via);

// Around a real operator new that returns: its inner calls are not counted. Between the two no hook takes the
// fast path.
void seep_calls_new_begin(struct seep_thread *thread, struct seep_counted_new *ret_outer);
void seep_calls_new_end(struct seep_thread *thread, const struct seep_counted_new *outer);

// The same where the thread has its counters: not entered, for a handler that interrupts one of these
// additions finds it done or not begun.
SEEP_INLINE void calls_count_allocation(struct seep_thread *thread, uint64_t size, enum seep_via via) {
    struct seep_image_counters *counters = thread->called + SEEP_SITE_CALLS(via);
    SEEP_ADD(counters->allocations, 1);
    SEEP_ADD(counters->allocated_bytes, size);
    if (SEEP_UNLIKELY(~size > counters->size_min_inverted))
        SEEP_PUT(counters->size_min_inverted, ~size);
    if (SEEP_UNLIKELY(size > counters->size_max))
        SEEP_PUT(counters->size_max, size);
    SEEP_ADD(thread->slot->size_class[size_class_of(size)], 1);
}

SEEP_INLINE void calls_count_release(struct seep_thread *thread, enum seep_release via) {
    thread->called[SEEP_SITE_UNKNOWN].frees++;
    if (via != SEEP_RELEASE_FREE) // the reader knows what is left
        SEEP_ADD(thread->slot->releases[via], 1);
}

// call_log.c: from now on the real functions write a line each.
void seep_calls_log_start(void);
// The same for operator new and delete, which call malloc and free: these are under it.
void *seep_calls_log_new(size_t size, enum seep_via via);
void seep_calls_log_delete(void *block, uint32_t form);

#endif
