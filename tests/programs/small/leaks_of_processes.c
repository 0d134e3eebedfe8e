// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *volatile kept;
int main(int argc, char **argv) {
    for (int i = 0; i < LOST; i++) {
        kept = malloc(100);
        kept = NULL;
    }
    kept = malloc(5000);
    return 0;
}
