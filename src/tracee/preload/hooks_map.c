// SPDX-License-Identifier: BSD-2-Clause
//
// mmap, munmap, mremap, brk, sbrk: the memory that the program maps by itself. Only what is called by
// these names is seen: libc maps for itself (large blocks, arenas, thread stacks, files) by calls of
// its own, and a program may make the system call. errno is the real call's.
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/hooks.h"
#include "preload/mapping.h"
#include "preload/quiet_calls.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

// What libc's functions make of a system call's result.
static void *as_pointer(long result) {
    if (!sys_failed(result))
        return (void *)result;
    errno = (int)-result;
    return MAP_FAILED;
}

// Of calls that return 0. MAP_FAILED is -1.
static int as_result(long result) {
    return (int)(intptr_t)as_pointer(result);
}

static uint64_t whole_pages(uint64_t bytes) {
    uint64_t page = sys_page_bytes();
    return (bytes + page - 1) & ~(page - 1);
}

static uint32_t kind_of(int protection, int flags) {
    return (flags & MAP_ANONYMOUS ? 0 : SEEP_MAPPING_FILE) |
           ((flags & MAP_TYPE) == MAP_PRIVATE ? 0 : SEEP_MAPPING_SHARED) |
           (protection == PROT_NONE ? SEEP_MAPPING_RESERVED : 0) |
           (flags & (MAP_STACK | MAP_GROWSDOWN) ? SEEP_MAPPING_STACK : 0);
}

static void mapped(const void *at, uint64_t bytes, uint32_t kind, enum seep_via via,
                   struct seep_caller caller) {
    seep_readable_placed((uintptr_t)at, bytes);
    struct seep_thread *thread = quiet_enter();
    if (!thread)
        return;
    seep_mapping_add(thread, (uintptr_t)at, bytes, kind, via, caller);
    quiet_leave(thread);
}

static void unmapped(const void *at, uint64_t bytes, uint64_t moment) {
    seep_stack_gone((uintptr_t)at, bytes);
    struct seep_thread *thread = quiet_enter();
    if (!thread)
        return;
    seep_mapping_remove((uintptr_t)at, bytes, moment);
    quiet_leave(thread);
}

// The very first calls come before the real function is known; the system call means the same.
SEEP_INLINE void *map_by_call(void *address, size_t size, int protection, int flags, int fd, off64_t off) {
#ifdef SYS_mmap2
    enum { UNIT = 4096 };
    if (off % UNIT != 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    return as_pointer(
        sys6_real(SYS_mmap2, (long)address, (long)size, protection, flags, fd, (long)(off / UNIT)));
#else
    return as_pointer(sys6_real(SYS_mmap, (long)address, (long)size, protection, flags, fd, off));
#endif
}

static SEEP_NOINLINE void *map(void *at, size_t size, int protection, int flags, struct seep_caller caller) {
    if (at == MAP_FAILED)
        return at;
    uint64_t bytes = whole_pages(size);
    if (flags & MAP_FIXED)
        seep_stack_gone((uintptr_t)at, bytes); // the stack that was there
    if ((protection & PROT_READ) && (flags & MAP_ANONYMOUS))
        seep_readable_mapped((uintptr_t)at, bytes);
    mapped(at, bytes, kind_of(protection, flags), SEEP_VIA_MMAP, caller);
    return at;
}

// The image's place is far from where the kernel maps, but a program may choose any.
SEEP_INLINE void fixed(const void *address, size_t size, int flags) {
    if (SEEP_UNLIKELY(flags & MAP_FIXED))
        seep_memory_goes((uintptr_t)address, whole_pages(size));
}

SEEP_EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t off) {
    fixed(address, size, flags);
    void *at = seep_g.real.mmap ? seep_g.real.mmap(address, size, protection, flags, fd, off)
                                : map_by_call(address, size, protection, flags, fd, off);
    return map(at, size, protection, flags, SEEP_HOOK_CALLER());
}

#ifdef SEEP_NARROW_LIBC
SEEP_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t off) {
    fixed(address, size, flags);
    void *at = seep_g.real.mmap64 ? seep_g.real.mmap64(address, size, protection, flags, fd, off)
                                  : map_by_call(address, size, protection, flags, fd, off);
    return map(at, size, protection, flags, SEEP_HOOK_CALLER());
}
#else
// off_t has 64 bits.
SEEP_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t off)
    __attribute__((alias("mmap")));
#endif

// Does it to all of it but what is the image's (give_up.c).
static int around_image(uint64_t at, size_t size, int (*one)(void *at, size_t size, int protection),
                        int protection) {
    uint64_t end = at + whole_pages(size), rest, bytes;
    while (seep_memory_rest(&at, end, &rest, &bytes))
        if (one((void *)rest, bytes, protection) != 0)
            return -1;
    return 0;
}

static bool has_image(const void *address, size_t size) {
    return SEEP_UNLIKELY(seep_memory_is_ours((uintptr_t)address, whole_pages(size))) &&
           (uintptr_t)address % sys_page_bytes() == 0;
}

static int unmap_one(void *at, size_t size, int unused) {
    (void)unused;
    return seep_munmap(at, size);
}

// The kernel refuses a range that leaves the address space, and unmaps no part of it. So the last page is
// unmapped first: if that fails, the other pages stay.
static int unmap_around_image(uint64_t at, size_t size) {
    uint64_t page = sys_page_bytes(), last = at + whole_pages(size) - page;
    if (!seep_memory_is_ours(last, page) && seep_munmap((void *)(uintptr_t)last, page) != 0)
        return -1;
    return around_image(at, size, unmap_one, 0);
}

