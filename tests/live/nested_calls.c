// SPDX-License-Identifier: BSD-2-Clause
// Allocates 30 blocks of 100 bytes by functions that nested_allocator.c stands behind, and keeps 3 of each 10.
#include <stdlib.h>

static void *volatile kept;

static void one(int i, void *block) {
    kept = block;
    if (!block)
        abort();
    if (i >= 3)
        free(block);
}

int main(void) {
    for (int i = 0; i < 10; i++) {
        void *block = NULL;
        one(i, posix_memalign(&block, 64, 100) ? NULL : block);
        one(i, calloc(4, 25));
        one(i, aligned_alloc(32, 100));
    }
    return 0;
}
