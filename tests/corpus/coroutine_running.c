// SPDX-License-Identifier: BSD-2-Clause
// The scan comes while a coroutine runs: its stack is in use, and the caller's waits in its context.
#include "corpus.h"
#include <ucontext.h>

static ucontext_t context, caller;
static char *stack;

static NOINLINE void body(void) {
    struct node *volatile local = make(40); // EXPECT: reachable
    scrub();
    park();
    KEEP(local);
}

int main(void) {
    struct node *volatile of_main = make(48); // EXPECT: reachable
    stack = (char *)make(256 << 10);          // EXPECT: reachable
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = 256 << 10;
    makecontext(&context, body, 0);
    swapcontext(&caller, &context);
    KEEP(of_main);
}
