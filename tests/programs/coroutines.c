// SPDX-License-Identifier: BSD-2-Clause
//
// Eight coroutines (makecontext) take turns and allocate on stacks of their own, at changing depths;
// each stack ends where its coroutine began. Stacks are unmapped and mapped anew between rounds.
// EXPECT:
// {
//   "sites": [
//     {"in": "step", "via": "malloc", "allocations": 1600, "frees": 800, "live_blocks": 800, "live_bytes": 20000},
//     {"in": "scheduler", "via": "malloc", "allocations": 1600, "frees": 1600, "live_blocks": 0,
//      "path": ["scheduler", "main"], "nr_sites": 1}
//   ]
// }
#include "program.h"
#include <sys/mman.h>
#include <ucontext.h>

#define NR         8
#define STACK_SIZE 65536

static ucontext_t home, contexts[NR];

APART static void step(int turn) {
    void *p = keep(malloc(25));
    if (turn % 2)
        free(p);
}

APART static int sink(int depth, int turn) {
    if (depth == 0) {
        step(turn);
        return 0;
    }
    return sink(depth - 1, turn) + (int)hide(1);
}

APART static void body(int number) {
    for (int turn = 0;; turn++) {
        sink((turn * 3 + number) % 17, turn);
        swapcontext(&contexts[number], &home);
    }
}

APART static void scheduler(int turns) {
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < NR; i++) {
            void *p = keep(malloc(8));
            swapcontext(&home, &contexts[(i * 3 + turn) % NR]);
            free(p);
        }
    }
}

int main(void) {
    for (int round = 0; round < 4; round++) {
        void *stacks[NR];
        for (int i = 0; i < NR; i++) {
            stacks[i] = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            CHECK(stacks[i] != MAP_FAILED);
            getcontext(&contexts[i]);
            contexts[i].uc_stack.ss_sp = stacks[i];
            contexts[i].uc_stack.ss_size = STACK_SIZE;
            makecontext(&contexts[i], (void (*)(void))body, 1, i);
        }
        scheduler(50);
        for (int i = 0; i < NR; i++)
            munmap(stacks[i], STACK_SIZE);
    }
    return 0;
}
