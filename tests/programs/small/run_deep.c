// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *kept;
__attribute__((noinline)) int down(int depth) {
    if (!depth) { kept = malloc(99); return 1; }
    return down(depth - 1) + (kept != NULL);
}
int main(void) { return down(20000) == 0; }
