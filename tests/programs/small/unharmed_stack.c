// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// How many bytes of its stack a signal handler has used that calls exec, of a program that is not there.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 18 };
static unsigned char alternate[BYTES];

static void handle(int signal) {
    (void)signal;
    char *arguments[] = {"none", NULL};
    execv("/nonexistent", arguments);
}

int main(void) {
    stack_t stack = {.ss_sp = alternate, .ss_size = BYTES};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1); // what is bound at the first call
    memset(alternate, 0x5c, BYTES);
    raise(SIGUSR1);
    size_t unused = 0;
    while (unused < BYTES && alternate[unused] == 0x5c)
        unused++;
    printf("%zu\n", BYTES - unused);
    return 0;
}
