// SPDX-License-Identifier: BSD-2-Clause
// Threads at work: what their stacks, their arguments and their thread-local variables hold.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

enum { NR = 4 };

static pthread_barrier_t ready;
__thread struct node *of_thread;

static NOINLINE void forget(void) {
    KEEP(make(72)); // EXPECT: 4 lost
}

static NOINLINE void *work(void *argument) {
    play(forget);
    struct node *volatile local = make(40); // EXPECT: 4 reachable
    local->a = make(48);                    // EXPECT: 4 reachable
    of_thread = make(56);                   // EXPECT: 4 reachable
    scrub();
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    KEEP(argument);
    return local;
}

int main(void) {
    pthread_barrier_init(&ready, NULL, NR + 1);
    for (int i = 0; i < NR; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, make(64)); // EXPECT: 8 reachable
        // LSAN: 4 lost, 4 held: it hands the argument over itself, and once the thread runs no pointer to it is left
        // VALGRIND: 4 reachable, 4 possible: the thread's control block points into its own dtv
    }
    pthread_barrier_wait(&ready);
    park();
}
