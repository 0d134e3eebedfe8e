// SPDX-License-Identifier: BSD-2-Clause
// An allocator that hands out parts of an array. Its realloc limits the address space to 24 MiB.
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static char pool[8 * MIB];
static size_t used;

void *malloc(size_t size) {
    size_t bytes = (size + 31) / 16 * 16;
    if (size > sizeof(pool) || bytes > sizeof(pool) - used)
        return NULL;
    char *block = pool + used;
    used += bytes;
    memcpy(block, &size, sizeof(size));
    return block + 16;
}

void free(void *block) {
    (void)block;
}

void *calloc(size_t count, size_t size) {
    return malloc(count * size);
}

void *realloc(void *block, size_t size) {
    const struct rlimit limit = {24 * MIB, 24 * MIB};
    size_t old = 0;
    char *fresh = setrlimit(RLIMIT_AS, &limit) ? NULL : malloc(size);
    if (!fresh || !block)
        return fresh;
    memcpy(&old, (char *)block - 16, sizeof(old));
    return memcpy(fresh, block, old < size ? old : size);
}
