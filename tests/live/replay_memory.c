// SPDX-License-Identifier: BSD-2-Clause
// 64 MiB in blocks of 20,000 bytes, each written; then every other one is freed.
#include <stdlib.h>
#include <string.h>

enum { NR = (64 << 20) / 20000 };
static void *blocks[NR];

int main(void) {
    for (int i = 0; i < NR; i++)
        memset(blocks[i] = malloc(20000), 1, 20000);
    for (int i = 0; i < NR; i += 2)
        free(blocks[i]);
    return 0;
}
