// SPDX-License-Identifier: BSD-2-Clause
// recording_then_idle PAIRS: so many events in each of two threads as fast as can be, which then do nothing until the end of the input.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *work(void *nr) {
    for (long i = 0; i < *(long *)nr; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return NULL;
}

int main(int argc, char **argv) {
    long nr = argc > 1 ? atol(argv[1]) : 0;
    pthread_t other;
    if (pthread_create(&other, NULL, work, &nr))
        return 1;
    work(&nr);
    return pthread_join(other, NULL);
}
