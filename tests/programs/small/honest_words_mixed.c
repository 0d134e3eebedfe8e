// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *kept[9];
int main(void) {
    for (int i = 0; i < 10; i++) {
        void *volatile block = malloc(100);
        if (i < 9)
            kept[i] = block;
        block = NULL;
    }
    return 0;
}
