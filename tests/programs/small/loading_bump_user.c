// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
void *PREFIX_malloc(unsigned long);
void PREFIX_free(void *);
int NAME(void) {
    for (int i = 0; i < 10; i++) {
        char *volatile p = PREFIX_malloc(20);
        *p = 1;
        if (i % 2)
            PREFIX_free(p);
    }
    puts("done");
    return 0;
}
