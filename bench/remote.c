// SPDX-License-Identifier: BSD-2-Clause
//
// For remote.py: a program with N sites under stacks of some 65 frames, no two of which have the same path.
// Each line of standard input is a number of sites that allocate once more, answered by "ok N" with all
// allocations so far; "spin MS" allocates and frees for that time, and says how often; "blocks N" allocates N
// blocks of one site; "threads N" starts N threads that allocate and free at all sites, until the end.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEEP  50
#define LEVEL 10 // of four ways each: 1,048,576 paths

static void *kept;
static unsigned long nr_allocations;
static unsigned nr_sites;
static _Thread_local int frees;

static void *leaf(unsigned which) {
    void **block = malloc(16 + (which & 63));
    if (frees) {
        free(block);
        return NULL;
    }
    *block = kept;
    kept = block;
    nr_allocations++;
    return block;
}

typedef void *way(unsigned left, unsigned which);
static way way0, way1, way2, way3;
static way *const ways[] = {way0, way1, way2, way3};

static inline void *go_on(unsigned left, unsigned which) {
    return left ? ways[which & 3](left - 1, which >> 2) : leaf(which);
}

// Four functions, so that a path is a number of digits 0 to 3.
__attribute__((noinline)) static void *way0(unsigned left, unsigned which) {
    void *volatile block = go_on(left, which);
    return block;
}

__attribute__((noinline)) static void *way1(unsigned left, unsigned which) {
    void *volatile block = go_on(left, which);
    return block;
}

__attribute__((noinline)) static void *way2(unsigned left, unsigned which) {
    void *volatile block = go_on(left, which);
    return block;
}

__attribute__((noinline)) static void *way3(unsigned left, unsigned which) {
    void *volatile block = go_on(left, which);
    return block;
}

__attribute__((noinline)) static void *deep(unsigned left, unsigned which) {
    void *volatile block = left ? deep(left - 1, which) : way0(LEVEL, which);
    return block;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static unsigned long spin(long ms) {
    int64_t until = now_ns() + ms * INT64_C(1000000);
    unsigned long nr = 0;
    while (now_ns() < until)
        for (unsigned i = 0; i < 100; i++, nr++)
            free(malloc(64 + i));
    return nr;
}

static void *work(void *unused) {
    frees = 1;
    for (unsigned i = 0;; i = (i + 1) % nr_sites) {
        deep(DEEP, i);
        if (i % 16 ==
            0) // in a second each thread is at all of 10,000 sites, and leaves the processors to others
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return unused;
}

int main(int argc, char **argv) {
    nr_sites = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    char line[64];
    long ms;
    for (unsigned i = 0; i < nr_sites; i++)
        deep(DEEP, i);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "spin %ld", &ms) == 1) {
            printf("ok %lu\n", spin(ms));
        } else if (sscanf(line, "blocks %ld", &ms) == 1) {
            for (long i = 0; i < ms; i++)
                leaf((unsigned)i * 2654435761u);
            printf("ok %lu\n", nr_allocations);
        } else if (sscanf(line, "threads %ld", &ms) == 1) {
            pthread_t thread;
            while (ms-- > 0)
                if (pthread_create(&thread, NULL, work, NULL) != 0)
                    return 1;
            printf("ok %lu\n", nr_allocations);
        } else {
            for (unsigned i = 0, nr = (unsigned)atoi(line); i < nr; i++)
                deep(DEEP, i * 7 % nr_sites);
            printf("ok %lu\n", nr_allocations);
        }
        fflush(stdout);
    }
    return 0;
}
