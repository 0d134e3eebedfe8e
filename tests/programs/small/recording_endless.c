// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

    #include <stdlib.h>
    #include <unistd.h>
    __attribute__((noinline)) static void *keep(void) { return malloc(100); }
    int main(void) {
        for (int i = 0; getppid() != 1 && i < 20000; i++) {
            for (int j = 0; j < 20; j++)
                free(malloc(50));
            keep();
            usleep(500);
        }
        return 0;
    }