// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
void *kept[10];
int main(void) {
    for (volatile int i = 0; i < 10; i++) {
        void **block = malloc(i ? 1000 : 10);
        *block = malloc(2000);
        kept[i] = block;
    }
    return 0;
}
