// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdlib.h>
        static void *volatile kept[64];
        int main(void) {
            for (size_t size = 8; size < 200; size += 8) {
                for (int i = 0; i < 64; i++)
                    kept[i] = malloc(size);
                for (int i = 0; i < 64; i++)
                    free(kept[i]);
            }
            return 0;
        }