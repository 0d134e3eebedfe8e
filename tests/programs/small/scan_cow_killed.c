// SPDX-License-Identifier: BSD-2-Clause
// Threads that work until the process is killed.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *work(void *unused) {
    for (;;) {
        void *volatile block = malloc(100);
        free(block);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    void *volatile large = malloc(16 << 20);
    memset(large, 1, 16 << 20);
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, work, NULL);
    for (;;)
        pause();
}
