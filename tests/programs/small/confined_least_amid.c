// SPDX-License-Identifier: BSD-2-Clause
// Allocates before and after a realloc.
#include <stdlib.h>

static void allocates(void) {
    for (int i = 0; i < 100; i++) {
        char *volatile block = malloc(50);
        *block = 1;
        free(block);
    }
}

int main(void) {
    allocates();
    char *volatile block = realloc(malloc(50), 500);
    allocates();
    return block == NULL;
}
