// SPDX-License-Identifier: BSD-2-Clause
//
// A library behind libseep.so whose functions call others of the family by name, and so come to the hooks again.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int posix_memalign(void **ret, size_t alignment, size_t size) {
    *ret = memalign(alignment, size);
    return *ret ? 0 : ENOMEM;
}

void *calloc(size_t count, size_t size) {
    void *block = malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}
