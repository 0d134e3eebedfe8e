// SPDX-License-Identifier: BSD-2-Clause
// Alternate stacks that wait for their signal: only the kernel has their addresses. One that was replaced or
// taken back, or whose thread has ended, is lost. What a handler left on such a stack holds nothing; what the
// program keeps beside the stack holds.
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
    set_stack(make(64 << 10));            // EXPECT: lost
    char *block = (char *)make(66 << 10); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    *(void **)block = make(56); // EXPECT: reachable
    // LSAN: indirect: it does not ask the kernel
    // VALGRIND: indirect: it does not ask the kernel
    *(void **)(block + (65 << 10)) = make(72); // EXPECT: reachable
    // LSAN: indirect: it does not ask the kernel
    // VALGRIND: indirect: it does not ask the kernel
    set_stack(block + 1024); // as behind a guard page
}

static void install_and_take_back(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    set_stack(make(64 << 10)); // EXPECT: lost
    if (sigaltstack(&none, NULL))
        _exit(3);
}

static void *wait_with_stack(void *unused) {
    set_stack(make(64 << 10)); // EXPECT: reachable
    // LSAN: maybe lost: it does not ask the kernel
    // VALGRIND: maybe lost: it does not ask the kernel
    sem_post(&installed);
    for (;;)
        pause();
    return unused;
}

static void leave_word(int number) {
    void *volatile frame[16];
    for (int i = 0; i < 16; i++)
        frame[i] = NULL;
    frame[8] = make(number == SIGUSR1 ? 40 : 48); // EXPECT: 2 lost
    // LSAN: 1 indirect, 1 held: it does not know these stacks
    KEEP(frame);
}

static void handle(int number) {
    struct sigaction action = {.sa_handler = leave_word, .sa_flags = SA_ONSTACK};
    if (sigaction(number, &action, NULL) || raise(number))
        _exit(3);
}

static void handle_in_block(void) {
    handle(SIGUSR1);
}

static void handle_in_data(void) {
    static char of_thread[64 << 10];
    set_stack(of_thread);
    handle(SIGUSR2);
}

static void *wait_behind_handler(void *unused) {
    play(handle_in_data);
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
    play(handle_in_block);
    pthread_join(start(take_back), NULL);
    pthread_join(start(end_with_stack), NULL);
    start(wait_behind_handler);
    sem_wait(&installed);
    start(wait_with_stack);
    sem_wait(&installed);
    park();
}
