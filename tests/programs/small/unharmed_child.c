// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// A child of fork that has not allocated yet ("abort") calls abort() and leaves its handler by longjmp, or allocates
// ("allocate"). Exits with the child's status, 7, or with 1 where a signal ended it.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf place;
static void *volatile block;

static void handle(int signal) {
    (void)signal;
    siglongjmp(place, 1);
}

int main(int argc, char **argv) {
    int status;
    block = malloc(10);
    pid_t pid = fork();
    if (pid == 0) {
        if (argc > 1 && strcmp(argv[1], "allocate") == 0) {
            block = malloc(20);
        } else {
            signal(SIGABRT, handle);
            if (!sigsetjmp(place, 1))
                abort();
        }
        _exit(7);
    }
    waitpid(pid, &status, 0);
    free(block);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
