// SPDX-License-Identifier: BSD-2-Clause
// Each of malloc, realloc and calloc ten times; every block is freed.
#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 10; i++) {
        void *volatile block = realloc(malloc(10), 3000);
        free(block);
        block = calloc(3, 7);
        free(block);
    }
}
