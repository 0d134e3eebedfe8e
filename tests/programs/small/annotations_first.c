// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include "seep.h"
void *volatile kept;
int main(void) {
    seep_mark("before all");
    kept = malloc(100);
    return 0;
}
