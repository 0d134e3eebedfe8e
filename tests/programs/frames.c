// SPDX-License-Identifier: BSD-2-Clause
//
// Frames whose size only run time knows (alloca), frames of many pages, and a stack that grows by
// more than a page at once.
// EXPECT:
// {
//   "sites": [
//     {"in": "with_alloca", "via": "malloc", "allocations": 200, "frees": 100, "live_blocks": 100,
//      "live_bytes": 1400, "path": ["with_alloca", "through_alloca", "main"], "nr_sites": 1},
//     {"in": "with_pages", "via": "malloc", "allocations": 30, "live_blocks": 30, "live_bytes": 450},
//     {"in": "after", "via": "calloc", "allocations": 30, "live_blocks": 30, "live_bytes": 600,
//      "path": ["after", "main"], "nr_sites": 1}
//   ]
// }
#include "program.h"
#include <alloca.h>

APART static int with_alloca(size_t size) {
    char *space = alloca(size);
    memset(space, (int)size, size);
    void *p = keep(malloc(14));
    if (size % 2)
        free(p);
    keep(space);
    return space[size / 2];
}

APART static int through_alloca(size_t size) {
    char *space = alloca(size * 3);
    keep(space);
    return with_alloca(size) + (int)hide(1);
}

APART static int with_pages(int depth) {
    volatile char space[40000];
    space[0] = (char)depth;
    keep(malloc(15));
    if (depth > 1)
        return with_pages(depth - 1) + space[0];
    return 0;
}

APART static void after(void) {
    keep(calloc(2, 10));
}

int main(void) {
    for (size_t i = 1; i <= 200; i++)
        through_alloca(i * 7 % 512 + (i % 2 ? 1 : 2) - (i * 7 % 512) % 2);
    with_pages(30);
    for (int i = 0; i < 30; i++)
        after();
    return 0;
}
