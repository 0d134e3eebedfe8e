// SPDX-License-Identifier: BSD-2-Clause
// A thread frees all of its blocks and ends: glibc's cache of the thread then gives them back a second time.
#include <pthread.h>
#include <stdlib.h>

enum { NR = 7 };

static void *volatile blocks[NR];

static void *work(void *unused) {
    for (int i = 0; i < NR; i++)
        blocks[i] = malloc(100);
    for (int i = 0; i < NR; i++)
        free(blocks[i]);
    return unused;
}

int main(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0;
}
