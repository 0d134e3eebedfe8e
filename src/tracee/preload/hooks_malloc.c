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

// What a program, or an allocator in front of us, calls by a name of glibc's own. With musl, and before all
// functions are known, there is only one allocator.
#define LIBC(function) (seep_g.real.libc.function ? seep_g.real.libc.function : seep_g.real.function)

SEEP_EXPORT void *malloc(size_t size) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_malloc_apart(size);
    uint64_t bytes = SEEP_KEPT(size);
    void *block = seep_g.real.malloc(size);
    return allocated(block, bytes, SEEP_VIA_MALLOC);
}

static SEEP_NOINLINE void free_long(void *block, uint64_t pc, uint64_t sp, uint64_t bp,
                                    void (*real)(void *)) {
    if (!block || SEEP_UNLIKELY(seep_boot_has(block)))
        return;
    seep_released_long(block, SEEP_RELEASE_FREE, pc, sp, bp);
    real(block);
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
    free_long(block, caller.pc, caller.sp, caller.bp, seep_g.real.free);
}

SEEP_NOINLINE void seep_free_here(void *block) {
    struct seep_caller caller = SEEP_HOOK_CALLER();
    free_long(block, caller.pc, caller.sp, caller.bp, seep_g.real.free);
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

// Not `quick`: the functions for special modes do the work in all modes, which makes the code smaller.
SEEP_INLINE struct intent begin_realloc(const void *block, bool quick) {
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
    if (SEEP_UNLIKELY(!quick || is_special())) {
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

// The real function has moved or resized the block (`fresh`), freed it (`gone`), or failed.
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
        struct seep_image_counters *suspect = (quick ? count_taken : seep_record_free_special)(
            thread, intent.site, intent.size, SEEP_RELEASE_REALLOC, intent.temporary);
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

// Functions that few programs call often share this. Jumped to: the caller of the hook is its caller.
static SEEP_NOINLINE void *allocated_here(void *block, size_t size, enum seep_via via) {
    return allocated_rarely(block, size, via, SEEP_HOOK_CALLER());
}

#define VIA_LIBC_REALLOC SEEP_VIA_NR // of seep_realloc_here

// `quick`: for realloc itself; else small, and `other` is called.
SEEP_INLINE void *reallocate(void *block, size_t size, enum seep_via via, bool quick,
                             void *(*other)(void *, size_t)) {
    if (!block) {
        void *fresh = quick ? seep_g.real.realloc(NULL, size) : other(NULL, size);
        return quick ? allocated(fresh, size, via) : allocated_here(fresh, size, via);
    }
    if (SEEP_UNLIKELY(seep_boot_has(block)))
        return seep_boot_move(block, size);
    struct intent intent = begin_realloc(block, quick);
    void *fresh = quick ? seep_g.real.realloc(block, size) : other(block, size);
    // realloc(p, 0) that returns NULL has freed the block (C17 7.22.3.5, glibc, musl before 1.2.3).
    end_realloc(block, intent, fresh, !fresh && size == 0, size, via, quick);
    return fresh;
}

SEEP_COLD void *seep_realloc_here(void *block, size_t size, enum seep_via via) {
    void *(*real)(void *, size_t) = seep_g.real.realloc;
    if (via == VIA_LIBC_REALLOC) {
        real = LIBC(realloc);
        via = SEEP_VIA_REALLOC;
    }
    return reallocate(block, size, via, false, real);
}

SEEP_EXPORT void *realloc(void *block, size_t size) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_realloc_apart(block, size);
    return reallocate((void *)SEEP_KEPT(block), SEEP_KEPT(size), SEEP_VIA_REALLOC, true, NULL);
}

SEEP_EXPORT void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (SEEP_UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return allocated_here(NULL, 0, SEEP_VIA_REALLOCARRAY);
    }
    // Somebody in front of us has none, and its free takes the block back.
    if (SEEP_UNLIKELY(seep_g.front_realloc != NULL))
        return seep_g.front_realloc(block, bytes);
    return seep_realloc_here(block, bytes, SEEP_VIA_REALLOCARRAY);
}

SEEP_EXPORT SEEP_COLD int posix_memalign(void **ret_block, size_t alignment, size_t size) {
    int result = seep_g.real.posix_memalign(ret_block, alignment, size);
    allocated_rarely(result == 0 ? *ret_block : NULL, size, SEEP_VIA_POSIX_MEMALIGN, SEEP_HOOK_CALLER());
    return result;
}

SEEP_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return allocated_here(seep_g.real.aligned_alloc(alignment, size), size, SEEP_VIA_ALIGNED_ALLOC);
}

