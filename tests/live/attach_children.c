// SPDX-License-Identifier: BSD-2-Clause
// A process with two blocks forks a child, which frees one of its copies and makes ten of its own, long
// after its probes must be in place.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void keep(void) {
    kept = malloc(1000);
}

__attribute__((noinline)) static void *hand_over(void) {
    void *block = malloc(55);
    kept = block;
    return block;
}

__attribute__((noinline)) static void child_keeps(void) {
    kept = malloc(77);
}

int main(void) {
    keep();
    void *block = hand_over();
    pid_t child = fork();
    if (child == 0) {
        sleep(2);
        free(block);
        for (volatile int i = 0; i < 10; i++)
            child_keeps();
        sleep(1); // reports are made of what has come by then
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
