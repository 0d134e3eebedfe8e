// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include <stdio.h>
int main(void) { void *(*volatile take)(size_t) = malloc; printf("%d\n", take(10) != NULL); return 0; }
