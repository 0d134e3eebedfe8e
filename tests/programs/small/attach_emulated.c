// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdio.h>
        #include <stdlib.h>
        int main(void) {
            puts("ready"); fflush(stdout); getchar();
            void *volatile block = malloc(10);
            free(block);
            return 7;
        }
