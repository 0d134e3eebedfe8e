// SPDX-License-Identifier: BSD-2-Clause
//
// Temporary: a block freed as the very next heap operation of its thread.
// EXPECT:
// {
//   "sites": [
//     {"in": "all_temporary", "via": "malloc", "allocations": 50, "frees": 50, "temporary": 50},
//     {"in": "none_temporary", "via": "malloc", "allocations": 100, "frees": 100, "temporary": 0},
//     {"in": "the_inner", "via": "malloc", "allocations": 40, "frees": 40, "temporary": 40},
//     {"in": "the_outer", "via": "calloc", "allocations": 40, "frees": 40, "temporary": 0}
//   ]
// }
#include "program.h"

APART static void all_temporary(void) {
    for (int i = 0; i < 50; i++)
        free(keep(malloc(60)));
}

APART static void none_temporary(void) {
    for (int i = 0; i < 50; i++) {
        void *p = keep(malloc(60)), *q = keep(malloc(70));
        free(p);
        free(q);
    }
}

APART static void the_inner(void) {
    free(keep(malloc(80)));
}

APART static void the_outer(void) {
    for (int i = 0; i < 40; i++) {
        void *p = keep(calloc(1, 90));
        the_inner();
        free(p);
    }
}

int main(void) {
    all_temporary();
    none_temporary();
    the_outer();
    return 0;
}
