// SPDX-License-Identifier: BSD-2-Clause
// An allocator that frees nothing, so that it hands no memory out again: what an old pointer leads to by
// chance with glibc's is lost with this one, as it is under memcheck. It is loaded behind libseep.so, on top
// of glibc's.
#include <malloc.h>
#include <stddef.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t nr, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
    return __libc_malloc(bytes);
}

void *calloc(size_t nr, size_t bytes) {
    return __libc_calloc(nr, bytes);
}

void free(void *block) {
    (void)block;
}

void *realloc(void *block, size_t bytes) {
    void *moved = __libc_malloc(bytes);
    if (block && moved) {
        size_t before = malloc_usable_size(block);
        memcpy(moved, block, before < bytes ? before : bytes);
    }
    return moved;
}

void *memalign(size_t alignment, size_t bytes) {
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **ret_block, size_t alignment, size_t bytes) {
    void *block = __libc_memalign(alignment, bytes);
    if (!block)
        return 12; // ENOMEM
    *ret_block = block;
    return 0;
}