int seep_munmap(void *address, size_t size) {
    if (has_image(address, size))
        return unmap_around_image((uintptr_t)address, size);
    uint64_t moment = seep_mapping_moment();
    int result = seep_g.real.munmap ? seep_g.real.munmap(address, size)
                                    : as_result(sys6_real(SYS_munmap, (long)address, (long)size, 0, 0, 0, 0));
    if (result != 0)
        return result;
    unmapped(address, whole_pages(size), moment);
    return 0;
}

SEEP_EXPORT int munmap(void *address, size_t size) __attribute__((alias("seep_munmap")));

// Nothing that is counted; but stacks that were walked may become unreadable.
int seep_mprotect(void *address, size_t size, int protection) {
    // More than it has is refused by the kernel where it must not be had.
    if ((protection & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE) && has_image(address, size))
        return around_image((uintptr_t)address, size, seep_mprotect, protection);
    int result = seep_g.real.mprotect
                     ? seep_g.real.mprotect(address, size, protection)
                     : as_result(sys6_real(SYS_mprotect, (long)address, (long)size, protection, 0, 0, 0));
    if (!(protection & PROT_READ))
        seep_stack_gone((uintptr_t)address, whole_pages(size));
    else if (result == 0 && (protection & PROT_WRITE)) // maybe a stack; a file may be shorter
        seep_readable_mapped((uintptr_t)address, whole_pages(size));
    return result;
}

SEEP_EXPORT int mprotect(void *address, size_t size, int protection) __attribute__((alias("seep_mprotect")));

#if SEEP_ARCH_WORD == 8 // no room elsewhere
// As the kernel does: it passes over gaps, and fails with ENOMEM at the end.
static int advise_around_image(uint64_t at, size_t size, int advice) {
    uint64_t end = at + whole_pages(size), rest, bytes;
    int result = 0;
    while (seep_memory_rest(&at, end, &rest, &bytes))
        if (seep_madvise((void *)rest, bytes, advice) != 0) {
            if (errno != ENOMEM)
                return -1;
            result = -1;
        }
    return result;
}

// Some advice empties the image, or keeps it from children: MADV_REMOVE, MADV_DONTFORK.
int seep_madvise(void *address, size_t size, int advice) {
    if (has_image(address, size))
        return advise_around_image((uintptr_t)address, size, advice);
    return seep_g.real.madvise
               ? seep_g.real.madvise(address, size, advice)
               : as_result(sys6_real(SYS_madvise, (long)address, (long)size, advice, 0, 0, 0));
}

SEEP_EXPORT int madvise(void *address, size_t size, int advice) __attribute__((alias("seep_madvise")));
#endif

// As with realloc, the memory is from now on this call's. old_size 0 makes another mapping of the
// same (shared) memory, and the old one stays.
SEEP_EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...) {
    void *wanted = NULL;
    if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
        va_list arguments;
        va_start(arguments, flags);
        wanted = va_arg(arguments, void *);
        va_end(arguments);
    }
    uint64_t moment = seep_mapping_moment(), old_bytes = whole_pages(old_size), bytes = whole_pages(size);
    seep_memory_goes((uintptr_t)old, old_bytes);
    if (flags & MREMAP_FIXED)
        seep_memory_goes((uintptr_t)wanted, bytes);
    uint32_t kind = seep_image_is_ours() ? seep_mapping_kind((uintptr_t)old) : 0;
    void *at = seep_g.real.mremap ? seep_g.real.mremap(old, old_size, size, flags, wanted)
                                  : as_pointer(sys6_real(SYS_mremap, (long)old, (long)old_size, (long)size,
                                                         flags, (long)wanted, 0));
    if (at == MAP_FAILED)
        return at;
    if (old_size && !(flags & MREMAP_DONTUNMAP))
        unmapped(old, old_bytes, moment);
    else if (flags & MREMAP_FIXED)
        seep_stack_gone((uintptr_t)at, bytes);
    mapped(at, bytes, kind, SEEP_VIA_MREMAP, SEEP_HOOK_CALLER());
    return at;
}

static void break_moved(char *before, char *after, uint64_t moment, enum seep_via via,
                        struct seep_caller caller) {
    if (after > before)
        mapped(before, (uint64_t)(after - before), SEEP_MAPPING_BREAK, via, caller);
    else if (after < before)
        unmapped(after, (uint64_t)(before - after), moment);
}

// libc keeps the break in a variable of its own, so there is no going around it.
static bool real_break_is_known(void) {
    if (!seep_g.real.brk || !seep_g.real.sbrk)
        seep_start();
    if (seep_g.real.brk && seep_g.real.sbrk)
        return true;
    errno = ENOMEM;
    return false;
}

SEEP_EXPORT int brk(void *address) {
    if (!real_break_is_known())
        return -1;
    uint64_t moment = seep_mapping_moment();
    char *before = seep_g.real.sbrk(0);
    int result = seep_g.real.brk(address);
    if (result == 0 && before != (char *)-1)
        break_moved(before, address, moment, SEEP_VIA_BRK, SEEP_HOOK_CALLER());
    return result;
}

SEEP_EXPORT void *sbrk(intptr_t increment) {
    if (!real_break_is_known())
        return (void *)-1;
    uint64_t moment = seep_mapping_moment();
    char *before = seep_g.real.sbrk(increment);
    if (before != (char *)-1 && increment)
        break_moved(before, before + increment, moment, SEEP_VIA_SBRK, SEEP_HOOK_CALLER());
    return before;
}
