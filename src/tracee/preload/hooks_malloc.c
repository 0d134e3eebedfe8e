// SPDX-License-Identifier: BSD-2-Clause
//
// The malloc family. Each hook: enter, call the real function, record, leave. The real function is
// called outside the guard, so that what it calls in turn is recorded in its own right.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "preload/boot_allocator.h"
#include "preload/hooks.h"

SEEP_EXPORT void *malloc(size_t size) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_malloc_apart(size);
    uint64_t bytes = SEEP_KEPT(size);
    void *block = seep_g.real.malloc(size);
    return allocated(block, bytes, SEEP_VIA_MALLOC);
}

static SEEP_NOINLINE void free_long(void *block, uint64_t pc, uint64_t sp, uint64_t bp) {
    if (!block || SEEP_UNLIKELY(seep_boot_has(block)))
        return;
    seep_released_long(block, SEEP_RELEASE_FREE, pc, sp, bp);
    seep_g.real.free(block);
}

// NULL and what the boot allocator gave out are no blocks of the map: the short way does not know them.
SEEP_EXPORT void free(void *block) {
    if (SEEP_UNLIKELY(seep_g.apart)) {
        seep_free_apart(block);
        return;
    }
    if (SEEP_LIKELY(released_short(block, SEEP_RELEASE_FREE))) {
        seep_g.real.free(block);
        return;
    }
    struct seep_caller caller = SEEP_HOOK_CALLER();
    free_long(block, caller.pc, caller.sp, caller.bp);
}

SEEP_NOINLINE void seep_free_here(void *block) {
    struct seep_caller caller = SEEP_HOOK_CALLER();
    free_long(block, caller.pc, caller.sp, caller.bp);
}

SEEP_NOINLINE void *seep_allocated_here(void *block, size_t size, enum seep_via via) {
    struct seep_thread *thread = seep_self();
    if (!SEEP_MODES && SEEP_LIKELY(block && thread->slot)) // else it never is below 0
        thread->sample_at -= (int64_t)size;
    struct seep_caller caller = SEEP_HOOK_CALLER();
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

SEEP_EXPORT void *calloc(size_t count, size_t size) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_calloc_apart(count, size);
    uint64_t bytes = SEEP_KEPT(count * size); // what overflows is not allocated
    void *block = seep_g.real.calloc(count, size);
    return allocated(block, bytes, SEEP_VIA_CALLOC);
}

// What a realloc takes out of the map and may have to put back.
struct intent {
    uint32_t site;
    bool temporary;
    uint64_t size;
};

SEEP_INLINE struct intent begin_realloc(const void *block) {
    struct intent intent = {.site = 0};
    struct seep_thread *thread = thread_enter();
    if (SEEP_UNLIKELY(!thread)) {
        seep_record_free_unentered(block);
        return intent;
    }
    // A scan that stops us anywhere must find what is in the block: so this comes before the map
    // loses it, and is taken back when the map has its successor.
    struct seep_image_thread *slot = thread->slot;
    slot->moving_bytes = 0;
    slot->moving_rt = (uintptr_t)block;
    atomic_signal_fence(memory_order_release);
    if (SEEP_UNLIKELY(is_special())) {
        struct seep_caller caller = SEEP_HOOK_CALLER(); // here, and nowhere else
        intent.site = seep_record_take_special(thread, block, &intent.size, SEEP_RELEASE_REALLOC, caller.pc,
                                               caller.sp, caller.bp);
    } else {
        intent.site = map_take((uintptr_t)block, &intent.size);
    }
    slot->moving_bytes = intent.size;
    if (SEEP_UNLIKELY(!intent.site)) { // before the real one, which may end the process for it
        slot->moving_rt = 0;
        seep_record_unknown_free(thread, (uintptr_t)block, SEEP_RELEASE_REALLOC, SEEP_HOOK_CALLER());
        slot->moving_rt = (uintptr_t)block;
    }
    intent.temporary = thread->last_block == (uintptr_t)block;
    thread_leave(thread);
    return intent;
}

// The real function has moved or resized the block (`fresh`), given it back (`gone`), or failed.
SEEP_INLINE void end_realloc(void *block, struct intent intent, void *fresh, bool gone, uint64_t size,
                             enum seep_via via, bool quick) {
    struct seep_thread *thread = thread_enter();
    if (SEEP_UNLIKELY(!thread))
        return;
    if (SEEP_UNLIKELY(!fresh && !gone)) {
        thread->slot->failed++;
        if (intent.site)
            seep_record_put_back(thread, block, intent.site, intent.size);
        else
            seep_record_unknown_kept(thread);
        thread->slot->moving_rt = 0;
        thread_leave(thread);
        return;
    }
    if (SEEP_LIKELY(intent.site != 0)) {
        struct seep_image_counters *suspect =
            count_taken(thread, intent.site, intent.size, SEEP_RELEASE_REALLOC, intent.temporary);
        if (SEEP_UNLIKELY(suspect != NULL))
            seep_misuse_check(thread, suspect, intent.site, (uintptr_t)block, intent.size,
                              SEEP_RELEASE_REALLOC, SEEP_HOOK_CALLER());
    }
    bool short_way = thread->mode.word == mode_now();
    if (SEEP_UNLIKELY(!fresh))
        thread->last_block = 0;
    else if (!(quick && short_way && record_allocation_short(thread, fresh, size, via, SEEP_HOOK_CALLER())) &&
             !sample_skips(thread, fresh, size)) {
        struct seep_caller caller = SEEP_HOOK_CALLER();
        seep_record_allocation(thread, fresh, size, via, caller.pc, caller.sp, caller.bp);
    }
    atomic_signal_fence(memory_order_release);
    thread->slot->moving_rt = 0;
    thread_leave(thread);
}

