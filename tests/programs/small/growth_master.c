// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static void *volatile kept;
int main(void) {
    kept = malloc(100);
    pid_t worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, 9);
        for (;;) {
            kept = malloc(1000);
            usleep(5000);
        }
    }
    usleep(100000);
    printf("%d\n", (int)worker);
    fflush(stdout);
    for (;;)
        pause();
}
