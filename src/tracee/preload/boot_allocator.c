// SPDX-License-Identifier: BSD-2-Clause
// The boot allocator, see boot_allocator.h. In front of each block stands its size.
#include <errno.h>
#include <stdatomic.h>

#include "preload/boot_allocator.h"
#include "preload/sampling.h"

_Alignas(4096) unsigned char seep_boot_memory[SEEP_BOOT_BYTES];
static _Atomic size_t boot_used;

// Zeroed. NULL with ENOMEM: it is full.
static void *boot_aligned(size_t alignment, size_t size) {
    alignment = SEEP_MAX(alignment, (size_t)16);
    size_t used = atomic_load_explicit(&boot_used, memory_order_relaxed);
    for (;;) {
        if (alignment > SEEP_BOOT_BYTES || size > SEEP_BOOT_BYTES)
            break;
        size_t at = (used + 16 + alignment - 1) & ~(alignment - 1);
        size_t end = at + ((size + 15) & ~(size_t)15);
        if (end > SEEP_BOOT_BYTES)
            break;
        if (atomic_compare_exchange_weak_explicit(&boot_used, &used, end, memory_order_relaxed,
                                                  memory_order_relaxed)) {
            __builtin_memcpy(seep_boot_memory + at - sizeof(size), &size, sizeof(size));
            if (seep_g.filter)
                seep_sample_note(seep_boot_memory + at, true);
            return seep_boot_memory + at;
        }
    }
    errno = ENOMEM;
    return NULL;
}

// To the filter, which lets frees of what it does not know pass to the real function.
void seep_boot_note_sampled(void) {
    size_t used = atomic_load_explicit(&boot_used, memory_order_relaxed);
    for (size_t at = 0; at < used; at += 16)
        seep_sample_note(seep_boot_memory + at, true);
}

size_t seep_boot_usable(const void *block) {
    size_t size;
    __builtin_memcpy(&size, (const unsigned char *)block - sizeof(size), sizeof(size));
    return size;
}

// The first call of all starts the library and is then served by the real function; only what comes
// while that is at work is served here.
static bool real_is_known(void) {
    seep_start();
    return seep_g.real.malloc != seep_boot_malloc;
}

// A function that the next allocator does not have stays ours for good: it must not call itself.
#define KNOWN(member) (real_is_known() && seep_g.real.member != seep_boot_##member)

void *seep_boot_malloc(size_t size) {
    return real_is_known() ? seep_g.real.malloc(size) : boot_aligned(16, size);
}

void *seep_boot_calloc(size_t count, size_t size) {
    if (KNOWN(calloc))
        return seep_g.real.calloc(count, size);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return boot_aligned(16, bytes);
}

void *seep_boot_memalign(size_t alignment, size_t size) {
    return KNOWN(memalign) ? seep_g.real.memalign(alignment, size) : boot_aligned(alignment, size);
}

void *seep_boot_aligned_alloc(size_t alignment, size_t size) {
    return KNOWN(aligned_alloc) ? seep_g.real.aligned_alloc(alignment, size) : boot_aligned(alignment, size);
}

int seep_boot_posix_memalign(void **ret, size_t alignment, size_t size) {
    if (KNOWN(posix_memalign))
        return seep_g.real.posix_memalign(ret, alignment, size);
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || alignment == 0)
        return EINVAL;
    int kept = errno;
    void *block = boot_aligned(alignment, size);
    errno = kept;
    if (!block)
        return ENOMEM;
    *ret = block;
    return 0;
}

void *seep_boot_valloc(size_t size) {
    return KNOWN(valloc) ? seep_g.real.valloc(size) : boot_aligned(4096, size);
}

void *seep_boot_pvalloc(size_t size) {
    return KNOWN(pvalloc) ? seep_g.real.pvalloc(size) : boot_aligned(4096, size);
}

void *seep_boot_realloc(void *block, size_t size) {
    if (!block || !seep_boot_has(block))
        return KNOWN(realloc) ? seep_g.real.realloc(block, size) : block ? NULL : boot_aligned(16, size);
    return seep_boot_move(block, size);
}

void seep_boot_free(void *block) {
    if (!seep_boot_has(block) && KNOWN(free))
        seep_g.real.free(block);
}

// Moves to whatever seep_g.real.malloc is now, which may be the real one.
void *seep_boot_move(void *block, size_t size) {
    void *fresh = seep_g.real.malloc(size);
    if (fresh)
        __builtin_memcpy(fresh, block, SEEP_MIN(size, seep_boot_usable(block)));
    return fresh;
}
