// SPDX-License-Identifier: BSD-2-Clause
//
// Every function of the malloc family: one leak each, and one block each that is freed.
// EXPECT:
// {
//   "sites": [
//     {"in": "by_malloc", "via": "malloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 11},
//     {"in": "by_calloc", "via": "calloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 36},
//     {"in": "by_realloc", "via": "realloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 13},
//     {"in": "by_reallocarray", "via": "reallocarray", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 70},
//     {"in": "by_posix_memalign", "via": "posix_memalign", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 15},
//     {"in": "by_aligned_alloc", "via": "aligned_alloc", "allocations": 2, "frees": 1, "live_blocks": 1,
//      "live_bytes": 64},
//     {"in": "by_memalign", "via": "memalign", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 17},
//     {"in": "by_valloc", "via": "valloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 18},
//     {"in": "by_pvalloc", "via": "pvalloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 19}
//   ]
// }
#include "program.h"
#include <malloc.h>

APART static void by_malloc(void) {
    free(keep(malloc(11)));
    keep(malloc(11));
}

APART static void by_calloc(void) {
    for (int i = 0; i < 2; i++) {
        char *p = keep(calloc(4, 9));
        for (int k = 0; k < 36; k++)
            CHECK(p[k] == 0);
        if (i == 0)
            free(p);
    }
}

APART static void by_realloc(void) {
    free(keep(realloc(null_pointer(), hide(13))));
    keep(realloc(null_pointer(), hide(13)));
}

APART static void by_reallocarray(void) {
    free(keep(reallocarray(null_pointer(), 7, 10)));
    keep(reallocarray(null_pointer(), 7, 10));
}

APART static void by_posix_memalign(void) {
    void *p = NULL;
    CHECK(posix_memalign(&p, 64, 15) == 0 && (uintptr_t)p % 64 == 0);
    free(p);
    CHECK(posix_memalign(&p, 4096, 15) == 0 && (uintptr_t)p % 4096 == 0);
    keep(p);
}

APART static void by_aligned_alloc(void) {
    free(keep(aligned_alloc(32, 64)));
    CHECK((uintptr_t)keep(aligned_alloc(64, 64)) % 64 == 0);
}

APART static void by_memalign(void) {
    free(keep(memalign(32, 17)));
    CHECK((uintptr_t)keep(memalign(8192, 17)) % 8192 == 0);
}

APART static void by_valloc(void) {
    free(keep(valloc(18)));
    CHECK((uintptr_t)keep(valloc(18)) % 4096 == 0);
}

APART static void by_pvalloc(void) {
    free(keep(pvalloc(19)));
    CHECK((uintptr_t)keep(pvalloc(19)) % 4096 == 0);
}

int main(void) {
    by_malloc();
    by_calloc();
    by_realloc();
    by_reallocarray();
    by_posix_memalign();
    by_aligned_alloc();
    by_memalign();
    by_valloc();
    by_pvalloc();
    free(NULL);
    return 0;
}
