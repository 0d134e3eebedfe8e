// SPDX-License-Identifier: BSD-2-Clause
// An alternate stack that waits for its signal: only the kernel knows it. A program that keeps no
// pointer to it could not free it either.
#include "corpus.h"
#include <signal.h>

void *known;

static void install(void) {
    stack_t stack = {.ss_sp = make(64 << 10), .ss_size = 64 << 10}; // EXPECT: lost
    sigaltstack(&stack, NULL);
    known = make(64 << 10); // EXPECT: reachable
}

int main(void) {
    play(install);
    park();
}