SEEP_EXPORT void *memalign(size_t alignment, size_t size) {
    return allocated_here(seep_g.real.memalign(alignment, size), size, SEEP_VIA_MEMALIGN);
}

SEEP_EXPORT void *valloc(size_t size) {
    return allocated_here(seep_g.real.valloc(size), size, SEEP_VIA_VALLOC);
}

// tcmalloc rounds up past the end of all numbers to a block of nothing: no block is larger than this.
static uint64_t pvalloc_size(size_t size) {
    return size <= PTRDIFF_MAX ? size : 0;
}

SEEP_EXPORT void *pvalloc(size_t size) {
    return allocated_here(seep_g.real.pvalloc(size), pvalloc_size(size), SEEP_VIA_PVALLOC);
}

SEEP_EXPORT size_t malloc_usable_size(void *block) {
    if (SEEP_UNLIKELY(!block || seep_boot_has(block)))
        return block ? seep_boot_usable(block) : 0;
    return seep_g.real.usable_size ? seep_g.real.usable_size(block) : 0;
}

// Gone from glibc 2.26's headers, still called by old programs. An allocator in front of us takes it back.
SEEP_EXPORT void cfree(void *block);
SEEP_EXPORT void cfree(void *block) {
    if (SEEP_UNLIKELY(seep_g.front_free != NULL))
        seep_g.front_free(block);
    else
        free(block);
}

// C23. Real ones that exist check more, but glibc 2.36 and musl have none: free is what they mean. They have
// more arguments, which are not looked at.
SEEP_EXPORT void free_sized_here(void *block) __asm__("free_sized") __attribute__((alias("cfree")));
SEEP_EXPORT void free_aligned_sized_here(void *block) __asm__("free_aligned_sized")
    __attribute__((alias("cfree")));

// ---- glibc's own names ----

// A malloc that a program defines itself is often built on these. Each counts as the function of the
// standard. An allocator behind us may be built on them too: then its functions are quiet (quiet_calls.h).

SEEP_EXPORT void *__libc_malloc(size_t size);
SEEP_EXPORT void *__libc_malloc(size_t size) {
    return allocated_here(LIBC(malloc)(size), size, SEEP_VIA_MALLOC);
}

SEEP_EXPORT void *__libc_calloc(size_t count, size_t size);
SEEP_EXPORT void *__libc_calloc(size_t count, size_t size) {
    return allocated_here(LIBC(calloc)(count, size), count * size, SEEP_VIA_CALLOC);
}

SEEP_EXPORT void *__libc_realloc(void *block, size_t size);
SEEP_EXPORT void *__libc_realloc(void *block, size_t size) {
    return seep_realloc_here(block, size, VIA_LIBC_REALLOC);
}

SEEP_EXPORT void *__libc_memalign(size_t alignment, size_t size);
SEEP_EXPORT void *__libc_memalign(size_t alignment, size_t size) {
    return allocated_here(LIBC(memalign)(alignment, size), size, SEEP_VIA_MEMALIGN);
}

SEEP_EXPORT void *__libc_valloc(size_t size);
SEEP_EXPORT void *__libc_valloc(size_t size) {
    return allocated_here(LIBC(valloc)(size), size, SEEP_VIA_VALLOC);
}

SEEP_EXPORT void *__libc_pvalloc(size_t size);
SEEP_EXPORT void *__libc_pvalloc(size_t size) {
    return allocated_here(LIBC(pvalloc)(size), pvalloc_size(size), SEEP_VIA_PVALLOC);
}

SEEP_EXPORT void __libc_free(void *block);
SEEP_EXPORT void __libc_free(void *block) {
    struct seep_caller caller = SEEP_HOOK_CALLER();
    free_long(block, caller.pc, caller.sp, caller.bp, LIBC(free));
}
