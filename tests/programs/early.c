// SPDX-License-Identifier: BSD-2-Clause
//
// The first heap operation of the process comes from the constructor of a library (early_lib.c), before
// the constructors of what is preloaded; it is large, and what libc promises holds for it as for any other.
// EXPECT:
// {
//   "needs": ["early"],
//   "sites": [
//     {"in": "early_start", "via": "malloc", "allocations": 2, "frees": 1, "live_blocks": 1, "live_bytes": 50},
//     {"in": "early_start", "via": "realloc", "allocations": 1, "frees": 0, "live_blocks": 1,
//      "live_bytes": 9000000}
//   ]
// }
#include "program.h"
#include <malloc.h>

extern char *early_big, *early_small;

int main(void) {
    CHECK(early_big != NULL && early_big[0] == 'e' && early_big[7999999] == 'e');
    printf("%zu %zu\n", malloc_usable_size(early_big), malloc_usable_size(early_small));
    return 0;
}
