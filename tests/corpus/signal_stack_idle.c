// SPDX-License-Identifier: BSD-2-Clause
// Alternate stacks that wait for their signal: only the kernel has their addresses. One that was replaced or
// taken back, or whose thread has ended, is lost.
#include "corpus.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

sem_t installed;

static void set_stack(void *start) {
    stack_t stack = {.ss_sp = start, .ss_size = 64 << 10};
    if (sigaltstack(&stack, NULL))
        _exit(3);
}

static void install(void) {
    set_stack(make(64 << 10));    // EXPECT: lost
    void *block = make(65 << 10); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    set_stack((char *)block + 1024); // as behind a guard page
}

static void install_and_take_back(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    set_stack(make(64 << 10)); // EXPECT: lost
    if (sigaltstack(&none, NULL))
        _exit(3);
}

static void *wait_with_stack(void *unused) {
    set_stack(make(64 << 10)); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: maybe lost: it does not ask the kernel
    sem_post(&installed);
    for (;;)
        pause();
    return unused;
}

static void *end_with_stack(void *unused) {
    set_stack(make(64 << 10)); // EXPECT: lost
    return unused;
}

static void *take_back(void *unused) {
    install_and_take_back();
    return unused;
}

static pthread_t start(void *(*routine)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, routine, NULL)) // EXPECT: any reachable
        // VALGRIND: any possible: the thread's control block points into its own dtv
        _exit(3);
    return thread;
}

int main(void) {
    sem_init(&installed, 0, 0);
    play(install);
    pthread_join(start(take_back), NULL);
    pthread_join(start(end_with_stack), NULL);
    start(wait_with_stack);
    sem_wait(&installed);
    park();
}
