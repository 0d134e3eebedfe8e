// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdlib.h>
        int main(void) {
            for (int i = 0; i < 100; i++)
                free(malloc(100000)); // temporary
            for (int i = 0; i < 100; i++) {
                void *block = malloc(100000), *none = malloc(0); // no point falls into nothing
                free(block);
                free(none);
            }
            void *none[100];
            for (int i = 0; i < 100; i++)
                none[i] = malloc(0);
            for (int i = 0; i < 100; i++) {
                void *block = malloc(100000);
                free(none[i]);
                free(block);
            }
            for (int i = 0; i < 100; i++) {
                void *block = malloc(100000), *second = realloc(malloc(0), 0);
                free(block);
                free(second);
            }
            return 0;
        }