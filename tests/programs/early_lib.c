// SPDX-License-Identifier: BSD-2-Clause
//
// The library of early.c.
#include "program.h"

extern char *early_big, *early_small;
char *early_big, *early_small;

__attribute__((constructor)) APART static void early_start(void) {
    early_big = keep(malloc(8000000));
    early_small = keep(malloc(50));
    CHECK(early_small != NULL && early_big != NULL);
    memset(early_big, 'e', 8000000);
    early_big = keep(realloc(early_big, 9000000));
    CHECK(early_big != NULL);
}
