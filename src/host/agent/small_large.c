// SPDX-License-Identifier: BSD-2-Clause
// base/large.h without huge pages: a device has no memory for their empty halves.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/large.h"

void *seep_large_alloc(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(SEEP_MAX(bytes, (size_t)1));
}

void seep_large_advise(void *memory, size_t nr_bytes) {
    (void)memory;
    (void)nr_bytes;
}

bool seep_large_grow(void *array, size_t *capacity, size_t element_bytes) {
    void *items;
    size_t larger = *capacity + *capacity / 2 + 1024, bytes;
    memcpy(&items, array, sizeof(items));
    void *grown = __builtin_mul_overflow(larger, element_bytes, &bytes) ? NULL : realloc(items, bytes);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof(grown));
    *capacity = larger;
    return true;
}

void *seep_large_map(size_t *nr_bytes) {
    void *memory = mmap(NULL, *nr_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void seep_large_unmap(void *memory, size_t nr_bytes) {
    munmap(memory, nr_bytes);
}
