// SPDX-License-Identifier: BSD-2-Clause
// Blocks of all allocation functions, held and dropped.
#include "corpus.h"
#include <malloc.h>

void *held[8];

static NOINLINE void *posix(size_t alignment, size_t size) {
    void *block;
    if (posix_memalign(&block, alignment, size))
        _exit(3);
    memset(block, 0, size);
    return block;
}

static void keep_all(void) {
    held[0] = aligned_alloc(64, 128);   // EXPECT: reachable
    held[1] = memalign(4096, 100);      // EXPECT: reachable
    held[2] = posix(1 << 20, 3 << 20);  // EXPECT: reachable
    held[3] = valloc(10);               // EXPECT: reachable
    held[4] = calloc(10, 10);           // EXPECT: reachable
    held[5] = reallocarray(NULL, 5, 8); // EXPECT: reachable
    held[6] = malloc(0);                // EXPECT: reachable
}

static void drop_all(void) {
    KEEP(memset(aligned_alloc(64, 192), 0, 192));   // EXPECT: lost
    KEEP(memset(memalign(4096, 100), 0, 100));      // EXPECT: lost
    KEEP(posix(4096, 50));                          // EXPECT: lost
    KEEP(calloc(3, 30));                            // EXPECT: lost
    KEEP(memset(reallocarray(NULL, 3, 31), 0, 93)); // EXPECT: lost
}

int main(void) {
    play(keep_all);
    play(drop_all);
    park();
}
