// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {
            char line[8];
            setvbuf(stdout, NULL, _IONBF, 0);
            for (int i = 0; i < 1000; i++)
                free(malloc(50));
            printf("%d\n", (int)getpid());
            return read(0, line, sizeof(line)) < 0;
        }