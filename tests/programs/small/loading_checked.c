// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
#include <stdlib.h>
int main(void) { free(malloc(10)); puts("fine"); return 4; }
