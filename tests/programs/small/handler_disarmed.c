// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// A thread allocates while a handler of signals maps memory, on an alternate stack that is above the thread's own and
// that the kernel disarms while the handler runs.

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { STACK_BYTES = 1 << 18, KEPT = 64, TURNS = 40000 };
static void *stack;

static void map_and_unmap(int signal) {
    (void)signal;
    void *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, 8192);
}

static void *work(void *unused) {
    stack_t alternate = {.ss_sp = stack, .ss_size = STACK_BYTES, .ss_flags = (int)SS_AUTODISARM};
    struct sigaction action = {.sa_handler = map_and_unmap, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (sigaltstack(&alternate, NULL) || sigaction(SIGALRM, &action, NULL) || pthread_sigmask(SIG_UNBLOCK, &set, NULL))
        exit(8);
    void *kept[KEPT] = {NULL};
    for (size_t i = 0; i < TURNS; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = malloc(16 + i * 37 % 500);
    }
    for (size_t i = 0; i < KEPT; i++)
        free(kept[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return unused;
}

int main(void) {
    struct itimerval often = {{0, 50}, {0, 50}};
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    // Reads by what is in this process; where they are not counted, none.
    unsigned long reads = 0;
    FILE *io = fopen("/proc/self/io", "r");
    if (io && fscanf(io, "%*s %*s %*s %*s syscr: %lu", &reads) == 1)
        printf("%lu\n", reads);
    return (char *)stack > (char *)thread ? 6 : 7;
}
