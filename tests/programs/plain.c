// SPDX-License-Identifier: BSD-2-Clause
//
// Plain leaks: one function and line each, several callers of one function, blocks that are freed.
// EXPECT:
// {
//   "sites": [
//     {"in": "leak_once", "via": "malloc", "allocations": 1, "frees": 0, "live_blocks": 1, "live_bytes": 100,
//      "size_min": 100, "size_max": 100, "path": ["leak_once", "main"], "line": "once"},
//     {"in": "leak_ten", "via": "malloc", "allocations": 10, "allocated_bytes": 550, "live_blocks": 10,
//      "live_bytes": 550, "size_min": 10, "size_max": 100, "temporary": 0},
//     {"in": "leak_half", "via": "malloc", "allocations": 100, "allocated_bytes": 3200, "frees": 50,
//      "live_blocks": 50, "live_bytes": 1600},
//     {"in": "helper", "via": "calloc", "path": ["helper", "by_left", "main"], "live_blocks": 2,
//      "live_bytes": 14},
//     {"in": "helper", "via": "calloc", "path": ["helper", "by_right", "main"], "live_blocks": 1,
//      "live_bytes": 9},
//     {"in": "clean", "allocations": 20, "frees": 20, "live_blocks": 0, "live_bytes": 0}
//   ]
// }
#include "program.h"

static void *volatile held[100];

APART static void leak_once(void) {
    keep(malloc(100)); // LINE: once
}

APART static void leak_ten(void) {
    for (size_t i = 1; i <= 10; i++)
        keep(malloc(i * 10));
}

APART static void leak_half(void) {
    for (int i = 0; i < 100; i++)
        held[i] = malloc(32);
    for (int i = 0; i < 100; i += 2)
        free(held[i]);
}

APART static void helper(size_t n) {
    keep(calloc(n, 1));
}

APART static void by_left(void) {
    helper(7);
    helper(7);
}

APART static void by_right(void) {
    helper(9);
}

APART static void clean(void) {
    for (int i = 0; i < 20; i++)
        held[i] = malloc(1000);
    for (int i = 19; i >= 0; i--)
        free(held[i]);
}

int main(void) {
    leak_once();
    leak_ten();
    leak_half();
    by_left();
    by_right();
    clean();
    return 0;
}
