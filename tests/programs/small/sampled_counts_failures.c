// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdint.h>
        #include <stdlib.h>
        static void *volatile kept;
        int main(void) {
            void *block = malloc(10);
            for (int i = 0; i < 100; i++) {
                kept = malloc(PTRDIFF_MAX);
                kept = calloc(PTRDIFF_MAX, 1);
                kept = calloc(SIZE_MAX, 3);
                kept = realloc(block, PTRDIFF_MAX);
                kept = realloc(NULL, PTRDIFF_MAX);
            }
            block = realloc(block, 20);
            free(block);
            free(NULL);
            return 0;
        }