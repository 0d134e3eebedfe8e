// SPDX-License-Identifier: BSD-2-Clause
// replay_crowd THREADS: so many threads that live at the same time. Each makes blocks of its own, and takes those of
// the thread before it in the end.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { PAIRS = 100 };
static pthread_barrier_t all;
static void *volatile *last;

static void *work(void *arg) {
    uintptr_t i = (uintptr_t)arg;
    for (int k = 0; k < PAIRS; k++) {
        void *volatile block = malloc(16 + (size_t)k);
        free(block);
    }
    last[i + 1] = malloc(40);
    pthread_barrier_wait(&all);
    free(last[i]);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned nr = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    pthread_t *threads = calloc(nr, sizeof(*threads));
    last = calloc(nr + 1, sizeof(*last));
    pthread_attr_t small;
    if (!threads || !last || pthread_barrier_init(&all, NULL, nr) || pthread_attr_init(&small) ||
        pthread_attr_setstacksize(&small, 64 << 10))
        return 1;
    for (uintptr_t i = 0; i < nr; i++)
        if (pthread_create(&threads[i], &small, work, (void *)i))
            return 3;
    for (unsigned i = 0; i < nr; i++)
        pthread_join(threads[i], NULL);
    free(last[nr]);
    free((void *)last);
    free(threads);
    return 0;
}
