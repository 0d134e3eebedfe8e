// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static char *stack;
static void *volatile kept;
static void *stand(void *nothing) {
    kept = malloc(100);
    munmap(stack, 4 << 20);
    puts("ready");
    fflush(stdout);
    __asm__ volatile("mov %0, %%rsp\n1: pause\n jmp 1b" ::"r"(stack + (1 << 20)));
    return nothing;
}
int main(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    stack = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, 8 << 20);
    pthread_create(&thread, &attributes, stand, NULL);
    pause();
}
