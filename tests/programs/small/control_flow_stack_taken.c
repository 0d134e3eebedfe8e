// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *page;
static void *volatile kept;
__attribute__((noinline)) static void deep(int depth) {
    char room[3000];
    memset(room, depth, sizeof(room));
    if (depth == 8) page = (char *)((uintptr_t)__builtin_frame_address(0) & -sysconf(_SC_PAGESIZE));
    if (depth) { deep(depth - 1); kept = room; return; }
    size_t bytes = sysconf(_SC_PAGESIZE);
    if (mprotect(page, bytes, PROT_NONE)) exit(1);
    for (int i = 1; i <= 10; i++) { kept = malloc(i * 100); free(kept); }
    if (mprotect(page, bytes, PROT_READ | PROT_WRITE)) exit(1);
    kept = malloc(77);
}
int main(void) {
    kept = malloc(50);
    deep(10);
    puts("fine");
    return 0;
}
