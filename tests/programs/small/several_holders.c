// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *many[7], *some[3], *one;
void **few;
__attribute__((noinline)) static void *make(size_t size) { void *p = malloc(size); __asm__ volatile("" : "+r"(p)); return p; }
static void scrub(void) { volatile char room[4096]; for (int i = 0; i < 4096; i++) room[i] = 0; }
__attribute__((noinline)) static void fill(void) {
    for (int i = 0; i < 16; i++) {
        void *p = make(100);
        if (i < 7) many[i] = p;
        else if (i < 10) some[i - 7] = p;
        else if (i == 10) one = (char *)p + 8;
        else if (i == 11) { few = malloc(8); few[0] = p; }
        else { void **lost = make(8); lost[0] = p; }
    }
}
int main(void) { fill(); scrub(); return 0; }
