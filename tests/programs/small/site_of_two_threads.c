// SPDX-License-Identifier: BSD-2-Clause
// Two threads that live at the same time allocate at one place: 2 * 50 blocks of 100 bytes, which are kept.
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t together;
static void *volatile kept[2][50];

static void *run(void *blocks) {
    pthread_barrier_wait(&together);
    for (int i = 0; i < 50; i++)
        ((void *volatile *)blocks)[i] = malloc(100);
    pthread_barrier_wait(&together);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)kept[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
