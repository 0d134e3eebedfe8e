// SPDX-License-Identifier: BSD-2-Clause
// Ten blocks, a mark, a block of a thread, a forked child that frees the first one and leaves five, and so many events
// that a flight recorder drops all of that.

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seep.h>

static void *volatile keep;

static void *work(void *unused) {
    keep = malloc(333);
    return unused;
}

int main(void) {
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = malloc(100 + i);
    seep_mark("half");
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        for (int i = 0; i < 5; i++)
            keep = malloc(1000 + i);
        free(blocks[0]);
        _exit(0);
    }
    wait(NULL);
    keep = NULL;
    for (int i = 0; i < 1000000; i++)
        free(malloc(10));
    keep = malloc(4999);
    keep = malloc(5000);
    return 0;
}
