// SPDX-License-Identifier: BSD-2-Clause
// A coroutine that will not be resumed: lost with all that its frames held.
#include "corpus.h"
#include <ucontext.h>

struct coroutine {
    ucontext_t context, caller;
    char *stack;
};

struct coroutine *running;

static NOINLINE void body(void) {
    struct node *volatile local = make(40); // EXPECT: indirect
    local->a = make(48);                    // EXPECT: indirect
    swapcontext(&running->context, &running->caller);
    KEEP(local);
}

static void build(void) {
    running = (struct coroutine *)make(sizeof(*running)); // EXPECT: lost
    running->stack = (char *)make(65536);                 // EXPECT: indirect
    getcontext(&running->context);
    running->context.uc_stack.ss_sp = running->stack;
    running->context.uc_stack.ss_size = 65536;
    makecontext(&running->context, body, 0);
    swapcontext(&running->caller, &running->context);
    running = NULL;
}

int main(void) {
    play(build);
    park();
}
