// SPDX-License-Identifier: BSD-2-Clause
//
// musl's calloc, memalign and posix_memalign call malloc and aligned_alloc by name, and so our hooks: what
// they do there is silent, for the outer hook records the block.
#include "preload/musl.h"
#include "preload/record.h"

static struct seep_real inner;

SEEP_INLINE struct seep_thread *enter_quietly(void) {
    struct seep_thread *thread = thread_enter();
    if (thread)
        thread->quiet = true;
    return thread;
}

SEEP_INLINE void leave_quietly(struct seep_thread *thread) {
    if (!thread)
        return;
    thread->quiet = false;
    thread_leave(thread);
}

#define QUIETLY(type, call)                                                                                  \
    do {                                                                                                     \
        struct seep_thread *thread_ = enter_quietly();                                                       \
        type result_ = (call);                                                                               \
        leave_quietly(thread_);                                                                              \
        return result_;                                                                                      \
    } while (0)

static void *quiet_calloc(size_t count, size_t size) {
    QUIETLY(void *, inner.calloc(count, size));
}

static int quiet_posix_memalign(void **ret_block, size_t alignment, size_t size) {
    QUIETLY(int, inner.posix_memalign(ret_block, alignment, size));
}

static void *quiet_aligned_alloc(size_t alignment, size_t size) {
    QUIETLY(void *, inner.aligned_alloc(alignment, size));
}

static void *quiet_memalign(size_t alignment, size_t size) {
    QUIETLY(void *, inner.memalign(alignment, size));
}

static void *quiet_valloc(size_t size) {
    QUIETLY(void *, inner.valloc(size));
}

void seep_musl_quiet(struct seep_real *real) {
    inner = *real;
    real->calloc = quiet_calloc;
    real->posix_memalign = quiet_posix_memalign;
    real->aligned_alloc = quiet_aligned_alloc;
    real->memalign = quiet_memalign;
    real->valloc = quiet_valloc;
}
