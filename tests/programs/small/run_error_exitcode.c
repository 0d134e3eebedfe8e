// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
char *held;
int main(void) { held = (char *)malloc(1000) + 100; return 0; }
