// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Allocates on a stack that is another one for each path, so that a hook has more to do.
#include <stdlib.h>

static __attribute__((noinline)) void deep(unsigned path, int depth) {
    if (depth == 0)
        free(malloc(16));
    else if (path & 1)
        deep(path >> 1, depth - 1);
    else
        deep(path >> 1, depth - 1);
    __asm__ volatile("");
}
