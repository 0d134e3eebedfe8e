// SPDX-License-Identifier: BSD-2-Clause
// 10,000 threads, 200 at once: each frees a block of the thread before, keeps one for the next, and moves one by realloc.
#include <pthread.h>
#include <stdlib.h>

enum { WAVES = 50, AT_ONCE = 200 };

static void *handed[AT_ONCE];
static pthread_barrier_t all;

static void *work(void *arg) {
    void **place = arg;
    void *own = realloc(malloc(40), 4000);
    pthread_barrier_wait(&all);
    free(*place);
    *place = malloc(24);
    free(own);
    return NULL;
}

int main(void) {
    pthread_t threads[AT_ONCE];
    pthread_attr_t small;
    if (pthread_attr_init(&small) || pthread_attr_setstacksize(&small, 64 << 10) ||
        pthread_barrier_init(&all, NULL, AT_ONCE))
        return 1;
    for (int wave = 0; wave < WAVES; wave++) {
        for (int i = 0; i < AT_ONCE; i++)
            if (pthread_create(&threads[i], &small, work, &handed[i]))
                return 1;
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    return 0;
}
