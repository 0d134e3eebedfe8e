// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdlib.h>
        #include "seep.h"
        static void *volatile kept[3];
        __attribute__((noinline)) static void first(void) { kept[0] = malloc(1000); }
        __attribute__((noinline)) static void second(void) { kept[1] = malloc(5000); }
        __attribute__((noinline)) static void third(void) { kept[2] = malloc(2000); }
        int main(void) {
            first();
            seep_mark("one");
            second();
            free(kept[1]);
            third();
            return 0;
        }