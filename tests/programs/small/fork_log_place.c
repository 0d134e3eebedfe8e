// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void lose(void) {
    for (int i = 0; i < 200; i++) {
        char *volatile block = malloc(131357);
        block[0] = 1;
    }
}
__attribute__((noinline)) static void scrub(void) { volatile char room[16384]; memset((void *)room, 0, sizeof(room)); }
int main(void) {
    for (int i = 0; i < 10; i++)
        free(malloc(100));
    pid_t child = fork();
    if (child == 0) {
        lose();
        scrub();
        exit(3);
    }
    int status;
    return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3 ? 0 : 1;
}
