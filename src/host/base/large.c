// SPDX-License-Identifier: BSD-2-Clause
// Memory in huge pages, see large.h.
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/large.h"

#define HUGE_BYTES ((size_t)2 << 20)

void seep_large_advise(void *memory, size_t nr_bytes) {
    uintptr_t start = ((uintptr_t)memory + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
    uintptr_t end = ((uintptr_t)memory + nr_bytes) & ~(uintptr_t)(HUGE_BYTES - 1);
    if (nr_bytes >= SEEP_LARGE_BYTES && start < end)
        madvise((void *)start, end - start, MADV_HUGEPAGE); // a wish: nothing is lost where it is not granted
}

void *seep_large_alloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    void *memory = malloc(SEEP_MAX(bytes, (size_t)1));
    if (memory)
        seep_large_advise(memory, bytes);
    return memory;
}

bool seep_large_grow(void *array, size_t *capacity, size_t element_bytes) {
    void *items;
    size_t larger = *capacity + *capacity / 2 + 1024, bytes;
    if (__builtin_mul_overflow(larger, element_bytes, &bytes))
        return false;
    memcpy(&items, array, sizeof(items));
    void *grown = realloc(items, bytes);
    if (!grown)
        return false;
    seep_large_advise(grown, bytes);
    memcpy(array, &grown, sizeof(grown));
    *capacity = larger;
    return true;
}

void seep_large_keep(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, -1); // never
#endif
}
