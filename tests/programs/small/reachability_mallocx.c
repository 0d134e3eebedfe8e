// SPDX-License-Identifier: BSD-2-Clause
// Keeps a block in memory that jemalloc hands out beside malloc, and loses another, to which jemalloc may point itself.
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void **box;

static __attribute__((noinline)) void work(void) {
    box = mallocx(4096, MALLOCX_ZERO);
    box[7] = malloc(1234);
    memset(malloc(77), 0, 77);
}

static __attribute__((noinline)) void scrub(void) {
    volatile char stack[65536];
    memset((char *)stack, 0, sizeof(stack));
}

int main(void) {
    work();
    scrub();
    puts("ready");
    fflush(stdout);
    return pause();
}
