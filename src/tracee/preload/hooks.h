// SPDX-License-Identifier: BSD-2-Clause
// What the files of hooks share.
#ifndef SEEP_PRELOAD_HOOKS_H
#define SEEP_PRELOAD_HOOKS_H

#include "preload/record.h"

// Where seep_g.apart, each hook is this one of hooks_sampled.c, from its first instruction on. `via`: plain
// new or new[]; `form`: an enum real_delete. seep_delete_apart may be called elsewhere, too: small instead of
// quick. The others begin behind this: what they keep over the real call is another variable than the
// argument, so that nothing is saved before it is known that they are taken.
#define SEEP_KEPT(argument)                                                                                  \
    ({                                                                                                       \
        uintptr_t kept_ = (uintptr_t)(argument);                                                             \
        __asm__("" : "+r"(kept_));                                                                           \
        kept_;                                                                                               \
    })
void *seep_malloc_apart(size_t size);
void *seep_calloc_apart(size_t count, size_t size);
void *seep_realloc_apart(void *block, size_t size);
void *seep_new_apart(size_t size, enum seep_via via);
void seep_free_apart(void *block);
void seep_delete_apart(void *block, size_t alignment, uint32_t form);

// And these are what they end with where there is more to do: the caller of the hook is theirs. What was
// taken off sample_at for a block that is not skipped is put back. All arguments fit into registers, on CPUs
// of 32 bits too: else no hook could end with a jump here.
void *seep_allocated_here(void *block, size_t size, enum seep_via via);
void *seep_realloc_here(void *block, size_t size, enum seep_via via);
void *seep_new_here(size_t size, enum seep_via via);
void seep_free_here(void *block);
void seep_delete_here(void *block, size_t alignment, uint32_t form, bool recorded);

// The hooks of these names (hooks_map.c). The program or another library may have a function of such a name
// that makes the call by syscall(). syscall() is ours too, so it does not call that function.
int seep_munmap(void *address, size_t size);
int seep_mprotect(void *address, size_t size, int protection);
int seep_madvise(void *address, size_t size, int advice); // on 64-bit CPUs

// What libc's functions return for what the system call returned.
long seep_with_errno(long result);

// What a hook returns whose real function is not known yet, as when a sanitizer's runtime calls it from its
// own start: that of the system call. Such runtimes are for 64 bits; elsewhere there is no room for it: -1,
// errno ENOSYS.
#if SEEP_ARCH_WORD == 8
#define SEEP_BY_CALL(nr, a, b, c, d)                                                                         \
    ((int)seep_with_errno(sys6_real((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)))
#else
#define SEEP_BY_CALL(nr, a, b, c, d) seep_no_real()
int seep_no_real(void);
#endif

// Records what an allocation function returned (NULL: it failed), and returns it. errno is the real
// function's. In the hook itself: its caller is looked up here, and again where the long way needs it,
// so that no register holds it. Not where seep_g.apart.
SEEP_INLINE void *allocated(void *block, uint64_t size, enum seep_via via) {
    struct seep_thread *thread = seep_self();
    uint64_t mode = mode_now();
    if (SEEP_LIKELY(thread->guard == mode)) {
        thread_mark_busy(thread);
        bool done = record_allocation_short(thread, block, size, via, SEEP_HOOK_CALLER());
        thread_leave(thread);
        if (SEEP_LIKELY(done))
            return block;
    }
    struct seep_caller caller = SEEP_HOOK_CALLER();
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

// The same for functions that few programs call often: small instead of quick.
SEEP_INLINE void *allocated_rarely(void *block, uint64_t size, enum seep_via via, struct seep_caller caller) {
    if (sample_skips(seep_self(), block, size))
        return block;
    return seep_allocated_long(block, size, via, caller.pc, caller.sp, caller.bp);
}

// Records that `block` is about to be freed. free() keeps errno (POSIX 2024): we never touch it.
// false: not recorded yet, call seep_released_long. Not where seep_g.apart.
SEEP_INLINE bool released_short(const void *block, enum seep_release via) {
    struct seep_thread *thread = seep_self();
    uint64_t mode = mode_now();
    if (SEEP_UNLIKELY(thread->guard != mode))
        return false;
    thread_mark_busy(thread);
    bool done = record_free_short(thread, block, via);
    thread_mark_idle(thread, mode);
    return done;
}

#endif
