// SPDX-License-Identifier: BSD-2-Clause
// A handler runs on an alternate stack of the program: that block is in use, and holds what its frames hold.
#include "corpus.h"
#include <signal.h>

static void handler(int number) {
    struct node *volatile of_handler = make(40); // EXPECT: reachable
    // VALGRIND: possible: only the stack pointer leads to such a stack, into its middle, and what lies there is no better
    park();
    KEEP(of_handler);
}

static void install(void) {
    stack_t stack = {.ss_sp = make(256 << 10), .ss_size = 256 << 10}; // EXPECT: reachable
    // VALGRIND: possible: only the stack pointer leads to such a stack, into its middle, and what lies there is no better
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

int main(void) {
    struct node *volatile interrupted = make(48); // EXPECT: reachable
    play(install);
    raise(SIGUSR1);
    KEEP(interrupted);
}
