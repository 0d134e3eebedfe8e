// SPDX-License-Identifier: BSD-2-Clause
// Keeps a block in memory that tcmalloc hands out beside malloc, and frees such memory at an address that was another
// block's before.
#include <gperftools/tcmalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void **box;

static __attribute__((noinline)) void work(void) {
    void *first = malloc(3000);
    free(first); // by free, as the other one
    void *again = tc_malloc(3000);
    printf("%d\n", first == again);
    free(again);
    box = tc_calloc(1, 4096);
    box[7] = malloc(1234);
}

int main(void) {
    work();
    return 0;
}
