// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
void *kept;
int main(void) { kept = malloc(10); return 0; }
