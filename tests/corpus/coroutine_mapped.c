// SPDX-License-Identifier: BSD-2-Clause
// A coroutine whose stack is a mapping with a guard page, as libraries for coroutines make them.
#include "corpus.h"
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t context, caller;

static NOINLINE void body(void) {
    struct node *volatile local = make(40); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    swapcontext(&context, &caller);
    KEEP(local);
}

static void build(void) {
    char *stack = (char *)mmap(NULL, 69632, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, 4096, PROT_NONE);
    getcontext(&context);
    context.uc_stack.ss_sp = stack + 4096;
    context.uc_stack.ss_size = 65536;
    makecontext(&context, body, 0);
    swapcontext(&caller, &context);
}

int main(void) {
    play(build);
    park();
}
