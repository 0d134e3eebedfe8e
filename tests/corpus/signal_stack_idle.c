// SPDX-License-Identifier: BSD-2-Clause
// Alternate stacks that wait for their signal: only the kernel has their addresses. One that was replaced or
// taken back, or whose thread has ended, is lost. What a handler left on such a stack is a word of the stack's memory.
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

static char of_handler[64 << 10];

static void leave_word(int number) {
    void *volatile frame[16];
    for (int i = 0; i < 16; i++)
        frame[i] = NULL;
    frame[8] = make(40); // EXPECT: reachable
    // TRUTH: gone: libseep.so tells where an alternate stack begins, and not where it ends
    // VALGRIND: lost: it knows the stack from the system call
    KEEP(frame);
    (void)number;
}

static void *handle_signal(void *unused) {
    struct sigaction action = {.sa_handler = leave_word, .sa_flags = SA_ONSTACK};
    set_stack(of_handler);
    if (sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        _exit(3);
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
    pthread_join(start(handle_signal), NULL);
    start(wait_with_stack);
    sem_wait(&installed);
    park();
}
