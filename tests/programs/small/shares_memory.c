// SPDX-License-Identifier: BSD-2-Clause
// A child that shares the memory (CLONE_VM) allocates, and the parent frees what it left; with an argument it executes it.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[1 << 20];
static void *kept[32];

static int child(void *program) {
    for (int i = 0; i < 1000; i++) {
        void *block = malloc(100 + i % 50);
        if (i < 32)
            kept[i] = block;
        else
            free(block);
    }
    if (program)
        execl(program, program, NULL);
    return 0;
}

int main(int argc, char **argv) {
    int status, pid = clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, argv[1]);
    waitpid(pid, &status, 0);
    for (int i = 0; i < 16; i++)
        free(kept[i]);
    return status != 0;
}
