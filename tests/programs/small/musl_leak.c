// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *volatile kept;
int main(void) { kept = malloc(5); return 0; }
