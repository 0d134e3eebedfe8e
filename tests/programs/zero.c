// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks of size zero are blocks.
// EXPECT:
// {
//   "sites": [
//     {"in": "nothing", "via": "malloc", "allocations": 10, "allocated_bytes": 0, "frees": 4, "live_blocks": 6,
//      "live_bytes": 0, "size_min": 0, "size_max": 0},
//     {"in": "none_of_many", "via": "calloc", "allocations": 3, "live_blocks": 3, "live_bytes": 0},
//     {"in": "no_bytes_aligned", "via": "posix_memalign", "allocations": 1, "live_blocks": 1, "live_bytes": 0},
//     {"in": "from_null", "via": "realloc", "allocations": 1, "live_blocks": 1, "live_bytes": 0},
//     {"in": "becomes_something", "via": "malloc", "allocations": 1, "frees": 1, "live_blocks": 0},
//     {"in": "becomes_something", "via": "realloc", "allocations": 1, "frees": 0, "live_blocks": 1, "live_bytes": 8}
//   ]
// }
#include "program.h"

APART static void nothing(void) {
    for (int i = 0; i < 10; i++) {
        void *p = keep(malloc(hide(0)));
        CHECK(p != NULL);
        if (i < 4)
            free(p);
    }
}

APART static void none_of_many(void) {
    keep(calloc(hide(0), 100));
    keep(calloc(hide(100), 0));
    keep(calloc(hide(0), 0));
}

APART static void no_bytes_aligned(void) {
    void *p;
    CHECK(posix_memalign(&p, 16, hide(0)) == 0);
    keep(p);
}

APART static void from_null(void) {
    CHECK(keep(realloc(null_pointer(), hide(0))) != NULL);
}

APART static void becomes_something(void) {
    keep(realloc(keep(malloc(hide(0))), 8));
}

int main(void) {
    nothing();
    none_of_many();
    no_bytes_aligned();
    from_null();
    becomes_something();
    return 0;
}
