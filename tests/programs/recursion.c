// SPDX-License-Identifier: BSD-2-Clause
//
// Recursion: a leak at each depth of 40, mutual recursion, and one leak 5,000 frames deep (which a
// depth limit may cut, but not lose).
// EXPECT:
// {
//   "may_cut": true,
//   "sites": [
//     {"in": "down", "via": "malloc", "allocations": 40, "live_blocks": 40, "live_bytes": 840, "nr_sites": 40},
//     {"in": "ping", "via": "calloc", "allocations": 1, "live_blocks": 1, "live_bytes": 66,
//      "path": ["ping", "pong", "ping", "pong", "ping", "main"]},
//     {"in": "bottom", "via": "malloc", "allocations": 3, "live_blocks": 3, "live_bytes": 99, "nr_sites": 1,
//      "path": ["bottom", "deep", "deep", "deep"]}
//   ]
// }
#include "program.h"

APART static int down(int depth) {
    keep(malloc(21));
    if (depth > 1)
        return down(depth - 1) + (int)hide(1);
    return 1;
}

static int pong(int n);

APART static int ping(int n) {
    if (n == 0) {
        keep(calloc(1, 66));
        return 0;
    }
    return pong(n - 1) + (int)hide(1);
}

APART static int pong(int n) {
    return ping(n - 1) + (int)hide(1);
}

APART static int bottom(void) {
    keep(malloc(33));
    return 1;
}

APART static int deep(int depth) {
    return (depth > 1 ? deep(depth - 1) : bottom()) + (int)hide(1);
}

int main(void) {
    CHECK(down(40) == 40);
    CHECK(ping(4) == 4);
    for (int i = 0; i < 3; i++)
        CHECK(deep(5000) == 5001);
    return 0;
}
