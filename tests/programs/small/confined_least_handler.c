// SPDX-License-Identifier: BSD-2-Clause
// Children that allocate in a loop, until a signal handler limits their address space to 24 MiB, and a while longer.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 100, MIB = 1 << 20 };

static volatile sig_atomic_t is_limited;

static void limits(int signal) {
    (void)signal;
    const struct rlimit limit = {24 * MIB, 24 * MIB};
    is_limited = setrlimit(RLIMIT_AS, &limit) == 0;
}

int main(void) {
    int crashed = 0, status;
    for (int i = 0; i < CHILDREN; i++) {
        if (fork() == 0) {
            free(malloc(50));
            signal(SIGVTALRM, limits);
            const struct itimerval once = {.it_value = {.tv_usec = 2000}};
            setitimer(ITIMER_VIRTUAL, &once, NULL);
            while (!is_limited)
                free(malloc(50));
            for (int j = 0; j < 100; j++)
                free(malloc(50));
            _exit(0);
        }
        wait(&status);
        crashed += status != 0;
    }
    printf("%d crashed\n", crashed);
    return 0;
}
