// SPDX-License-Identifier: BSD-2-Clause
// A signal comes in the middle of an allocator's realloc. Its handler leaves by siglongjmp ("jump"), or forks a child
// that allocates and ends.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf outside;
static int jumps;
static void *volatile kept[3];

static void handle(int number) {
    (void)number;
    if (jumps)
        siglongjmp(outside, 1);
    pid_t child = fork();
    if (child == 0) {
        kept[2] = malloc(5);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(int nr_args, char **args) {
    jumps = nr_args > 1 && strcmp(args[1], "jump") == 0;
    signal(SIGUSR1, handle);
    kept[0] = malloc(100);
    if (!sigsetjmp(outside, 1))
        kept[0] = realloc(kept[0], 4242);
    kept[1] = malloc(50);
    free(kept[0]);
    kept[2] = malloc(60);
    return 0;
}
