// SPDX-License-Identifier: BSD-2-Clause
// Half of the memory that the program holds is to be suppressed.
#include <stdlib.h>

static void *held[2];

static void keep_known(void) {
    held[0] = malloc(6000);
}

static void keep_own(void) {
    held[1] = malloc(6000);
}

int main(void) {
    keep_known();
    keep_own();
    return 0;
}
