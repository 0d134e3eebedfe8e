// SPDX-License-Identifier: BSD-2-Clause
// Four threads allocate at once.
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, TIMES = 50000 };

static pthread_barrier_t start;

static void *work(void *argument) {
    pthread_barrier_wait(&start);
    for (int i = 0; i < TIMES; i++)
        free(malloc(32 + i % 64));
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
