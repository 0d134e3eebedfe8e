// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// What malloc_usable_size() tells may be written to, and realloc() keeps it. Exits with 1 where it does not.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    for (size_t size = 1; size < 2000; size += 7) {
        unsigned char *block = malloc(size);
        size_t usable = malloc_usable_size(block);
        memset(block, 0xa5, usable);
        block = realloc(block, usable + 4096);
        for (size_t i = 0; i < usable; i++)
            if (block[i] != 0xa5)
                return 1;
        free(block);
    }
    return 0;
}
