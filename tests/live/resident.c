// SPDX-License-Identifier: BSD-2-Clause
// Holds memory of every kind, says so on stdout, and waits for the end of stdin.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *deep(void *ready) {
    volatile char stack[1 << 20];
    for (size_t i = 0; i < sizeof(stack); i += 1024)
        stack[i] = 1;
    void *block = malloc(10); // so that seep knows the thread
    pthread_barrier_wait(ready);
    pause();
    free(block);
    return (void *)(size_t)stack[0];
}

int main(void) {
    enum { MIB = 1 << 20, NR = 40000 };
    pthread_t thread;
    pthread_barrier_t ready;
    static char *blocks[NR];
    pthread_barrier_init(&ready, NULL, 2);
    for (int i = 0; i < NR; i++) // 4 MB of blocks, with 12 bytes of rounding each
        memset(blocks[i] = malloc(100), 1, 100);
    for (int i = 0; i < NR; i += 2) // half of them free again
        free(blocks[i]);
    char *touched = malloc(8 * MIB);
    memset(touched, 1, 2 * MIB);
    char *mapped = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(mapped, 1, 3 * MIB);
    pthread_create(&thread, NULL, deep, &ready);
    pthread_barrier_wait(&ready);
    puts("ready");
    fflush(stdout);
    char end;
    return read(0, &end, 1) < 0 || touched[0] != mapped[0];
}
