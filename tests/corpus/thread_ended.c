// SPDX-License-Identifier: BSD-2-Clause
// Threads that ended: their stacks and thread-local variables hold nothing any more, their results do.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

struct node *result;
__thread struct node *of_thread;

static NOINLINE void *work(void *argument) {
    struct node *volatile local = make(40); // EXPECT: 2 lost
    of_thread = make(48);                   // EXPECT: 2 lost
    // VALGRIND: 1 lost, 1 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    struct node *returned = make(56); // EXPECT: 1 reachable, 1 lost
    // VALGRIND: 2 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    returned->a = make(64); // EXPECT: 1 reachable, 1 indirect
    // VALGRIND: 2 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    KEEP(local);
    return returned;
}

static void build(void) {
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_join(thread, &value);
    result = (struct node *)value;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

int main(void) {
    play(build);
    park();
}
