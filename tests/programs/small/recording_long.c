// SPDX-License-Identifier: BSD-2-Clause
// Two threads and some places, more than two million events.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { HELD = 512, ROUNDS = 700000 };

__attribute__((noinline)) static void *small(uint64_t x) {
    return malloc(1 + x % 100);
}

__attribute__((noinline)) static void *large(uint64_t x) {
    return calloc(1, 100 + x % 3000);
}

__attribute__((noinline)) static void *resized(void *block, uint64_t x) {
    return realloc(block, 10 + x % 500);
}

static void *work(void *arg) {
    void *held[HELD] = {0};
    uint64_t x = (uintptr_t)arg * 0x9e3779b97f4a7c15u | 1;
    for (int i = 0; i < ROUNDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        void **place = &held[x % HELD];
        if (*place && x >> 60 == 0) {
            *place = resized(*place, x >> 20);
            continue;
        }
        free(*place);
        *place = x >> 50 & 7 ? small(x >> 20) : large(x >> 20);
        if (i == ROUNDS / 2) // a peak in the middle
            free(malloc(10 << 20));
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)2))
        return 1;
    work((void *)1);
    return pthread_join(thread, NULL);
}
