// SPDX-License-Identifier: BSD-2-Clause
// A server that forks a child for each request, which allocates and ends at once; until its input ends.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void serve(void) {
    void *volatile block = malloc(1000);
    free(block);
}

int main(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 3) == 0) {
        if (fork() == 0) {
            serve();
            _exit(0);
        }
        serve();
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return 0;
}
