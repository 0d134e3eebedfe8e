// SPDX-License-Identifier: BSD-2-Clause
//
// longjmp out of deep frames, again and again and to different depths, between allocations whose
// stacks must be right: what was remembered of the left frames is of no use.
// EXPECT:
// {
//   "sites": [
//     {"in": "leaf", "via": "malloc", "allocations": 300, "frees": 0, "live_blocks": 300, "live_bytes": 4800},
//     {"in": "after_jump", "via": "malloc", "allocations": 300, "live_blocks": 300, "live_bytes": 2700,
//      "path": ["after_jump", "main"], "nr_sites": 1},
//     {"in": "from_handler", "via": "malloc", "allocations": 10, "live_blocks": 10, "live_bytes": 50}
//   ]
// }
#include "program.h"
#include <setjmp.h>
#include <signal.h>

static jmp_buf back;
static sigjmp_buf back_from_signal;

APART static void leaf(void) {
    keep(malloc(16));
    longjmp(back, 1);
}

APART static int dive(int depth) {
    volatile char space[48];
    space[0] = (char)depth;
    if (depth == 0)
        leaf();
    return dive(depth - 1) + space[0];
}

APART static void after_jump(void) {
    keep(malloc(9));
}

APART static void from_handler(int number) {
    keep(malloc(5));
    siglongjmp(back_from_signal, 1);
}

int main(void) {
    for (volatile int i = 0; i < 300; i++) {
        if (setjmp(back) == 0)
            dive(i % 60);
        after_jump();
    }
    signal(SIGUSR1, from_handler);
    for (volatile int i = 0; i < 10; i++) {
        if (sigsetjmp(back_from_signal, 1) == 0)
            raise(SIGUSR1);
    }
    return 0;
}
