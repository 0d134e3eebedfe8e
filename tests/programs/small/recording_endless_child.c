// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *volatile kept[30];
    int main(void) {
        for (int i = 0; i < 30; i++)
            kept[i] = malloc(100);
        if (fork() == 0) {
            kept[29] = malloc(10);
            for (int i = 0; i < 3; i++)
                free(kept[i]);
            return 0;
        }
        wait(NULL);
        for (int i = 0; getppid() != 1 && i < 20000; i++) {
            for (int j = 0; j < 20; j++)
                free(malloc(50));
            usleep(500);
        }
        return 0;
    }
