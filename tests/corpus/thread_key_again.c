// SPDX-License-Identifier: BSD-2-Clause
// A destructor of a key sets the key again until the C library gives up: the last value is lost.
// FLAGS: -pthread
#include "corpus.h"
#include <limits.h>
#include <pthread.h>

static pthread_key_t key;
static int nr_calls;

static NOINLINE void again(void *value) {
    nr_calls++;
    free(value);
    pthread_setspecific(key, make(40 + (size_t)nr_calls)); // EXPECT: lost
}

static NOINLINE void *work(void *argument) {
    pthread_setspecific(key, make(40));
    return NULL;
}

static void build(void) {
    pthread_t thread;
    pthread_key_create(&key, again);
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_join(thread, NULL);
    if (nr_calls != PTHREAD_DESTRUCTOR_ITERATIONS)
        _exit(3);
}

int main(void) {
    play(build);
    park();
}
