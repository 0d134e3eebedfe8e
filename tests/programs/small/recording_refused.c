// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks that are freed right after a realloc of them has failed.
#include <stdint.h>
#include <stdlib.h>

int main(void) {
    volatile size_t huge = PTRDIFF_MAX;
    for (int i = 0; i < 10; i++) {
        void *volatile block = malloc(100);
        if (realloc(block, huge) != NULL)
            return 1;
        free(block);
    }
    return 0;
}
