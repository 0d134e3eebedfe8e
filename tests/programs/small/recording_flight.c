// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdint.h>
        #include <stdlib.h>
        __attribute__((noinline)) static void *early(void) { return malloc(12345); }
        int main(void) {
            early();
            void *volatile given = early();
            uint64_t x = 1;
            for (int i = 0; i < 400000; i++) {
                x ^= x << 13, x ^= x >> 7, x ^= x << 17;
                free(malloc(x % 5000));
            }
            free(given);
            malloc(77);
            return 0;
        }