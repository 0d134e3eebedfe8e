// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// 32 MiB of blocks that are freed, with a small one behind each MiB of them that stays; waits for the end of stdin.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR = 8192, BYTES = 4080, EACH = 256 };

static char *freed[NR];
static void *kept[NR / EACH];

__attribute__((noinline)) static void *pin(void) {
    return malloc(64);
}

int main(void) {
    for (int i = 0; i < NR; i++) {
        memset(freed[i] = malloc(BYTES), 1, BYTES);
        if (i % EACH == EACH - 1)
            kept[i / EACH] = pin();
    }
    for (int i = 0; i < NR; i++)
        free(freed[i]);
    puts("ready");
    fflush(stdout);
    return getchar() == 'x' && !kept[0];
}