// `quick`: for realloc itself; else small.
SEEP_INLINE void *reallocate(void *block, size_t size, enum seep_via via, bool quick) {
    if (!block) {
        void *fresh = seep_g.real.realloc(NULL, size);
        return quick ? allocated(fresh, size, via) : allocated_rarely(fresh, size, via, SEEP_HOOK_CALLER());
    }
    if (SEEP_UNLIKELY(seep_boot_has(block)))
        return seep_boot_move(block, size);
    struct intent intent = begin_realloc(block);
    void *fresh = seep_g.real.realloc(block, size);
    // realloc(p, 0) that returns NULL has given the block back (C17 7.22.3.5, glibc, musl before 1.2.3).
    end_realloc(block, intent, fresh, !fresh && size == 0, size, via, quick);
    return fresh;
}

SEEP_NOINLINE void *seep_realloc_here(void *block, size_t size, enum seep_via via) {
    return reallocate(block, size, via, false);
}

SEEP_EXPORT void *realloc(void *block, size_t size) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_realloc_apart(block, size);
    return reallocate((void *)SEEP_KEPT(block), SEEP_KEPT(size), SEEP_VIA_REALLOC, true);
}

SEEP_EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (SEEP_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        allocated_rarely(NULL, 0, SEEP_VIA_REALLOCARRAY, SEEP_HOOK_CALLER());
        return NULL;
    }
    // Somebody in front of us has none, and its free takes the block back.
    if (SEEP_UNLIKELY(seep_g.front_realloc != NULL))
        return seep_g.front_realloc(block, bytes);
    return seep_realloc_here(block, bytes, SEEP_VIA_REALLOCARRAY);
}

SEEP_EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size) {
    int result = seep_g.real.posix_memalign(ret_block, alignment, size);
    allocated_rarely(result == 0 ? *ret_block : NULL, size, SEEP_VIA_POSIX_MEMALIGN, SEEP_HOOK_CALLER());
    return result;
}

SEEP_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    void *block = seep_g.real.aligned_alloc(alignment, size);
    return allocated_rarely(block, size, SEEP_VIA_ALIGNED_ALLOC, SEEP_HOOK_CALLER());
}

SEEP_EXPORT void *memalign(size_t alignment, size_t size) {
    void *block = seep_g.real.memalign(alignment, size);
    return allocated_rarely(block, size, SEEP_VIA_MEMALIGN, SEEP_HOOK_CALLER());
}

SEEP_EXPORT void *valloc(size_t size) {
    void *block = seep_g.real.valloc(size);
    return allocated_rarely(block, size, SEEP_VIA_VALLOC, SEEP_HOOK_CALLER());
}

SEEP_EXPORT void *pvalloc(size_t size) {
    void *block = seep_g.real.pvalloc(size);
    // tcmalloc rounds up past the end of all numbers to a block of nothing: no block is larger than this.
    allocated_rarely(block, size <= PTRDIFF_MAX ? size : 0, SEEP_VIA_PVALLOC, SEEP_HOOK_CALLER());
    return block;
}

SEEP_EXPORT size_t malloc_usable_size(void *block) {
    if (SEEP_UNLIKELY(!block || seep_boot_has(block)))
        return block ? seep_boot_usable(block) : 0;
    return seep_g.real.usable_size ? seep_g.real.usable_size(block) : 0;
}

// An allocator in front of us takes it back.
static void give_back(void *block) {
    if (SEEP_UNLIKELY(seep_g.front_free != NULL))
        seep_g.front_free(block);
    else
        free(block);
}

// Gone from glibc 2.26's headers, still called by old programs.
SEEP_EXPORT void cfree(void *block);
SEEP_EXPORT void cfree(void *block) {
    give_back(block);
}

// C23. Real ones that exist check more, but glibc 2.36 and musl have none: free is what they mean.
SEEP_EXPORT void free_sized(void *block, size_t size);
SEEP_EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    give_back(block);
}

SEEP_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size);
SEEP_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size) {
    (void)alignment;
    (void)size;
    give_back(block);
}
