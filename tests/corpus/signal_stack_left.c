// SPDX-License-Identifier: BSD-2-Clause
// A handler on an alternate stack has called a coroutine, which runs on another stack: the handler's frames are
// in use, though no stack pointer leads there.
#include "corpus.h"
#include <signal.h>
#include <ucontext.h>

static ucontext_t context, caller;
static char of_handler[64 << 10], of_coroutine[256 << 10];

static void body(void) {
    scrub();
    park();
}

static void handler(int number) {
    struct node *volatile local = make(40); // EXPECT: reachable
    getcontext(&context);
    context.uc_stack.ss_sp = of_coroutine;
    context.uc_stack.ss_size = sizeof(of_coroutine);
    makecontext(&context, body, 0);
    swapcontext(&caller, &context);
    KEEP(local);
}

int main(void) {
    stack_t stack = {.ss_sp = of_handler, .ss_size = sizeof(of_handler)};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    struct node *volatile interrupted = make(48); // EXPECT: reachable
    sigfillset(&action.sa_mask);
    if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        return 3;
    KEEP(interrupted);
}
