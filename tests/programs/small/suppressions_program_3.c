// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (int i = 0; i < 60; i++) {
        char name[20];
        snprintf(name, sizeof(name), "VALUE%d", i % 20);
        if (setenv(name, i < 20 ? "first" : i < 40 ? "second one" : "the last one", 1)) return 1;
    }
    return 0;
}
