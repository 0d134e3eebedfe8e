// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// In a child of fork the first allocation is made by a signal handler. Prints how much of its stack that took.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 65536 };
static void *volatile block;

static void handle(int signal) {
    (void)signal;
    block = malloc(20);
}

int main(void) {
    unsigned char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory, .ss_size = BYTES};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    size_t unused = 0;
    memset(memory, 0xa7, BYTES);
    block = malloc(10);
    if (fork() == 0) {
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
        _exit(block ? 0 : 1);
    }
    wait(NULL);
    while (unused < BYTES && memory[unused] == 0xa7)
        unused++;
    printf("%zu\n", BYTES - unused);
    return 0;
}
