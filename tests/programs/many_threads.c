// SPDX-License-Identifier: BSD-2-Clause
//
// 64 threads at once, each with a private and a shared part: the sums are exact.
// EXPECT:
// {
//   "sites": [
//     {"in": "worker", "via": "malloc", "allocations": 64000, "frees": 63360, "live_blocks": 640,
//      "live_bytes": 12800},
//     {"in": "swapper", "via": "calloc", "allocations": 64000, "frees": 64000, "live_blocks": 0}
//   ]
// }
#include "program.h"
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(void *) shared[32];

// Puts its block in a place and frees what another thread had put there.
APART static void swapper(unsigned at) {
    free(atomic_exchange(&shared[at % 32], keep(calloc(1, 40))));
}

APART static void *worker(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < 1000; i++) {
        void *p = keep(malloc(20));
        swapper((seed = seed * 1103515245 + 12345) >> 16);
        if (i % 100)
            free(p);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[64];
    for (uintptr_t i = 0; i < 64; i++)
        CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
    for (int i = 0; i < 64; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 32; i++)
        free(atomic_exchange(&shared[i], NULL));
    return 0;
}
