// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdlib.h>
        void *volatile kept;
        __attribute__((noinline)) int down(int depth) {
            if (depth == 0) { kept = malloc(99); return 1; }
            return down(depth - 1) + 1;
        }
        int main(void) { return down(900) + down(1500) == 0; }