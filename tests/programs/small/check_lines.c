// SPDX-License-Identifier: BSD-2-Clause
// Three places of one function leak: two by lines of their own, one by the line that calls a helper.
// clang-format off
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline))
#define USE(p) __asm__ volatile("" : "+r"(p))
NOINLINE static void *make(size_t bytes) { void *p = malloc(bytes); USE(p); return p; }
NOINLINE static void order(void) {
    void *p = malloc(300); USE(p);
    p = malloc(200); USE(p);
    p = make(50); USE(p);
    p = make(20); USE(p); p = NULL; USE(p);
}
NOINLINE static void wipe(void) { char room[8192]; memset(room, 0, sizeof(room)); __asm__ volatile("" :: "r"(room) : "memory"); }
int main(void) {
    for (int i = 0; i < 4; i++)
        order();
    wipe();
    return 0;
}
