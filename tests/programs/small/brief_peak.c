// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Holds 1 MiB all the time, and 14 MiB more for 10 ms in the middle of 400 ms; small blocks of one line come
// from two callers, and stay.
#include <stdlib.h>
#include <time.h>

static void *volatile kept;

static void rest(long ms) {
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void *take(size_t size) {
    kept = malloc(size);
    return kept;
}

__attribute__((noinline)) static void *brief(void) {
    kept = malloc(14 << 20);
    return kept;
}

__attribute__((noinline)) static void *left(void) {
    kept = take(1 << 20);
    return kept;
}

__attribute__((noinline)) static void *right(void) {
    kept = take(1 << 10);
    return kept;
}

int main(void) {
    left();
    rest(190);
    right();
    void *block = brief();
    rest(10);
    free(block);
    rest(200);
    return 0;
}
