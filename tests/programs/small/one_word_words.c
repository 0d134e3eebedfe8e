// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "seep.h"
static __thread void *of_thread;
static __attribute__((noinline)) void fill(void **told) {
    for (int i = 1; i < 9; i++)
        told[i] = malloc(1000);
    *told = malloc(400);
    of_thread = malloc(300);
}
static void *work(void *told) {
    fill(told);
    dprintf(1, "%d %p %p\n", getpid(), of_thread, *(void **)told);
    sleep(100);
    return told;
}
int main(void) {
    pthread_t thread;
    void **told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    seep_root_add(told, 4096);
    pthread_create(&thread, NULL, work, told);
    return pthread_join(thread, NULL);
}
