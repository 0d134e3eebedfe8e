// SPDX-License-Identifier: BSD-2-Clause
// A forked child makes a child that has its memory and allocates first: by vfork, or by clone, and both at once.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(16)));
static void *volatile of_child, *volatile kept;
static volatile int begun;

static int allocate(void *unused) {
    begun = 1;
    of_child = malloc(4005);
    return of_child ? 0 : 1;
}

int main(int argc, char **argv) {
    int status = 0;
    if (fork()) {
        wait(&status);
        return status != 0;
    }
    pid_t pid = argc > 1 ? clone(allocate, stack + sizeof(stack), SIGCHLD | CLONE_VM, NULL) : vfork();
    if (pid == 0)
        _exit(allocate(NULL));
    while (!begun)
        sched_yield();
    kept = malloc(3005);
    waitpid(pid, &status, 0);
    free(of_child);
    exit(status != 0);
}
