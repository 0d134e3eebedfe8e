// SPDX-License-Identifier: BSD-2-Clause
//
// many SITES THREADS [FILE]: allocates at that many different stacks, and in that many threads that live at the
// same time; gives everything back but one block of 24 bytes for each stack and one of 40 for each thread. Waits for the end of FILE then.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[1 << 20];
static unsigned nr_kept;

static void allocate(unsigned path, int depth);

// Which of the two is on the stack at each depth is a bit of the path.
static __attribute__((noinline)) void zero(unsigned path, int depth) {
    allocate(path, depth);
    __asm__ volatile("");
}

static __attribute__((noinline)) void one(unsigned path, int depth) {
    allocate(path, depth);
    __asm__ volatile("");
}

static __attribute__((noinline)) void allocate(unsigned path, int depth) {
    if (depth == 0) {
        void *volatile gone = malloc(16);
        kept[nr_kept++] = malloc(24);
        free(gone);
    } else if (path & 1) {
        one(path >> 1, depth - 1);
    } else {
        zero(path >> 1, depth - 1);
    }
    __asm__ volatile("");
}

static pthread_barrier_t all_there;

static void *in_thread(void *ret_block) {
    for (int i = 0; i < 10; i++) {
        void *volatile gone = malloc(100);
        free(gone);
    }
    *(void *volatile *)ret_block = malloc(40);
    pthread_barrier_wait(&all_there);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned nr_sites = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    unsigned nr_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 2;
    int depth = 1;
    while (1u << depth < nr_sites)
        depth++;
    for (unsigned path = 0; path < nr_sites; path++)
        allocate(path, depth);
    pthread_t *threads = calloc(nr_threads, sizeof(*threads));
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all_there, NULL, nr_threads + 1);
    for (unsigned i = 0; i < nr_threads; i++)
        if (pthread_create(&threads[i], &small, in_thread, (void *)&kept[nr_kept++]))
            return 3;
    pthread_barrier_wait(&all_there);
    for (unsigned i = 0; i < nr_threads; i++)
        pthread_join(threads[i], NULL);
    printf("%u kept\n", nr_kept);
    int until = argc > 3 ? open(argv[3], O_RDONLY) : -1;
    char byte;
    while (until >= 0 && read(until, &byte, 1) > 0) {
    }
    return 0;
}
