// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *big;
static void *map(void) { return mmap(0, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void __attribute__((noinline)) hold(void) {
    void **before = map();
    before[1] = malloc(777);
    big = malloc(300000);
    void **behind = map();
    behind[1] = malloc(778);
}
int main() { hold(); volatile char b[5000]; memset((void *)b, 0, 5000); return b[7]; }
