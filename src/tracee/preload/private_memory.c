// SPDX-License-Identifier: BSD-2-Clause
//
// Private memory of the library: straight from the kernel, in whole pages. Before the program installs a
// filter of system calls a reserve is mapped, for after that nothing can be.
#include "preload/image_window.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void sys_mark_as_ours(void *memory, size_t bytes) {
    sys3(SYS_madvise, memory, bytes, MADV_DONTDUMP);
    sys3(SYS_madvise, memory, bytes, MADV_RANDOM);
}

static void *map(size_t bytes) {
    void *memory =
        sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!memory)
        return NULL;
    sys_mark_as_ours(memory, bytes);
    if (seep_confined.locks_future)
        sys3(SYS_munlock, memory, bytes, 0);
    return memory;
}

static void *map_wiped(size_t bytes) {
    void *memory = map(bytes);
    if (memory && sys3(SYS_madvise, memory, bytes, MADV_WIPEONFORK) != 0) {
        sys_munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

// ---- the reserve ----------------------------------------------------------------------------------

// Address space, of which nothing is used before it is needed. Where it is limited there is less.
static const struct {
    size_t bytes, bytes_where_limited;
} sizes[2] = {{64 << 20, 4 << 20}, {4 << 20, 256 << 10}};

static struct reserve {
    unsigned char *start;
    size_t bytes;
    _Atomic size_t used;
} reserves[2]; // the second is wiped in children

void seep_private_reserve(void) {
    for (int wiped = 0; wiped < 2; wiped++) {
        size_t bytes = seep_window_is_limited() ? sizes[wiped].bytes_where_limited : sizes[wiped].bytes;
        void *start = wiped ? map_wiped(bytes) : map(bytes);
        if (!start)
            continue;
        seep_own_note(start, bytes);
        reserves[wiped].bytes = bytes;
        reserves[wiped].start = start;
    }
}

// What is freed is not handed out again: there is no call that would clear it.
static void *take(struct reserve *reserve, size_t bytes) {
    uint64_t page = sys_page_bytes();
    bytes = (bytes + page - 1) & ~(page - 1);
    if (!reserve->start || bytes > reserve->bytes)
        return NULL;
    size_t used = atomic_load_explicit(&reserve->used, memory_order_relaxed);
    while (used <= reserve->bytes - bytes)
        if (atomic_compare_exchange_weak_explicit(&reserve->used, &used, used + bytes, memory_order_relaxed,
                                                  memory_order_relaxed))
            return reserve->start + used;
    return NULL;
}

// A thread that is at its start has asked already.
static bool may_map(void) {
    return seep_self()->slot ? seep_calls_are_free() : !seep_confined.filtered;
}

void *sys_private(size_t bytes) {
    return may_map() ? map(bytes) : take(&reserves[0], bytes);
}

void *sys_private_wiped(size_t bytes) {
    return may_map() ? map_wiped(bytes) : take(&reserves[1], bytes);
}
