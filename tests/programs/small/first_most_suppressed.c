// SPDX-License-Identifier: BSD-2-Clause
// Nine tenths of the memory that the program holds is to be suppressed.
#include <stdlib.h>

static void *held[2];

static void keep_most(void) {
    held[0] = malloc(9000);
}

static void keep_own(void) {
    held[1] = malloc(1000);
}

int main(void) {
    keep_most();
    keep_own();
    return 0;
}
