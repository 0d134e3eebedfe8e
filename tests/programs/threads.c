// SPDX-License-Identifier: BSD-2-Clause
//
// Threads: each of 8 leaks its number of blocks; blocks made by one thread are freed by another;
// blocks change size in another thread than the one that made them.
// EXPECT:
// {
//   "sites": [
//     {"in": "leaker", "via": "malloc", "allocations": 36, "live_blocks": 36, "live_bytes": 1800},
//     {"in": "producer", "via": "malloc", "allocations": 40000, "frees": 39900, "live_blocks": 100,
//      "live_bytes": 4800},
//     {"in": "consumer", "via": "realloc", "allocations": 20000, "frees": 20000, "live_blocks": 0}
//   ]
// }
#include "program.h"
#include <pthread.h>

#define PAIRS  4
#define BLOCKS 10000
#define RING   256

static struct ring {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *slots[RING];
    unsigned head, tail;
} rings[PAIRS];

static void put(struct ring *ring, void *p) {
    pthread_mutex_lock(&ring->lock);
    while (ring->head - ring->tail == RING)
        pthread_cond_wait(&ring->changed, &ring->lock);
    ring->slots[ring->head++ % RING] = p;
    pthread_cond_signal(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
}

static void *take(struct ring *ring) {
    pthread_mutex_lock(&ring->lock);
    while (ring->head == ring->tail)
        pthread_cond_wait(&ring->changed, &ring->lock);
    void *p = ring->slots[ring->tail++ % RING];
    pthread_cond_signal(&ring->changed);
    pthread_mutex_unlock(&ring->lock);
    return p;
}

APART static void *leaker(void *arg) {
    for (size_t i = 0; i < (size_t)(uintptr_t)arg; i++)
        keep(malloc(50));
    return NULL;
}

APART static void *producer(void *arg) {
    for (int i = 0; i < BLOCKS; i++)
        put(arg, keep(malloc(48)));
    return NULL;
}

// Frees every other block as it is, the others after a change of size; forgets the last 25.
APART static void *consumer(void *arg) {
    for (int i = 0; i < BLOCKS; i++) {
        void *p = take(arg);
        if (i % 2)
            p = keep(realloc(p, 200));
        if (i < BLOCKS - 50 || i % 2)
            free(p);
    }
    return NULL;
}

APART static void run_leakers(void) {
    pthread_t threads[8];
    for (uintptr_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, leaker, (void *)(i + 1)) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

APART static void run_pairs(void) {
    pthread_t threads[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pthread_mutex_init(&rings[i].lock, NULL);
        pthread_cond_init(&rings[i].changed, NULL);
        CHECK(pthread_create(&threads[2 * i], NULL, producer, &rings[i]) == 0);
        CHECK(pthread_create(&threads[2 * i + 1], NULL, consumer, &rings[i]) == 0);
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        pthread_join(threads[i], NULL);
}

int main(void) {
    run_leakers();
    run_pairs();
    return 0;
}
