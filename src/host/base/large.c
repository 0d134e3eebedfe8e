// SPDX-License-Identifier: BSD-2-Clause
// Memory in huge pages, see large.h.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/large.h"

#define HUGE_BYTES  ((size_t)2 << 20)
#define FIRST_BYTES ((size_t)4 << 20) // of what grows, when it is large
// What is larger has a mapping of its own, which grows without a copy. Source: mallopt(3), M_MMAP_THRESHOLD.
#define MAPPED_BYTES ((size_t)32 << 20)

// What is freed serves the next: then arrays lie close, as gaps between them would be of no use to any.
static bool keeps;

// What has not been touched yet of the memory is to be in huge pages.
void seep_large_advise(void *memory, size_t nr_bytes) {
    uintptr_t start = ((uintptr_t)memory + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)memory + nr_bytes) & ~(uintptr_t)(HUGE_BYTES - 1);
    if (nr_bytes >= SEEP_LARGE_BYTES && start < end)
        madvise((void *)start, end - start, MADV_HUGEPAGE); // a wish: nothing is lost where it is not granted
}

// From SEEP_LARGE_BYTES on huge pages and nothing else: to clear one of them takes less than the faults of
// the small ones do, even where half of it stays empty.
static void *alloc_bytes(size_t bytes) {
    if (bytes < SEEP_LARGE_BYTES || keeps) {
        void *plain = malloc(SEEP_MAX(bytes, (size_t)1));
        if (plain)
            seep_large_advise(plain, bytes);
        return plain;
    }
    bytes = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
    void *memory = aligned_alloc(HUGE_BYTES, bytes);
    if (memory)
        seep_large_advise(memory, bytes);
    return memory;
}

void *seep_large_alloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    return alloc_bytes(bytes);
}

// A copy by realloc would be in small pages. What is copied gets room for as much again.
static void *grow_bytes(void *items, size_t before, size_t *bytes) {
    if (before >= MAPPED_BYTES || *bytes < SEEP_LARGE_BYTES || keeps) {
        void *grown = realloc(items, *bytes);
        if (grown)
            seep_large_advise(grown, *bytes);
        return grown;
    }
    *bytes = SEEP_MAX(*bytes, SEEP_MAX(2 * before, FIRST_BYTES));
    void *grown = alloc_bytes(*bytes);
    if (!grown)
        return NULL;
    if (before)
        memcpy(grown, items, before);
    free(items);
    return grown;
}

bool seep_large_grow(void *array, size_t *capacity, size_t element_bytes) {
    void *items;
    size_t larger = *capacity + *capacity / 2 + 1024, bytes;
    if (__builtin_mul_overflow(larger, element_bytes, &bytes))
        return false;
    memcpy(&items, array, sizeof(items));
    void *grown = grow_bytes(items, *capacity * element_bytes, &bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof(grown));
    *capacity = bytes / element_bytes;
    return true;
}

// The kernel does not always begin where a huge page could: what is too much at both ends goes back.
void *seep_large_map(size_t *nr_bytes) {
    size_t bytes, more;
    if (__builtin_add_overflow(*nr_bytes, HUGE_BYTES - 1, &bytes))
        return NULL;
    bytes &= ~(HUGE_BYTES - 1);
    if (__builtin_add_overflow(bytes, HUGE_BYTES, &more))
        return NULL;
    unsigned char *all = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)all & (HUGE_BYTES - 1);
    if (before)
        munmap(all, before);
    munmap(all + before + bytes, more - before - bytes);
    seep_large_advise(all + before, bytes);
    *nr_bytes = bytes;
    return all + before;
}

void seep_large_unmap(void *memory, size_t nr_bytes) {
    munmap(memory, nr_bytes);
}

void seep_large_reuse(void) {
#ifdef __GLIBC__
    // Where it would end by itself: once one of the two is set, it no longer moves.
    if (mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES))
        mallopt(M_TRIM_THRESHOLD, 16 * SEEP_LARGE_BYTES);
#endif
}

void seep_large_keep(void) {
    keeps = true;
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); // never
#endif
}
