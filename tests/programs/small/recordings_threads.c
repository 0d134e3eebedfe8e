// SPDX-License-Identifier: BSD-2-Clause
// Four threads that hold 64 blocks each: the peak that their counters come to is the part that was written then. And a
// child that frees what it began with.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *arg) {
    void *held[64] = {0};
    for (int i = 0; i < 5000; i++) {
        int k = i % 64;
        free(held[k]);
        held[k] = malloc((size_t)(100 + i % 3000));
    }
    for (int i = 0; i < 64; i++)
        free(held[i]);
    return arg;
}

int main(void) {
    char *volatile before = malloc(1000);
    pthread_t threads[4];
    pid_t child = fork();
    if (!child) {
        char *volatile more = malloc(5000);
        free(before);
        free(more);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    free(before);
    return 0;
}
