// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        static void **list;
        for (int i = 0; i < 200000; i++) {
            void **block = malloc(64);
            *block = list;
            list = block;
        }
        exit(0);
    }
    usleep(atoi(argv[1]));
    kill(child, SIGKILL);
    wait(NULL);
    return 0;
}
