// SPDX-License-Identifier: BSD-2-Clause
//
// realloc in every direction: a success is one free (of the old site) and one allocation (of this one).
// EXPECT:
// {
//   "sites": [
//     {"in": "born", "via": "malloc", "allocations": 3, "allocated_bytes": 300, "frees": 3, "live_blocks": 0,
//      "live_bytes": 0},
//     {"in": "grow", "via": "realloc", "allocations": 10, "frees": 9, "live_blocks": 1, "live_bytes": 102400,
//      "size_min": 200, "size_max": 102400},
//     {"in": "shrink", "via": "realloc", "allocations": 1, "frees": 0, "live_blocks": 1, "live_bytes": 10},
//     {"in": "same", "via": "realloc", "allocations": 5, "frees": 5, "live_blocks": 0, "live_bytes": 0},
//     {"in": "big", "via": "malloc", "allocations": 1, "frees": 1, "live_blocks": 0, "live_bytes": 0},
//     {"in": "big", "via": "realloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 9000000}
//   ]
// }
#include "program.h"

APART static char *born(void) {
    char *p = keep(malloc(100));
    memset(p, 'a', 100);
    return p;
}

APART static void grow(char *p) {
    for (size_t n = 200; n <= 102400; n *= 2) {
        p = keep(realloc(p, n));
        CHECK(p != NULL && p[0] == 'a' && p[99] == 'a');
    }
}

APART static void shrink(char *p) {
    p = keep(realloc(p, 10));
    CHECK(p[9] == 'a');
}

// libc frees and returns NULL.
APART static void drop(char *p) {
    CHECK(keep(realloc(p, hide(0))) == NULL);
}

APART static void same(void) {
    char *p = null_pointer();
    for (int i = 0; i < 5; i++)
        p = keep(realloc(p, 55));
    free(p);
}

// Blocks with mappings of their own move by mremap.
APART static void big(void) {
    char *p = keep(malloc(1000000));
    p[999999] = 'z';
    p = keep(realloc(p, 5000000));
    CHECK(p[999999] == 'z');
    p = keep(realloc(p, 9000000));
    CHECK(p[999999] == 'z');
}

int main(void) {
    grow(born());
    shrink(born());
    drop(born());
    same();
    big();
    return 0;
}
