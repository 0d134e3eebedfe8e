// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
int main() {
    for (int i = 0; i < 9; i++) {
        char *block = new char[10];
        asm volatile("" : "+r"(block));
        free(block);
    }
    return 3;
}
