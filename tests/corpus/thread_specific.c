// SPDX-License-Identifier: BSD-2-Clause
// pthread_setspecific: the first 32 keys lie in the thread's control block, the others in blocks of libc.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

static pthread_key_t keys[64];
static pthread_barrier_t ready;

static NOINLINE void set(void) {
    pthread_setspecific(keys[0], make(40));  // EXPECT: 2 reachable
    pthread_setspecific(keys[20], make(40)); // EXPECT: 2 reachable
    pthread_setspecific(keys[60], make(40)); // EXPECT: 4 reachable
    pthread_setspecific(keys[61], make(48)); // EXPECT: 2 lost
    pthread_setspecific(keys[61], NULL);
}

static NOINLINE void *work(void *argument) {
    play(set);
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    for (int i = 0; i < 64; i++)
        pthread_key_create(&keys[i], NULL);
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_barrier_wait(&ready);
    play(set);
    park();
}
