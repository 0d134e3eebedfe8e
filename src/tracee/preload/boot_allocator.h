// SPDX-License-Identifier: BSD-2-Clause
//
// The boot allocator: serves the few requests that come while the real functions are being looked
// up (dlsym may allocate). Bounded, aligned, overflow-checked; blocks are never reused.
#ifndef SEEP_PRELOAD_BOOT_ALLOCATOR_H
#define SEEP_PRELOAD_BOOT_ALLOCATOR_H

#include "preload/preload.h"

// All blocks of the boot allocator are in it.
#define SEEP_BOOT_BYTES (256u << 10)
extern unsigned char seep_boot_memory[SEEP_BOOT_BYTES] __attribute__((visibility("hidden")));

// Whether the block is one of the boot allocator: the real free must not get it.
SEEP_INLINE bool seep_boot_has(const void *block) {
    return (uintptr_t)block - (uintptr_t)seep_boot_memory < SEEP_BOOT_BYTES;
}

// realloc of a boot block: what it holds in a block of the real allocator. NULL: that failed, and the boot
// block stays. seep_boot_usable: the bytes that were asked for. Both only for what seep_boot_has() knows.
void *seep_boot_move(void *block, size_t size);
size_t seep_boot_usable(const void *block);
void seep_boot_note_sampled(void); // where blocks are sampled: all that there are may be recorded

// What seep_g.real starts with: as the functions of libc, errno too. The first call of all starts the library
// and goes on to the real function; what comes while that is at work is served from seep_boot_memory. Any
// thread.
void *seep_boot_malloc(size_t size);
void *seep_boot_calloc(size_t count, size_t size);
void *seep_boot_realloc(void *block, size_t size);
void *seep_boot_memalign(size_t alignment, size_t size);
void *seep_boot_aligned_alloc(size_t alignment, size_t size);
int seep_boot_posix_memalign(void **ret, size_t alignment, size_t size);
void *seep_boot_valloc(size_t size);
void *seep_boot_pvalloc(size_t size);
void seep_boot_free(void *block);

// Puts `function` in the place of a real one. A function that the allocator lacks stays the boot allocator's,
// which recognises itself by its address.
#define SEEP_EXCHANGE_REAL(member, function)                                                                 \
    do {                                                                                                     \
        if (seep_g.real.member != seep_boot_##member)                                                        \
            seep_g.real.member = (function);                                                                 \
    } while (0)

#endif
