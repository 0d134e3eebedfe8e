// SPDX-License-Identifier: BSD-2-Clause
// billion EVENTS: so many allocations and frees of mixed sizes by a few thousand sites, most blocks
// short-lived, for recordings that are larger than the memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { HELD = 1 << 16, DEPTH = 12 };

static void *held[HELD];
static uint64_t seed = 88172645463325252u;

static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
}

static void *left(unsigned depth, uint64_t path, size_t size);

__attribute__((noinline)) static void *right(unsigned depth, uint64_t path, size_t size) {
    void *block = !depth     ? malloc(size)
                  : path & 1 ? left(depth - 1, path >> 1, size)
                             : right(depth - 1, path >> 1, size);
    __asm__ volatile("" ::: "memory");
    return block;
}

__attribute__((noinline)) static void *left(unsigned depth, uint64_t path, size_t size) {
    void *block = !depth     ? malloc(size)
                  : path & 1 ? left(depth - 1, path >> 1, size)
                             : right(depth - 1, path >> 1, size);
    __asm__ volatile("" ::: "memory");
    return block;
}

int main(int argc, char **argv) {
    uint64_t pairs = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000) / 2;
    for (uint64_t i = 0; i < pairs; i++) {
        uint64_t x = next();
        // Of sixteen blocks one stays a while; the stack changes every 64 times.
        void **place = &held[x & 15 ? x >> 4 & 63 : x >> 4 & (HELD - 1)];
        free(*place);
        *place = right(DEPTH, (i >> 6) * 0x9e3779b9u >> 8, 16 + (x >> 24 & 7) * 24);
    }
    printf("%p\n", held[0]);
    return 0;
}
