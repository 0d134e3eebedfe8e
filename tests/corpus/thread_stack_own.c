// SPDX-License-Identifier: BSD-2-Clause
// A thread on a stack that the program allocated.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

static pthread_barrier_t ready;

static NOINLINE void *work(void *argument) {
    struct node *volatile local = make(40); // EXPECT: reachable
    scrub();
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return local;
}

int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack = NULL;
    if (posix_memalign(&stack, 4096, 256 << 10)) // EXPECT: reachable
        return 3;
    memset(stack, 0, 256 << 10);
    pthread_barrier_init(&ready, NULL, 2);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, 256 << 10);
    pthread_create(&thread, &attributes, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_barrier_wait(&ready);
    KEEP(stack);
    park();
    KEEP(stack);
}
