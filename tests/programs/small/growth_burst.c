// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    for (;;) {
        usleep(300000);
        for (int i = 0; i < 120; i++)
            memset(malloc(1 << 20), 1, 1 << 20);
    }
}
