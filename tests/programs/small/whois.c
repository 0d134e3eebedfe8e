// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct cache { long n; void *items[8]; };
struct cache *cache;
char text[100];
static __attribute__((noinline)) void fill(void) {
    cache = calloc(1, sizeof(*cache));
    for (int i = 0; i < 3; i++)
        cache->items[i] = calloc(1, 100 + i);
    cache->items[4] = (char *)cache->items[2] + 7;
}
static __attribute__((noinline)) void wipe(void) { /* what is left of pointers below and in registers */
    volatile char room[8000];
    for (int i = 0; i < 8000; i++)
        room[i] = 0;
#ifdef __x86_64__
    __asm__ volatile("xor %%r8d,%%r8d; xor %%r9d,%%r9d; xor %%r10d,%%r10d; xor %%ecx,%%ecx; xor %%edx,%%edx;"
                     "xor %%esi,%%esi; xor %%edi,%%edi" ::: "r8", "r9", "r10", "rcx", "rdx", "rsi", "rdi");
#endif
}
int main(void);
static __attribute__((noinline)) void tell(char *freed, int *local) {
    dprintf(1, "%d %p %p %p %p %p %p\n", getpid(), (void *)cache, cache->items[2], freed + 600,
            (void *)text, (void *)local, (void *)main);
}
int main(void) {
    int local;
    fill();
    void *freed = malloc(5000);
    void *wall = malloc(30);
    tell(freed, &local);
    free(freed);
    freed = NULL;
    wipe();
    write(1, "ready\n", 6);
    for (;;)
        pause();
    return wall != NULL;
}
