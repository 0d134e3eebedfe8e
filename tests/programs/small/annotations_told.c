// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "seep.h"
static __attribute__((noinline)) void work(int tell) {
    void **kept = malloc(100);
    kept[0] = malloc(200);
    void **memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[3] = malloc(400);
    if (tell) {
        seep_ignore(kept);
        seep_root_add(memory, 4096);
        seep_root_add((void *)8, (size_t)-64); /* nonsense does no harm */
        seep_root_remove((void *)8, (size_t)-64);
    }
    memset(malloc(300), 0, 300);
}
static __attribute__((noinline)) void scrub(void) {
    volatile char stack[8192];
    for (unsigned i = 0; i < sizeof(stack); i++)
        stack[i] = 0;
}
int main(int argc, char **argv) {
    (void)argv;
    work(argc > 1);
    scrub();
    puts("there");
    fflush(stdout);
    return getchar() == EOF;
}
