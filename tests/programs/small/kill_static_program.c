// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *p = malloc(10); printf("static %d\n", p != 0); return 6; }
