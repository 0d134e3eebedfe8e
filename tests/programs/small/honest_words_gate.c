// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    int end[2];
    char byte;
    pipe(end);
    if (fork() == 0) {
        void *volatile block = malloc(100);
        block = NULL;
        write(end[1], "x", 1);
        sleep(5);
    } else {
        read(end[0], &byte, 1);
    }
    return 0;
}
