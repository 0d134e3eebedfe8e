// SPDX-License-Identifier: BSD-2-Clause
// Thread-local variables of a library that was loaded later: glibc allocates room for them in each thread.
// FLAGS: -pthread -ldl
// LIBRARY: -shared -fPIC
#include "corpus.h"
#ifdef CORPUS_LIBRARY
__thread struct node *large[500];

void fill(void);
void fill(void) {
    large[300] = make(40); // EXPECT: 4 reachable
    // VALGRIND: 2 possible, 2 reachable: the thread's control block points into its own dtv, which leads here
    large[300]->a = make(48); // EXPECT: 2 reachable
    // VALGRIND: 1 possible, 1 reachable: the thread's control block points into its own dtv, which leads here
}
#else
#include <dlfcn.h>
#include <pthread.h>

static pthread_barrier_t ready;
static void (*fill)(void);

static NOINLINE void *work(void *argument) {
    play(fill);
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return argument;
}

int main(int argc, char **argv) {
    pthread_t thread;
    void *library = dlopen(argv[1], RTLD_NOW); // EXPECT: any held
    if (!library)
        return 3;
    *(void **)&fill = dlsym(library, "fill");
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_barrier_wait(&ready);
    play(fill);
    park();
}
#endif
