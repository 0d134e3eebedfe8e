// SPDX-License-Identifier: BSD-2-Clause
//
// Allocations in code that somebody else calls: qsort's comparison, handlers of signals that the
// program raises itself or that interrupt a system call or a bad access, on an alternate stack too,
// and a function called at exit. The stack goes on beyond the signal frame.
// EXPECT:
// {
//   "sites": [
//     {"in": "compare", "via": "malloc", "live_blocks": 1, "live_bytes": 77, "reaches": "sort_all"},
//     {"in": "on_raise", "via": "malloc", "allocations": 5, "frees": 3, "live_blocks": 2, "live_bytes": 46,
//      "reaches": "raise_all"},
//     {"in": "on_fault", "via": "calloc", "allocations": 4, "live_blocks": 4, "live_bytes": 120,
//      "path": ["on_fault", "touch", "fault_all", "main"]},
//     {"in": "on_alternate", "via": "malloc", "allocations": 2, "live_blocks": 2, "live_bytes": 88,
//      "reaches": "alternate_all"},
//     {"in": "at_the_end", "via": "malloc", "allocations": 1, "live_blocks": 1, "live_bytes": 500}
//   ]
// }
#include "program.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static int nr_compared, nr_raised;

APART static int compare(const void *a, const void *b) {
    if (nr_compared++ == 20)
        keep(malloc(77));
    return *(const int *)a - *(const int *)b;
}

APART static void sort_all(void) {
    int values[64];
    for (int i = 0; i < 64; i++)
        values[i] = (i * 37) % 64;
    qsort(values, 64, sizeof(values[0]), compare);
    CHECK(values[63] == 63);
}

APART static void on_raise(int number) {
    void *p = keep(malloc(23));
    if (nr_raised++ < 3)
        free(p);
}

APART static void raise_all(void) {
    struct sigaction action = {.sa_handler = on_raise};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 5; i++)
        raise(SIGUSR1);
}

static char *guarded;

// The access is repeated when the handler returns, and works then.
APART static void on_fault(int number, siginfo_t *info, void *context) {
    keep(calloc(3, 10));
    CHECK(info->si_addr == guarded);
    mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

APART static int touch(volatile char *p) {
    *p = 1;
    return *p;
}

APART static void fault_all(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 4; i++) {
        mprotect(guarded, 4096, PROT_NONE);
        CHECK(touch(guarded) == 1);
    }
}

APART static void on_alternate(int number) {
    keep(malloc(44));
}

APART static void alternate_all(void) {
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_BLOCK, &mask, &old);
    kill(getpid(), SIGUSR2);
    sigsuspend(&old);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

APART static void at_the_end(void) {
    keep(malloc(500));
}

int main(void) {
    atexit(at_the_end);
    sort_all();
    raise_all();
    fault_all();
    alternate_all();
    return 0;
}
