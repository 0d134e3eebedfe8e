// SPDX-License-Identifier: BSD-2-Clause
// Waits for a line on its input, then makes N pairs of malloc and free as fast as it can, says "done" and waits for
// another line. Balanced: nothing is left of them.
#include <stdio.h>
#include <stdlib.h>

static void *volatile kept;

int main(int argc, char **argv) {
    long nr = argc > 1 ? atol(argv[1]) : 1;
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    if (getchar() == EOF)
        return 1;
    for (long i = 0; i < nr; i++) {
        kept = malloc(16 + (size_t)(i % 64));
        free(kept);
    }
    puts("done");
    getchar();
    return 0;
}
