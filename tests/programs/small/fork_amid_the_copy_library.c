// SPDX-License-Identifier: BSD-2-Clause
// A library that allocates.
#include <stdlib.h>

void *allocate(void) {
    void *volatile block = malloc(10);
    return block;
}
