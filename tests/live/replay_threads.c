// SPDX-License-Identifier: BSD-2-Clause
// Work for a replay: eight threads that hand blocks to one another, of all kinds of allocation, and a tail that only
// the first thread has. Its counts are the same in every run.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, SLOTS = 64, ROUNDS = 3000 };
static _Atomic(void *) slots[SLOTS];
static pthread_barrier_t all; // at work at the same time: no thread has the place of one that has ended

static void *make(uint64_t x) {
    void *block = NULL;
    switch (x % 5) {
    case 0:
        return calloc(1, 16 + x % 300);
    case 1:
        return posix_memalign(&block, 64, 64 + x % 1000) ? NULL : block;
    case 2:
        return realloc(malloc(8 + x % 50), 100 + x % 5000);
    default:
        return malloc(1 + x % 2000);
    }
}

static void *work(void *arg) {
    uint64_t x = (uintptr_t)arg * 0x9e3779b97f4a7c15u | 1;
    free(malloc(1)); // it has its place
    pthread_barrier_wait(&all);
    for (int i = 0; i < ROUNDS; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        free(atomic_exchange(&slots[(x >> 32) % SLOTS], make(x)));
    }
    pthread_barrier_wait(&all);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    if (pthread_barrier_init(&all, NULL, THREADS))
        return 1;
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)(i + 1)))
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    void *volatile last = malloc(100000); // kept
    memset(last, 1, 100000);
    return 0;
}
