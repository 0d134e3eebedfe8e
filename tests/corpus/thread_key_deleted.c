// SPDX-License-Identifier: BSD-2-Clause
// Values of threads that ended without a destructor are gone; with one they are freed.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

static pthread_key_t plain, freed;

static NOINLINE void *work(void *argument) {
    pthread_setspecific(plain, make(40)); // EXPECT: lost
    pthread_setspecific(freed, make(48));
    return argument;
}

static void build(void) {
    pthread_t thread;
    pthread_key_create(&plain, NULL);
    pthread_key_create(&freed, free);
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_join(thread, NULL);
}

int main(void) {
    play(build);
    park();
}
