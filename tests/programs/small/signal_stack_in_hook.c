// SPDX-License-Identifier: BSD-2-Clause
// Handlers that interrupt a hook of malloc tell the kernel of a signal stack, and leave by longjmp: else it is forgotten.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "another_stack.h"

#ifdef __x86_64__
#define PC_OF(context) (uintptr_t)(context)->uc_mcontext.gregs[REG_RIP]
#else
#define PC_OF(context) (uintptr_t)(context)->uc_mcontext.pc
#endif

enum { THREADS = 8, STACK_BYTES = 70001 };

static uintptr_t library_start, library_end;
static _Atomic int nr_told;
static pthread_barrier_t all_told;
// Hidden from the search for pointers until it is used.
static uintptr_t hidden[THREADS];
static __thread int self;
static __thread sigjmp_buf out;
static __thread _Atomic int is_ready, is_told;

static void handler(int number, siginfo_t *info, void *context) {
    uintptr_t at = PC_OF((ucontext_t *)context);
    if (!is_ready || is_told || at < library_start || at >= library_end)
        return;
    stack_t stack = {.ss_sp = (void *)~hidden[self], .ss_size = STACK_BYTES};
    is_told = sigaltstack(&stack, NULL) == 0;
    memset(&stack, 0, sizeof(stack));
    siglongjmp(out, 1);
}

static void *work(void *argument) {
    self = (int)(intptr_t)argument;
    deep(0, 1);
    if (sigsetjmp(out, 1) == 0) {
        is_ready = 1;
        for (unsigned i = 0;; i++)
            deep(i, 12);
    }
    deep(0, 1);
    nr_told++;
    pthread_barrier_wait(&all_told);
    pause();
    return NULL;
}

int main(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps)) {
        uintptr_t start, end;
        if (strstr(line, "libseep") && strstr(line, "r-xp") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            library_start = start, library_end = end;
    }
    fclose(maps);
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    pthread_barrier_init(&all_told, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        hidden[i] = ~(uintptr_t)malloc(STACK_BYTES);
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    }
    for (int i = 0; nr_told < THREADS; i++) {
        pthread_kill(threads[i % THREADS], SIGUSR1);
        usleep(100);
    }
    pthread_barrier_wait(&all_told);
    puts("ready");
    fflush(stdout);
    return pause();
}
