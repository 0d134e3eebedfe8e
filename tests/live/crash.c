// SPDX-License-Identifier: BSD-2-Clause
// Dies in the way its argument says, with blocks of known classes. Sizes tell them apart:
//   1000..1004 lost, 2000..2004 indirectly lost, 3000 possibly lost,
//   4000 held by a global, 4016 by a thread-local variable, 4032 by the stack of a second thread,
//   4048 by the block of 4000.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct node {
    struct node *next;
};

struct node *global;
static char *volatile middle;
static _Thread_local char *volatile of_thread;
static pthread_barrier_t ready;

static NOINLINE void lose(void) {
    for (size_t i = 0; i < 5; i++) {
        struct node *lost = malloc(1000 + i);
        lost->next = malloc(2000 + i);
        __asm__ volatile("" ::"r"(lost) : "memory"); // or the compiler leaves both out
    }
}

static NOINLINE void hold(void) {
    middle = (char *)malloc(3000) + 100;
    global = malloc(4000);
    global->next = malloc(4048);
    of_thread = malloc(4016);
}

// What was on the stack and in registers is gone afterwards.
static NOINLINE int wipe(int depth) {
    volatile char frame[2048];
    memset((char *)frame, 0, sizeof(frame));
    return depth ? wipe(depth - 1) + frame[depth] : frame[0];
}

static void *second(void *argument) {
    char *volatile kept = malloc(4032);
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return kept;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "wait";
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, second, NULL);
    pthread_barrier_wait(&ready);
    lose();
    hold();
    wipe(20);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    static const char word[] = "ready\n"; // not by stdio, whose buffer would be a block
    if (write(1, word, sizeof(word) - 1) < 0)
        return 1;
    for (;;)
        pause();
}
