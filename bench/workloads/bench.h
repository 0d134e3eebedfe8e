// SPDX-License-Identifier: BSD-2-Clause
//
// What the workloads share: clocks, a random number generator with the same results everywhere, the
// process's resident memory, and a stack of a given depth. Header only: each workload is one source
// file, compiled by bench/build.py once per compiler and peer.
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BENCH_NOINLINE __attribute__((noinline))
// After a call: keeps the compiler from making a jump of it, so that the caller stays on the stack.
#define BENCH_NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

static inline double bench_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline double bench_wall_ns(void) {
    return bench_clock(CLOCK_MONOTONIC);
}

// splitmix64: one state word, any seed is good.
static inline uint64_t bench_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline void bench_die(const char *what) {
    perror(what);
    exit(1);
}

static inline void *bench_check(void *block) {
    if (!block)
        bench_die("bench: out of memory");
    return block;
}

// Resident memory in KiB, private and shared together. Reads without stdio: no heap operation.
static inline long bench_rss_kib(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, resident = 0;
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2)
        bench_die("/proc/self/statm");
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// ---- a stack of a given depth -----------------------------------------------------------------------

// Calls body(argument, amount) with `levels` frames between it and the caller. The frames are of four
// functions with frames of different size, so that not all return addresses are the same.
typedef void bench_body(void *argument, long amount);

#define BENCH_LEVEL(name, next, size)                                                                        \
    static BENCH_NOINLINE void name(int levels, bench_body *body, void *argument, long amount) {             \
        volatile char room[size];                                                                            \
        room[0] = (char)levels;                                                                              \
        if (levels > 1)                                                                                      \
            next(levels - 1, body, argument, amount);                                                        \
        else                                                                                                 \
            body(argument, amount);                                                                          \
        BENCH_NO_TAIL_CALL();                                                                                \
        (void)room[0];                                                                                       \
    }

static void bench_level_a(int levels, bench_body *body, void *argument, long amount);
BENCH_LEVEL(bench_level_d, bench_level_a, 96)
BENCH_LEVEL(bench_level_c, bench_level_d, 24)
BENCH_LEVEL(bench_level_b, bench_level_c, 48)
BENCH_LEVEL(bench_level_a, bench_level_b, 8)

static inline void bench_at_depth(int levels, bench_body *body, void *argument, long amount) {
    if (levels > 0)
        bench_level_a(levels, body, argument, amount);
    else
        body(argument, amount);
    BENCH_NO_TAIL_CALL();
}

#endif
