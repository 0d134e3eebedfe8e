// SPDX-License-Identifier: BSD-2-Clause
// Of 8 allocations 2, and of 2400 live bytes 1800, are of a function without call-frame information and frame pointer.
#include <stdlib.h>

#ifdef CUT
__attribute__((noinline)) void *without(size_t size) {
    void *volatile block = malloc(size);
    return block;
}
#else
void *without(size_t size);

static void *volatile kept[8];

int main(void) {
    for (int i = 0; i < 6; i++)
        kept[i] = malloc(100);
    kept[6] = without(900);
    kept[7] = without(900);
    return 0;
}
#endif
