// SPDX-License-Identifier: BSD-2-Clause
// A process that shares this one's memory makes blocks, which this one frees.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NR = 1000, STACK = 1 << 18 };

static void *volatile blocks[NR];

static int makes(void *unused) {
    (void)unused;
    for (int i = 0; i < NR; i++)
        blocks[i] = malloc(300);
    return 0;
}

int main(void) {
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int status = -1;
    if (stack == MAP_FAILED || waitpid(clone(makes, stack + STACK, CLONE_VM | SIGCHLD, NULL), &status, 0) < 0)
        return 9;
    for (int i = 0; i < NR; i++)
        free(blocks[i]);
    return status != 0;
}
