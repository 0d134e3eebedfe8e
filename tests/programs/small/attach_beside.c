// SPDX-License-Identifier: BSD-2-Clause
// Blocks by functions of an allocator beside malloc: six are allocated, those of 1,000 and 5,200 bytes are kept.
#include <stddef.h>
#include <stdlib.h>

static void *volatile kept[3];

#ifdef OF_JEMALLOC
void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
__attribute__((noipa)) static void work(void) {
    kept[0] = mallocx(1000, 0);
    kept[1] = rallocx(mallocx(1100, 0), 5200, 0);
    sdallocx(mallocx(1300, 0), 1300, 0);
    dallocx(malloc(1400), 0);
    free(mallocx(1500, 0));
}
#else
void *mi_zalloc(size_t size);
void *mi_malloc_aligned(size_t size, size_t alignment);
void *mi_realloc_aligned(void *block, size_t size, size_t alignment);
void mi_free_size(void *block, size_t size);
__attribute__((noipa)) static void work(void) {
    kept[0] = mi_zalloc(1000);
    kept[1] = mi_realloc_aligned(mi_malloc_aligned(1100, 64), 5200, 64);
    mi_free_size(mi_malloc_aligned(1300, 64), 1300);
    mi_free_size(malloc(1400), 1400);
    free(mi_zalloc(1500));
}
#endif

int main(void) {
    work();
    return 0;
}
