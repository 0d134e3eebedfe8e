// SPDX-License-Identifier: BSD-2-Clause
// What the commands of docs/coming-from.md are run on: two blocks are lost, one is kept, many are freed at once. With an
// argument it then waits, for those that name a PID. -DCLEAN: nothing is lost.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void lose(size_t bytes) {
    char *volatile block = malloc(bytes);
    block[0] = 1;
#ifdef CLEAN
    free(block);
#endif
    block = NULL;
}

__attribute__((noinline)) static void churn(void) {
    for (int i = 0; i < 1000; i++) {
        char *volatile block = malloc(100);
        free(block);
    }
}

__attribute__((noinline)) static void wipe(void) {
    volatile char room[4096];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(int argc, char **argv) {
    kept = malloc(3000);
    lose(700);
    lose(77);
    churn();
    wipe();
    if (argc > 1) {
        puts("ready");
        fflush(stdout);
        for (;;) {
            churn();
            usleep(20000);
        }
    }
    return 0;
}
