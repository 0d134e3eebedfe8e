// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// 32 MiB of blocks that are freed, 12 with an argument, with a small one behind each MiB of them that stays; waits for the
// end of stdin.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NR = 8192, NR_FEW = 3072, BYTES = 4080, EACH = 256 };

static char *freed[NR];
static void *kept[NR / EACH];

__attribute__((noinline)) static void *pin(void) {
    return malloc(64);
}

int main(int nr_args, char **args) {
    const int nr = nr_args > 1 ? NR_FEW : NR;
    for (int i = 0; i < nr; i++) {
        memset(freed[i] = malloc(BYTES), 1, BYTES);
        if (i % EACH == EACH - 1)
            kept[i / EACH] = pin();
    }
    for (int i = 0; i < nr; i++)
        free(freed[i]);
    puts("ready");
    fflush(stdout);
    return getchar() == 'x' && !kept[0] && args[0];
}
