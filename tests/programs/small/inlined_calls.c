// SPDX-License-Identifier: BSD-2-Clause
// One block, by a function that is inlined into one that is inlined into main.
#include <stdlib.h>
void *volatile kept[2];
static inline __attribute__((always_inline)) void *inner(size_t size) {
    void *block = malloc(size);
    return kept[1] = block;
}
static inline __attribute__((always_inline)) void *middle(size_t size) {
    return inner(size + 1);
}
int main(void) {
    kept[0] = middle(100);
    return 0;
}
