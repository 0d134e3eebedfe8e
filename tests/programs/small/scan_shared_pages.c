// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { BYTES = 32 << 20, SMALL = 16 << 10, NR_SMALL = 2000 };
static char *volatile held;
static void *volatile gone;
static char *area;
static void small_areas(void) { // each a mapping of its own
    area = mmap(NULL, (size_t)2 * SMALL * NR_SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < NR_SMALL; i++) {
        mprotect(area + 2 * SMALL * i, SMALL, PROT_READ | PROT_WRITE);
        memset(area + 2 * SMALL * i, 1, SMALL);
    }
}
int main(int argc, char **argv) {
    if (argc > 1) {
        small_areas();
    } else {
        held = malloc(BYTES);
        memset(held, 1, BYTES);
    }
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    if (fork() == 0) {
        gone = malloc(1001);
        gone = NULL;
        for (size_t i = 0; area && i < NR_SMALL; i += 4)
            memset(area + 2 * SMALL * i, 2, SMALL); // shared no longer
        printf("%d\n", (int)getpid());
        fflush(stdout);
    }
    return read(ends[0], ends, 1) != 1; // the test kills both
}
