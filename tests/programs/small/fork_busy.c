// SPDX-License-Identifier: BSD-2-Clause
//
// 20 children, one after the other, of a parent whose threads do nothing but allocate.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, CHILDREN = 20, BLOCKS = 20 };

static volatile int is_over;

static void *allocate(void *unused) {
    while (!is_over) {
        void *blocks[BLOCKS];
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(10 + i);
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    return unused;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            for (int j = 0; j < 100; j++)
                free(malloc(10));
            _exit(0);
        }
        wait(NULL);
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
