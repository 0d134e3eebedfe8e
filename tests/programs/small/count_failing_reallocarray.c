// SPDX-License-Identifier: BSD-2-Clause
// reallocarray that fails: the block stays.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    void *block = malloc(100);
    for (int i = 0; i < 10; i++)
        if (reallocarray(block, SIZE_MAX / 4, 1))
            return 1;
    free(block);
    return 0;
}
