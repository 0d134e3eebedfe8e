// SPDX-License-Identifier: BSD-2-Clause
// One line loses a block in each of 3,000 stacks, and one of two callers has three quarters of them. Another line loses
// fewer, but larger ones.
#include <stdlib.h>
#include <string.h>

static void *volatile last;

static void keep(size_t bytes) {
    last = malloc(bytes);
    memset(last, 1, bytes);
}

__attribute__((noinline)) static void descend(int depth) {
    keep(24);
    if (depth > 1)
        descend(depth - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void often(void) {
    descend(2250);
    __asm__ volatile("");
}

__attribute__((noinline)) static void seldom(void) {
    descend(750);
    __asm__ volatile("");
}

int main(void) {
    often();
    seldom();
    for (int i = 0; i < 100; i++)
        last = malloc(240);
    last = NULL;
    return 0;
}
