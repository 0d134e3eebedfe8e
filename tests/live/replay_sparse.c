// SPDX-License-Identifier: BSD-2-Clause
// 96 MiB in blocks of 4 MiB, of which every fourth page is written; they live for a while.
#include <stdlib.h>
#include <unistd.h>

enum { NR = 24, BYTES = 4 << 20 };
static char *blocks[NR];

int main(void) {
    for (int i = 0; i < NR; i++) {
        blocks[i] = malloc(BYTES);
        for (int at = 0; at < BYTES; at += 4 * 4096)
            blocks[i][at] = 1;
    }
    usleep(600000);
    free(malloc(10));
    usleep(200000);
    return 0;
}
