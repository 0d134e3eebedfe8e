// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
static void *inited[600] = {(void *)1, (void *)2};
static void *zeroed[40000];
int main(void) {
    for (int i = 0; i < 3; i++) {
        inited[i * 100 + 1] = malloc(100);
        zeroed[i * 10000] = malloc(200);
    }
    return inited[1] == zeroed[5];
}
