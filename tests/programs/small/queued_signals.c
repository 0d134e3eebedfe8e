// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Blocks that only values of queued signals hold, one each, in the order of the queue: its argument is their number.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int nr = argc > 1 ? atoi(argv[1]) : 0, i = 0;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    while (i < nr && sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_ptr = malloc(24)}) == 0)
        i++;
    printf("%d\n", i);
    fflush(stdout);
    getchar();
}
