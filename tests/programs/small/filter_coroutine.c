// SPDX-License-Identifier: BSD-2-Clause
// Coroutines on stacks that are mapped after a filter of system calls: readable at once, or by mprotect above a guard
// page.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

enum { GUARD = 4096, STACK = 4 << 20 };

static ucontext_t here, back;
static void *volatile sink;

__attribute__((noinline)) static void made(void) {
    sink = malloc(100);
    free(sink);
}

__attribute__((noinline)) static void coroutine(void) {
    made();
    made();
}

static void run_on(char *stack) {
    getcontext(&here);
    here.uc_stack.ss_sp = stack;
    here.uc_stack.ss_size = STACK;
    here.uc_link = &back;
    makecontext(&here, coroutine, 0);
    swapcontext(&back, &here);
}

static char *map(size_t bytes, int protection) {
    return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {1, &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        return 1;
    for (int i = 0; i < 1000; i++) { // more than fit, unless unmapped stacks are forgotten
        char *stack = map(STACK, PROT_READ | PROT_WRITE);
        run_on(stack);
        munmap(stack, STACK);
    }
    char *guarded = map(GUARD + STACK, PROT_NONE);
    if (mprotect(guarded + GUARD, STACK, PROT_READ | PROT_WRITE) != 0)
        return 1;
    run_on(guarded + GUARD);
    return 0;
}
