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
    struct node *returned = make(56);       // EXPECT: 1 reachable, 1 lost
    returned->a = make(64);                 // EXPECT: 1 reachable, 1 indirect
    KEEP(local);
    return returned;
}

static void build(void) {
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    pthread_join(thread, &value);
    result = (struct node *)value;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

int main(void) {
    play(build);
    park();
}
