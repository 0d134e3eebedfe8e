// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Holds 100 bytes, and 10,000 more for a while; a shell that executes it has more than the 100.
#include <stdlib.h>

static void *volatile kept[2];

__attribute__((noinline)) static void hold(int index, size_t size) {
    kept[index] = malloc(size);
}

int main(void) {
    hold(0, 100);
    hold(1, 10000);
    free(kept[1]);
    return 0;
}
