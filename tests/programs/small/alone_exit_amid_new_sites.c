// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
static void *volatile kept;
static volatile long rounds;
// A stack for each number: each bit chooses one of two calls.
__attribute__((noinline)) static void descend(unsigned path, int depth) {
    if (!depth) { kept = malloc(24); return; }
    if (path & 1) { descend(path >> 1, depth - 1); __asm__ volatile("nop"); }
    else descend(path >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
}
static void *busy(void *unused) {
    for (unsigned path = 0;; path++) { descend(path, 18); rounds++; }
    return unused;
}
int main(void) {
    cpu_set_t one, all; // both threads share one processor, and this thread gets little of it, so that it leaves slowly
    pthread_t thread;
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (int i = 0; i < 300000; i++) kept = malloc(200); // so that the dump takes a while
    if (pthread_create(&thread, NULL, busy, NULL)) return 1;
    while (rounds < 100) sched_yield();
    setpriority(PRIO_PROCESS, 0, 5); // of this thread
    return 0;
}
