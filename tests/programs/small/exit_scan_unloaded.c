// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
static void *kept;
void touch(void) { kept = malloc(7000); }
__attribute__((destructor)) static void end(void) { free(kept); kept = 0; malloc(7016); }
