// SPDX-License-Identifier: BSD-2-Clause
//
//   no-cfi NR main|thread
//
// Allocates NR times from stacks of many frames. Built without call-frame information and with frame pointers.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_KEPT 64

static int nr;

__attribute__((noinline)) static void *innermost(int i) {
    void *block = malloc(16 + (size_t)i % 100);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) static void *deeper(int i, int depth) {
    void *block = depth ? deeper(i, depth - 1) : innermost(i);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) static void *other_way(int i, int depth) {
    void *block = deeper(i, depth);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

static void *work(void *unused) {
    void *kept[NR_KEPT] = {NULL};
    for (int i = 0; i < nr; i++) {
        free(kept[i % NR_KEPT]);
        kept[i % NR_KEPT] = i % 2 ? deeper(i, 10 + i % 5) : other_way(i, 8 + i % 7);
    }
    return unused;
}

int main(int argc, char **argv) {
    nr = argc > 2 ? atoi(argv[1]) : 0;
    if (nr && strcmp(argv[2], "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    } else {
        work(NULL);
    }
    return 0;
}
