// SPDX-License-Identifier: BSD-2-Clause
//
// A stack of our own where the limit is small: same thread, other stack, by makecontext().
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "command/own_stack.h"

#define STACK_BYTES  ((size_t)8 << 20)
#define ENOUGH_BYTES ((rlim_t)2 << 20)

// makecontext() passes no pointers.
static struct {
    int (*run)(int argc, char **argv);
    int argc;
    char **argv;
    int status;
} call;

static void make_call(void) {
    call.status = call.run(call.argc, call.argv);
}

static bool is_small(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           limit.rlim_cur < ENOUGH_BYTES;
}

int seep_on_large_stack(int (*run)(int argc, char **argv), int argc, char **argv) {
    if (!is_small())
        return run(argc, argv);
    unsigned char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    static ucontext_t before, there;
    if (stack == MAP_FAILED || getcontext(&there) != 0)
        return run(argc, argv);
    // The lowest page stays out of reach: running over is a fault, not damage.
    (void)!mprotect(stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    call.run = run;
    call.argc = argc;
    call.argv = argv;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &before;
    makecontext(&there, make_call, 0);
    if (swapcontext(&before, &there) != 0)
        return run(argc, argv);
    munmap(stack, STACK_BYTES);
    return call.status;
}
