// SPDX-License-Identifier: BSD-2-Clause
// Coroutines that wait: their stacks are ordinary blocks, reached through their context.
#include "corpus.h"
#include <ucontext.h>

struct coroutine {
    ucontext_t context, caller;
    char *stack;
};

struct coroutine *coroutine;

static NOINLINE void body(void) {
    struct node *volatile local = make(40); // EXPECT: reachable
    local->a = make(48);                    // EXPECT: reachable
    swapcontext(&coroutine->context, &coroutine->caller);
    KEEP(local);
}

static void build(void) {
    coroutine = (struct coroutine *)make(sizeof(*coroutine)); // EXPECT: reachable
    coroutine->stack = (char *)make(65536);                   // EXPECT: reachable
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = coroutine->stack;
    coroutine->context.uc_stack.ss_size = 65536;
    makecontext(&coroutine->context, body, 0);
    swapcontext(&coroutine->caller, &coroutine->context);
}

int main(void) {
    play(build);
    park();
}
